"""Whether the fused path may be taken."""

from __future__ import annotations

import os
from types import TracebackType

_enabled = os.environ.get("KLEENE_FUSED", "1").strip().lower() not in ("0", "false", "off", "no")


class use_fused:  # noqa: N801  called like a function, as torch.no_grad is
    """Switch the fused CPU path off or on, for good or in a `with` block.

    >>> from kleene.nn import use_fused
    >>> with use_fused(False):
    ...     pass  # networks run by torch's own operations here

    Setting the environment variable KLEENE_FUSED to 0 switches it off from the start.
    """

    def __init__(self, enabled: bool = True) -> None:
        global _enabled
        self._before, _enabled = _enabled, enabled

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _enabled
        _enabled = self._before


def enabled() -> bool:
    """The state of the switch."""
    return _enabled

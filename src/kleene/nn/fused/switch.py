"""Whether the fused path may be used."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from types import TracebackType

_OFF = os.environ.get("KLEENE_FUSED", "1").strip().lower() in ("0", "false", "off", "no")
_enabled: ContextVar[bool] = ContextVar("kleene_fused", default=not _OFF)


class use_fused:  # noqa: N801  used like torch.no_grad
    """Switch the fused CPU path off or on inside a `with` block, in this thread.

    >>> from kleene.nn import use_fused
    >>> with use_fused(False):
    ...     pass  # networks run by torch's operations here

    The environment variable KLEENE_FUSED=0 switches it off for the whole process.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._value, self._tokens = enabled, list[Token[bool]]()

    def __enter__(self) -> None:
        self._tokens.append(_enabled.set(self._value))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _enabled.reset(self._tokens.pop())


def enabled() -> bool:
    """The state of the switch in this thread."""
    return _enabled.get()

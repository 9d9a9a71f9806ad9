"""The switch of the fused path."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from types import TracebackType

from kleene.nn.fused.library import library

_ON = os.environ.get("KLEENE_FUSED", "1").strip().lower() not in ("0", "false", "off", "no")
_fused: ContextVar[bool] = ContextVar("kleene_fused", default=_ON)


class use_fused:  # noqa: N801  used like torch.no_grad
    """Switch the fused CPU path off or on inside a `with` block, in this thread.

    >>> from kleene.nn import use_fused
    >>> with use_fused(False):
    ...     pass  # networks run by torch's operations here

    The environment variable KLEENE_FUSED=0 switches it off for the whole process.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._enabled, self._tokens = enabled, list[Token[bool]]()

    def __enter__(self) -> None:
        self._tokens.append(_fused.set(self._enabled))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _fused.reset(self._tokens.pop())


def enabled() -> bool:
    """Whether the fused path may be used in this thread."""
    return _fused.get()


def load_kernels() -> bool:
    """Load the kernels, compiled first if need be; False if there are none, or they are off."""
    return enabled() and library() is not None

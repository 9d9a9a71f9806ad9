"""Whether the fused path may be used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType


def _from_environment() -> bool | None:
    """KLEENE_FUSED: 0 never, 1 always, unset where it pays off."""
    value = os.environ.get("KLEENE_FUSED", "").strip().lower()
    return None if not value else value not in ("0", "false", "off", "no")


_DEFAULT = _from_environment()
_fused: ContextVar[bool | None] = ContextVar("kleene_fused", default=_DEFAULT)
_inference: ContextVar[bool] = ContextVar("kleene_inference", default=False)


class use_fused:  # noqa: N801  used like torch.no_grad
    """Switch the fused CPU path off or on inside a `with` block, in this thread.

    >>> from kleene.nn import use_fused
    >>> with use_fused(False):
    ...     pass  # networks run by torch's operations here

    Outside, small passes without gradients run by torch's operations until loading the compiled
    kernels pays off. The environment variable KLEENE_FUSED=0 (or 1) holds for the whole process.
    """

    def __init__(self, enabled: bool = True) -> None:
        self._enabled, self._tokens = enabled, list[Token[bool | None]]()

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
    return _fused.get() is not False


def forced() -> bool:
    """Whether it must be used wherever it is supported."""
    return _fused.get() is True


@contextmanager
def for_inference() -> Iterator[None]:
    """Passes inside are not for training, even if they need gradients."""
    token = _inference.set(True)
    try:
        yield
    finally:
        _inference.reset(token)


def is_inference() -> bool:
    """Whether this thread is inside `for_inference`."""
    return _inference.get()

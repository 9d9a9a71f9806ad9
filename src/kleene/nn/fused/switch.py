"""Whether a pass runs on the kernels: the user's switch, the size of the job, the compiler."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType

import torch

from kleene.nn.cells import GRU, LSTM, Cell, Elman
from kleene.nn.fused.kernels import records

JOB_SECONDS = 15.0
"""Training that the plain loop ends within this time, by estimate, does not wait for a compiler."""
JOB_STEP, JOB_PRODUCT = 5e-4, 1e-10  # of a batch, forward and backward, in seconds
PLAIN_SECONDS = 1.0
"""Predictions of the plain loop, by estimate, after which loading the kernels pays off."""
STEP, PRODUCT = 1e-4, 1e-9  # seconds per time step and per multiplication of the plain loop
CELLS = (Elman, GRU, LSTM)
"""Cells that have kernels."""
_spent = 0.0  # by the plain loop, while the kernels were not loaded


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


@contextmanager
def for_inference() -> Iterator[None]:
    """Passes inside are not for training, even if they need gradients."""
    token = _inference.set(True)
    try:
        yield
    finally:
        _inference.reset(token)


@contextmanager
def for_job(steps: int, multiplications: int) -> Iterator[None]:
    """Run a small training job by the plain loop: it ends before the kernels are compiled.

    `steps` are time steps of batches, forward and backward. The size of the job alone decides, not
    the state of the cache, so that the same seed gives the same weights whatever ran before.
    """
    small = steps * JOB_STEP + multiplications * JOB_PRODUCT < JOB_SECONDS
    token = _fused.set(False) if small and _fused.get() is None else None
    try:
        yield
    finally:
        if token is not None:
            _fused.reset(token)


def use_kernels(cell: int, time: int, multiplications: int) -> bool:
    """Whether a pass runs on the kernels; they are loaded if that pays off.

    The first small passes of a process run on the plain loop, so that predictions for a few
    sequences do not wait for Numba. Passes for training always run on the kernels.
    """
    global _spent
    grad = torch.is_grad_enabled()
    training = grad and not _inference.get()
    if not (training or _fused.get() or _load.cache_info().currsize):
        _spent += time * STEP + multiplications * PRODUCT
        if _spent < PLAIN_SECONDS:
            return False
    return enabled() and _load(cell, grad)


def load_kernels(cell: Cell | None = None) -> bool:
    """Compile the kernels of a cell, or of all, or load them from Numba's cache.

    Later passes of the process run on them, unless the fused path is switched off. False if there
    are none.
    """
    if cell is not None and type(cell) not in CELLS:
        return False
    numbers = range(4) if cell is None else [cell_number(cell)]
    return enabled() and all(_load(number, True) for number in numbers)


def cell_number(cell: Cell) -> int:
    """The number of a cell's kernels."""
    if isinstance(cell, Elman):
        return records.ELMAN if cell.nonlinearity == "tanh" else records.RELU
    return records.GRU if isinstance(cell, GRU) else records.LSTM


@functools.cache
def _load(cell: int, backward: bool) -> bool:
    try:
        from kleene.nn.fused.kernels.backward import backward_kernel
        from kleene.nn.fused.kernels.compile import is_cached
        from kleene.nn.fused.kernels.forward import forward_kernel

        kernels = [forward_kernel(cell), *([backward_kernel(cell)] if backward else [])]
        if not all(is_cached(one) for one in kernels):
            print(
                "kleene: compiling kernels for this machine, once; later runs start at once",
                file=sys.stderr,
                flush=True,
            )
        for one in kernels:
            one.compile("void(int64)")
    except Exception as error:
        warnings.warn(
            f"the fused path is off, networks run slower: {error}; "
            "set KLEENE_FUSED=0 to silence this",
            stacklevel=2,
        )
        return False
    return True

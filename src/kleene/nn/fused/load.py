"""When to load the compiled kernels: importing Numba and its cache takes a second of work."""

from __future__ import annotations

import functools
import sys
import warnings

import torch

from kleene.nn.fused.switch import enabled, forced, is_inference

PLAIN_SECONDS = 1.0
"""Work of the plain loop, by estimate, after which loading the kernels pays off."""
_STEP, _PRODUCT = 1e-4, 1e-9  # seconds per time step and per multiplication of the plain loop
_spent = 0.0  # by the plain loop, while the kernels were not loaded


def use_kernels(time: int, multiplications: int) -> bool:
    """Whether a pass runs on the kernels; they are loaded if that pays off.

    The first small passes of a process run on the plain loop, so that predictions for a few
    sequences do not wait for Numba. Passes for training always run on the kernels, so that the same
    seed gives the same weights whatever ran before.
    """
    global _spent
    if not (_load.cache_info().currsize or forced()):
        if torch.is_grad_enabled() and not is_inference():
            return load_kernels()
        _spent += time * _STEP + multiplications * _PRODUCT
        if _spent < PLAIN_SECONDS:
            return False
    return load_kernels()


def load_kernels() -> bool:
    """Compile the kernels, or load them from Numba's cache; False where that is impossible.

    Later passes of the process run on them, unless the fused path is switched off.
    """
    return enabled() and _load()


@functools.cache
def _load() -> bool:
    try:
        from kleene.nn.fused.kernels.compile import is_cached
        from kleene.nn.fused.warm import warm

        if not is_cached():
            print(
                "kleene: compiling kernels for this machine, once; "
                "`kleene warm` does it ahead of time",
                file=sys.stderr,
                flush=True,
            )
        warm()
    except Exception as error:
        warnings.warn(
            f"the fused path is off, networks run slower: {error}; "
            "set KLEENE_FUSED=0 to silence this",
            stacklevel=2,
        )
        return False
    return True

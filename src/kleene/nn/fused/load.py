"""Load the compiled kernels, once per process."""

from __future__ import annotations

import functools
import warnings


@functools.cache
def load_kernels() -> bool:
    """Compile the kernels, or load them from Numba's cache; False where that is impossible."""
    try:
        from kleene.nn.fused.kernels.compile import announced

        with announced():
            from kleene.nn.fused.warm import warm

            warm()
    except Exception as error:
        warnings.warn(
            f"the fused path is off, networks run slower: {error}; "
            "set KLEENE_FUSED=0 to silence this",
            stacklevel=2,
        )
        return False
    return True

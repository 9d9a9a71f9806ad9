"""The fused float32 path on CPUs: the pass of `scan`, compiled, with a backward pass by hand.

`dispatch` returns None for what it does not support (other dtypes and devices, custom cells and
transitions, functorch, tracing); the plain loop runs those, with the same results.
"""

from kleene.nn.fused.buffers import empty_cache
from kleene.nn.fused.dispatch import load_kernels, use_fused

__all__ = ["empty_cache", "load_kernels", "use_fused"]

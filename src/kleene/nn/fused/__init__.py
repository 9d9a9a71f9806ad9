"""The fused float32 path on CPUs: the same pass as `scan`, compiled, with a backward by hand.

`serve.serve` says None to whatever it does not take (other dtypes and devices, transitions and
cells of one's own, functorch, tracing); the plain loop takes it then, with the same result.
"""

from kleene.nn.fused.switch import enabled, use_fused

__all__ = ["enabled", "use_fused"]

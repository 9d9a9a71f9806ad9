"""The compiled loops of the fused path (Numba)."""

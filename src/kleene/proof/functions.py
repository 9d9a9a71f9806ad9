"""Where the errors of sigmoid, tanh and exp that proofs assume have been measured.

`tests/proof/function_errors.py` compares the functions of torch and of the compiled loops with
float64 on every float32. Both choose their code by the features of the CPU, so that a measurement
holds of the features it was made with; experiments/results/functions.json has the errors.
"""

from __future__ import annotations

import platform

MEASURED = ("x86_64 AVX512", "x86_64 AVX2", "x86_64 DEFAULT")


def cpu_features() -> str:
    """The features of this CPU that torch and the compiled loops use."""
    import torch

    return f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


def unmeasured() -> str | None:
    """A sentence if the functions were never measured with the features of this CPU."""
    features = cpu_features()
    if features in MEASURED:
        return None
    return (
        f"the errors of sigmoid, tanh and exp were never measured with {features}: run `python "
        "tests/proof/function_errors.py --here` and compare with the bounds in proofs.md"
    )

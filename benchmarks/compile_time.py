"""What compiling the kernels costs once, and loading them from Numba's cache at each start.

    python benchmarks/compile_time.py [--rounds 3]

CPU seconds of a process that loads the kernels of the LSTM, over those of one that imports torch
and Numba only: with an empty cache, and with the cache that the first one left. Medians. Beside
them, where g++ is installed, what it takes to compile an empty C++ extension of torch, its headers
alone. Writes results/compile_time.json, a table for each CPU model.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from timing import write_for_cpu

IMPORTS = "import torch, numba, kleene.nn"
LOAD = f"{IMPORTS}; kleene.nn.fused.load_kernels(kleene.nn.cells.LSTM())"


def seconds(code: str, cache: str) -> float:
    """CPU seconds of a process."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    return sum(after[:2]) - sum(before[:2])


def empty_extension() -> float | None:
    """CPU seconds of g++ for the headers of a torch extension, None without g++ or Python's."""
    from torch.utils.cpp_extension import include_paths

    if shutil.which("g++") is None:
        return None
    paths = [*include_paths(), sysconfig.get_path("include")]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cpp")
        source.write_text("#include <torch/extension.h>\n")
        before = getrusage(RUSAGE_CHILDREN)
        command = ["g++", "-O2", "-std=c++20", "-c", str(source), "-o", str(source) + ".o"]
        done = subprocess.run([*command, *(f"-I{path}" for path in paths)], check=False)
        after = getrusage(RUSAGE_CHILDREN)
    return None if done.returncode else round(sum(after[:2]) - sum(before[:2]), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    taken: dict[str, list[float]] = {"compile": [], "load": []}
    size = 0
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory() as cache:
            imports = min(seconds(IMPORTS, cache) for _ in range(2))
            for name in taken:
                taken[name].append(seconds(LOAD, cache) - imports)
            size = sum(file.stat().st_size for file in Path(cache).rglob("*") if file.is_file())
        print({name: round(values[-1], 2) for name, values in taken.items()}, flush=True)
    found = {f"{name}_cpu_seconds": round(statistics.median(v), 2) for name, v in taken.items()}
    write_for_cpu(
        "compile_time",
        {**found, "cache_mb": round(size / 2**20, 2)} | {"cpp_cpu_seconds": empty_extension()},
    )


if __name__ == "__main__":
    main()

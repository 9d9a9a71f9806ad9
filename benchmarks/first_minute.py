"""CPU seconds of the first minute with Kleene, with an empty and a warm cache of kernels.

    python benchmarks/first_minute.py [--rounds 3] [--only "import kleene"]

Every command runs in a process of its own with one thread, in turns with `import torch`; figures
are medians of user and system time. With an empty cache a command also compiles what it needs; the
same command then runs again with the cache that it left. Writes results/first_minute.json, with a
table for each CPU model.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from timing import RESULTS, processor, write

TORCH = "import torch"
NETWORK = """
import torch, kleene
x = torch.randn(20, 4, 8)
kleene.nn.SRLSTM(8, 16, num_states=5)(x)[0].sum().backward()
"""
PLAIN = NETWORK.replace("kleene.nn.SRLSTM", "with kleene.nn.use_fused(False): kleene.nn.SRLSTM")
KLEENE = [sys.executable, "-m", "kleene"]
COMMANDS = {
    TORCH: [sys.executable, "-c", TORCH],
    "import kleene": [sys.executable, "-c", "import kleene"],
    "SRLSTM, forward and backward": [sys.executable, "-c", NETWORK],
    "the same by the plain loop": [sys.executable, "-c", PLAIN],
    "kleene demo": [*KLEENE, "demo", "--out", "demo"],
    "kleene train reviews.csv": [*KLEENE, "train", "reviews.csv", "--out", "model"],
}


def cpu_seconds(command: list[str], cache: Path) -> float:
    """User and system time of a command in a folder of its own that has the sample reviews."""
    with tempfile.TemporaryDirectory() as folder:
        if "train" in command:
            subprocess.run([*KLEENE, "sample", "reviews", "--out", "reviews.csv"],
                           cwd=folder, capture_output=True, check=True)  # fmt: skip
        caches = {"NUMBA_CACHE_DIR": str(cache), "KLEENE_CACHE": str(cache)}
        environment = os.environ | caches | {"OMP_NUM_THREADS": "1"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="one command; the others' results are kept")
    given = parser.parse_args()
    taken: dict[str, dict[str, list[float]]] = {}
    for _ in range(given.rounds):
        for name in (TORCH, given.only) if given.only else COMMANDS:
            with tempfile.TemporaryDirectory() as folder:
                for cache in ("empty", "warm"):
                    spent = cpu_seconds(COMMANDS[name], Path(folder))
                    taken.setdefault(name, {}).setdefault(cache, []).append(spent)
            print(name, taken[name], flush=True)
    found = {
        name: {cache: round(median(times), 2) for cache, times in caches.items()}
        for name, caches in taken.items()
    }
    path = RESULTS / "first_minute.json"
    before = json.loads(path.read_text()).get(processor(), {}) if path.exists() else {}
    kept = before.get("results", {}) if given.only else {}
    write("first_minute", kept | found, rounds=given.rounds)


if __name__ == "__main__":
    main()

"""Peak memory of `train` and `extract --method counts` against the size of the corpus.

    python benchmarks/streaming.py [--gigabytes 0.1 1.0] [--folder DIR]

Makes synthetic corpora (words of 100 to 200 symbols, 20 letters each, from a vocabulary of 2,000;
the label is the parity of one of them), runs the commands on each in a process of its own, and
writes results/streaming.json after every one. Corpora are deleted in the end.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
from timing import write

VOCABULARY, LETTERS = 2_000, 20
SMALL = ["--hidden-size", "16", "--embedding-size", "8", "--states", "8", "--batch-size", "256"]
SMALL += ["--cell", "gru", "--pooling", "last", "--dropout", "0"]
TRAIN = [*SMALL, "--recipe", "direct", "--epochs", "1", "--learn", "network"]
TRAIN += ["--tokens", "words", "--stream"]


def make(path: Path, size: float, seed: int = 0) -> int:
    """Write a corpus of about `size` bytes; the result is the number of its words."""
    random = np.random.default_rng(seed)
    letters = random.integers(ord("a"), ord("z") + 1, (VOCABULARY, LETTERS)).astype(np.uint8)
    symbols = [row.tobytes().decode() for row in letters]
    written = words = 0
    with open(path, "w") as file:
        while written < size:
            for ids in (random.integers(0, VOCABULARY, n) for n in random.integers(100, 201, 500)):
                label = int((ids == 0).sum() % 2)
                written += file.write(" ".join([symbols[i] for i in ids]) + f"\t{label}\n")
                words += 1
    return words


def run(*arguments: object) -> dict[str, float]:
    """Seconds of the clock and of the processor, and peak megabytes, of a command."""
    started = perf_counter()
    command = [sys.executable, "-m", "kleene", *map(str, arguments)]
    out = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(
        sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)]
    )
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    return {
        "seconds": round(perf_counter() - started, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        for size in given.gigabytes:
            data, model = folder / f"{size}.tsv", folder / f"model{size}"
            words = make(data, size * 1e9)
            commands = {
                "train": ("train", data, "--out", model, *TRAIN),
                "extract": ("extract", model, "--method", "counts", "--data", data),
                "evaluate": ("evaluate", model, data),
            }
            row: dict[str, object] = {"gigabytes": size, "words": words}
            one = folder / "one.tsv"
            for name, command in commands.items():
                row[name] = run(*command)
                print(size, name, row[name], flush=True)
                if name == "train":
                    with open(data) as file:
                        one.write_text(file.readline())
                    row["model_mb"] = run("predict", model, one)["peak_mb"]
                write("streaming", {"results": [*rows, row], "options": TRAIN})
            rows.append(row)
            data.unlink()


if __name__ == "__main__":
    main()

"""CPU seconds of `kleene predict`, `explain` and `evaluate` of a few rows, over `import torch`.

    python benchmarks/startup.py [--rounds 7] [--label now] [--source src]

Every command runs in a process of its own, in turns with `import torch`; medians of user and system
time. `--source` measures another source tree, under another label. Writes results/startup.json, in
which each CPU model has its own table and other labels stay.
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

import torch
from timing import RESULTS, machine, processor, write_results

from kleene.data.alphabet import Alphabet
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig

GOAL = 1.5
ROWS = "word\tlabel\n0110\tTrue\n111\tFalse\n0101\tTrue\n00\tFalse\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--label", default="now")
    parser.add_argument("--source", default=str(Path(__file__).parents[1] / "src"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = prepare(Path(folder))
        environment = os.environ | {"PYTHONPATH": given.source, "OMP_NUM_THREADS": "1"}
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(given.rounds + 1):
            for name, command in commands.items():
                spent = cpu_seconds(command, environment)
                if turn:  # the first round fills the disk cache
                    taken[name].append(spent)
    seconds = {name: median(times) for name, times in taken.items()}
    ratios = {name: time / seconds["import torch"] for name, time in seconds.items()}
    del ratios["import torch"]
    path = RESULTS / "startup.json"
    tables = json.loads(path.read_text()) if path.exists() else {}
    table = tables.setdefault(processor(), {})
    table[given.label] = {
        "machine": machine(),
        "cpu_seconds": seconds,
        "ratio": ratios,
        "goal": GOAL,
    }
    write_results(path, tables)
    print(show(table))


def prepare(folder: Path) -> dict[str, list[str]]:
    """The commands by name, on a small model and four rows."""
    torch.manual_seed(0)
    alphabet = Alphabet("01")
    config = NetworkConfig(num_symbols=len(alphabet), num_classes=2, num_states=10)
    network = Classifier(config).eval()
    model = Model(network=network, alphabet=alphabet, classes=(False, True), longest=20)
    model.save(folder / "model")
    (folder / "rows.tsv").write_text(ROWS)
    call, rows = [sys.executable, "-m", "kleene"], str(folder / "rows.tsv")
    kleene = {name: [*call, name, str(folder / "model")] for name in ("predict", "evaluate")}
    return {
        "import torch": [sys.executable, "-c", "import torch"],
        **{name: [*command, rows] for name, command in kleene.items()},
        "explain": [*call, "explain", str(folder / "model"), "0110"],
    }


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """User and system time of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def show(table: dict[str, dict[str, dict[str, float]]]) -> str:
    """The ratios to `import torch`, one line per label."""
    names = list(next(iter(table.values()))["ratio"])
    lines = [f"| over `import torch` | {' | '.join(names)} |", "| --- |" + " --- |" * len(names)]
    for label, found in table.items():
        ratios = " | ".join(f"{found['ratio'][name]:.2f}" for name in names)
        lines.append(f"| {label} | {ratios} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

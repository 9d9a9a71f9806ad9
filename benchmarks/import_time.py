"""What `import kleene` costs on top of `import torch`, and `kleene --help` in all.

Run: python benchmarks/import_time.py [--runs 7]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from kleene.files import write_atomically

RESULTS = Path(__file__).parent / "results" / "import_time.json"
TIMED = """
import time
{before}
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    everything = "import kleene; kleene.SequenceClassifier, kleene.DFA, kleene.nn.SRGRU"
    results = {
        "import_torch_s": seconds("import torch", "", runs),
        "import_kleene_after_torch_s": seconds("import kleene", "import torch", runs),
        "kleene_with_all_its_names_after_torch_and_sklearn_s": seconds(
            everything, "import torch, sklearn.base", runs
        ),
        "kleene_help_s": median(help_seconds() for _ in range(runs)),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    write_atomically(RESULTS, json.dumps(results, indent=2) + "\n")
    print(json.dumps(results, indent=2))


def seconds(statement: str, before: str, runs: int) -> float:
    """The median of some runs, each in a fresh process."""
    code = TIMED.format(statement=statement, before=before)
    command = [sys.executable, "-c", code]
    times = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(runs))
    return median(map(float, times))


def help_seconds() -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "kleene", "--help"], capture_output=True, check=True)
    return time.perf_counter() - start


if __name__ == "__main__":
    main()

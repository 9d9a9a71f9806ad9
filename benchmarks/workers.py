"""Two processes against one: the same result, and how much sooner.

    python benchmarks/workers.py [--workers 2] [--words 4000]

Trains and counts with one process and with several by torchrun, each process with one thread, on
random words of 100 to 200 symbols. Checks that weights agree within tolerance and counts exactly,
and writes results/workers.json. Seconds are of the work itself, without starting Python; worth
reading only on an otherwise idle machine, whose load the file tells.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from timing import write

HIDDEN, STATES, SYMBOLS, BATCH = 100, 20, 100, 256
TOLERANCE = 1e-4


def words_of(n: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.integers(4, SYMBOLS + 4, length) for length in random.integers(100, 201, n)]


def work(n: int, out: Path) -> None:
    """What every process does; the first writes its times and results."""
    from kleene.data.alphabet import Alphabet
    from kleene.data.examples import Examples
    from kleene.distributed import init_process_group
    from kleene.extraction.transitions.corpus import count_corpus
    from kleene.model import Model
    from kleene.nn.classifier import Classifier
    from kleene.nn.config import NetworkConfig
    from kleene.training.loop import fit
    from kleene.training.run import Run
    from kleene.training.stages import Stage

    torch.set_num_threads(1)
    encoded = words_of(n)
    labels = np.array([int((word == 4).sum() % 2) for word in encoded])
    examples = Examples(words=encoded, labels=labels)
    config = NetworkConfig(
        num_symbols=SYMBOLS + 4,
        num_classes=2,
        input_size=HIDDEN,
        hidden_size=HIDDEN,
        num_states=STATES,
        similarity="euclidean",
    )
    torch.manual_seed(0)
    network, other = Classifier(config), Classifier(config)  # counts are of one not trained here
    model = Model(network=other, alphabet=Alphabet(range(SYMBOLS)), classes=(0, 1))
    words = [(word - 4).tolist() for word in encoded]
    few = examples.select(np.arange(BATCH))
    with init_process_group() as process_group:
        stages = [Stage(epochs=1, batch_size=BATCH)]
        fit(network, few, stages=stages, run=Run(processes=process_group))  # kernels are compiled
        started = perf_counter()
        fit(network, examples, stages=stages, run=Run(processes=process_group))
        trained = perf_counter()
        corpus = count_corpus(model, words, seed=0, steps=1000, process_group=process_group)
        counted = perf_counter()
        if process_group.is_main:
            weights = {name: w.flatten().tolist() for name, w in network.state_dict().items()}
            counts = [corpus.steps.numbers.tolist(), corpus.steps.counts.tolist()]
            times = {"train": trained - started, "counts": counted - trained}
            out.write_text(json.dumps({"seconds": times, "weights": weights, "counts": counts}))


def run(n: int, size: int, folder: Path) -> dict[str, Any]:
    out = folder / f"{size}.json"
    command = [__file__, "--words", str(n), "--work", str(out)]
    start = [sys.executable]
    if size > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(size)]
    subprocess.run([*start, *command], check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return dict(json.loads(out.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--words", type=int, default=4000)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(given.words, given.work)
        return
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        one, many = (run(given.words, size, Path(folder)) for size in (1, given.workers))
    gaps = [
        float(np.abs(np.array(one["weights"][name]) - np.array(value)).max())
        for name, value in many["weights"].items()
    ]
    result = {
        "load_before": load,
        "workers": given.workers,
        "words": given.words,
        "batch": BATCH,
        "largest_gap_of_a_weight": max(gaps),
        "steps_counted": sum(one["counts"][1]),
        "counts_equal": one["counts"] == many["counts"],
        "speedup": {k: round(t / many["seconds"][k], 2) for k, t in one["seconds"].items()},
        "seconds": {"1": one["seconds"], str(given.workers): many["seconds"]},
    }
    write("workers", result)
    print(json.dumps(result, indent=1))
    if max(gaps) > TOLERANCE or not result["counts_equal"]:
        raise SystemExit("several workers do not do what one does")


if __name__ == "__main__":
    main()

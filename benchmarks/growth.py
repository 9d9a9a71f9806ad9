"""How time and memory grow with words, length, alphabet and states.

    python benchmarks/growth.py [--seconds 0.2] [--only table,minimise]

Four operations, each along the axes that matter to it while the others stay at `BASE`; every point
runs in a process of its own, so that its peak memory is its own. Writes results/growth.json and the
plot docs/img/growth.png; `make tables` writes the table of docs/results/growth.md.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from timing import RESULTS, interleave, process_time, write

DOCS = Path(__file__).parents[1] / "docs"
BASE = {"words": 64, "length": 50, "alphabet": 100, "states": 20}
RANGES = {
    "words": [16, 64, 256, 1024, 4096],
    "length": [10, 30, 100, 300, 1000],
    "alphabet": [10, 100, 1000, 10_000, 100_000],
    "states": [2, 8, 32, 128, 512, 1000],
}
LONG = 1.0  # seconds
Job = Callable[[], object]


def words_of(at: dict[str, int], random: np.random.Generator) -> list[Any]:
    shape = (at["words"], at["length"])
    return list(random.integers(0, at["alphabet"], shape))


def network_of(at: dict[str, int]) -> Any:
    from kleene.nn.classifier import Classifier
    from kleene.nn.config import NetworkConfig

    torch.manual_seed(0)
    return Classifier(
        NetworkConfig(
            num_symbols=at["alphabet"] + 4,
            num_classes=2,
            input_size=16,
            hidden_size=64,
            num_states=at["states"],
            similarity="euclidean",
            temperature=0.3,
        )
    )


def machine_of(at: dict[str, int], random: np.random.Generator) -> Any:
    from kleene.automata import DFA

    n, m = at["states"], at["alphabet"]
    table = random.integers(0, n, (n, m))
    table[:, 0] = (np.arange(n) + 1) % n  # all states are reached
    return DFA(alphabet=range(m), transitions=table, outputs=tuple(i % 2 == 0 for i in range(n)))


def train(at: dict[str, int]) -> Job:
    """One step of the optimiser on one batch."""
    from kleene.data.examples import Examples
    from kleene.training.stages import Stage, make_optimizer

    words = [word + 4 for word in words_of(at, np.random.default_rng(0))]
    examples = Examples(words=words, labels=np.arange(len(words)) % 2)
    network = network_of(at)
    optimizer = make_optimizer(Stage(), network)

    def step() -> None:
        batch = examples.batch(np.arange(len(words)))
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(batch), torch.from_numpy(batch.labels))
        loss.backward()
        optimizer.step()

    return step


def table(at: dict[str, int]) -> Job:
    """Reading the machine off a network, no words needed; all its states are reached."""
    from kleene.data.alphabet import Alphabet
    from kleene.extraction.table import transition_table
    from kleene.model import Model

    model = Model(network=network_of(at), alphabet=Alphabet(range(at["alphabet"])), classes=(0, 1))
    with torch.no_grad():  # random symbols throw the network about
        model.network.embedding.weight.mul_(3)
    return lambda: transition_table(model)


def minimise(at: dict[str, int]) -> Job:
    """Minimising a random automaton."""
    dfa = machine_of(at, np.random.default_rng(0))
    return lambda: dfa.minimize()


def match(at: dict[str, int]) -> Job:
    """Running an automaton over words given as columns of its alphabet."""
    from kleene.automata.matcher import Matcher

    random = np.random.default_rng(0)
    matcher, words = Matcher(machine_of(at, random), compiled=True), words_of(at, random)
    codes, lengths = np.concatenate(words), np.array([len(word) for word in words])
    return lambda: matcher.encoded(codes, lengths)


JOBS: dict[str, tuple[Callable[[dict[str, int]], Job], str, tuple[str, ...]]] = {
    "train": (train, "A training step", tuple(RANGES)),
    "table": (table, "Reading the table", ("alphabet", "states")),
    "minimise": (minimise, "Minimising", ("alphabet", "states")),
    "match": (match, "Matching", tuple(RANGES)),
}


def measure(name: str, at: dict[str, int], seconds: float) -> tuple[float, float]:
    """Seconds of the processor, and megabytes beyond what was there before."""
    torch.set_num_threads(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    job = JOBS[name][0](at)
    started = process_time()
    job()
    time = process_time() - started
    if time < LONG:  # else once is enough, of more the median
        time = interleave({name: job}, seconds, process_time)[name]
    return time, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def warm_up() -> None:
    """Compile and load everything once, in the process from which the others are forked."""
    torch.set_num_threads(1)
    for make, _, _ in JOBS.values():
        make({"words": 4, "length": 5, "alphabet": 3, "states": 3})()


def exponent(sizes: list[int], values: list[float]) -> float:
    """The p of value ~ size^p over the last decade and more, where fixed costs have gone."""
    far = [i for i, size in enumerate(sizes) if size * 12 >= sizes[-1]]
    x, y = np.log([sizes[i] for i in far]), np.log([max(values[i], 1e-9) for i in far])
    return round(float(np.polyfit(x, y, 1)[0]), 2)


def draw(results: dict[str, Any]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, rows = plt.subplots(2, len(RANGES), figsize=(14, 6), layout="constrained")
    for column, (axis, sizes) in enumerate(RANGES.items()):
        for name, (_, title, axes) in JOBS.items():
            if axis in axes:
                found = results[name][axis]
                rows[0][column].loglog(sizes, found["seconds"], marker="o", label=title)
                megabytes = [max(value, 0.1) for value in found["megabytes"]]
                rows[1][column].loglog(sizes, megabytes, marker="o", label=title)
        rows[1][column].set_xlabel(axis)
    rows[0][0].set_ylabel("seconds")
    rows[1][0].set_ylabel("megabytes")
    rows[0][2].legend(fontsize=8)
    figure.savefig(DOCS / "img" / "growth.png", dpi=100)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--only", help="operations, the others' results are kept")
    given = parser.parse_args()
    path = RESULTS / "growth.json"
    results = json.loads(path.read_text())["results"] if given.only and path.exists() else {}
    warm_up()
    context = multiprocessing.get_context("fork")
    for name in given.only.split(",") if given.only else JOBS:
        results[name] = {}
        for axis in JOBS[name][2]:
            points = []
            for size in RANGES[axis]:
                with context.Pool(1) as pool:
                    points.append(pool.apply(measure, (name, BASE | {axis: size}, given.seconds)))
                print(name, axis, size, *(f"{value:.4g}" for value in points[-1]), flush=True)
            seconds, megabytes = zip(*points, strict=True)
            results[name][axis] = {
                "seconds": [float(f"{value:.4g}") for value in seconds],
                "megabytes": [round(value, 1) for value in megabytes],
                "exponent": exponent(RANGES[axis], list(seconds)),
            }
            assert math.isfinite(results[name][axis]["exponent"])
    write("growth", {"base": BASE, "ranges": RANGES, "results": results})
    draw(results)


if __name__ == "__main__":
    main()

"""What removes the drift of a counter: one trained network, and every cure tried on a copy of it.

Errors on balanced parentheses of depth 20 and length up to 1,000, soft and hard.

Run: python experiments/drift.py [--seeds 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.memory_runs import Recipe, Task, errors, make_task, train
from paper.sharpen_gates import sharpen_gates

from kleene.data.alphabet import START
from kleene.data.examples import Examples
from kleene.languages.paper_sets import parentheses_set
from kleene.nn.classifier import Classifier
from kleene.nn.mode import HARD, OWN, Mode
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Stage

ROUNDS, FACTOR, COOLING = 6, 1.3, 0.8
COLUMN = "d 20, l <= 1000"
Cure = Callable[[Classifier, Task], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("drift")
    for seed in range(options.seeds):
        row = ledger.run(lambda s=seed: run(s), seed=seed)
        print(row["key"], row["result"], flush=True)


def run(seed: int) -> dict[str, Any]:
    data = parentheses_set("large", seed=seed)
    task = make_task(data, data.validation)
    column = {COLUMN: task.tests[COLUMN]}
    recipe = Recipe(rounds=0, attempts=1)
    model, _ = train(task, "SR-LSTM-P", states=5, hidden=50, seed=seed, recipe=recipe)
    result = {"trained": _flat(errors(model.network, column))}
    for name, cure in CURES.items():
        network = deepcopy(model.network)
        cure(network, task)
        result[name] = _flat(errors(network, column))
        print(name, result[name], flush=True)
    for grid, tolerance in ((1.0, 0.5), (1.0, 0.2), (0.25, 0.125)):
        name = f"memory rounded to multiples of {grid:g} within {tolerance:g}, at test time"
        result[name] = {"soft": rounded_error(model.network, task.tests[COLUMN], grid, tolerance)}
        hard = rounded_error(model.network, task.tests[COLUMN], grid, tolerance, HARD)
        result[name]["hard"] = hard
    return result


def rounds(*, gates: bool, peepholes: bool, cool: bool) -> Cure:
    """Rounds of one epoch, before each of which some things are sharpened."""

    def cure(network: Classifier, task: Task) -> None:
        for number in range(ROUNDS):
            if gates:
                sharpen_gates(network, FACTOR)
            with torch.no_grad():
                network.rnn.peephole_l0[:2] *= FACTOR if peepholes else 1.0
            network.rnn.temperature *= COOLING if cool else 1.0
            _epochs(network, task, 1, 3e-4, number)

    return cure


def scaled_at_test(network: Classifier, task: Task) -> None:
    """No training at all: gates sharpened twice, peepholes kept."""
    sharpen_gates(network, FACTOR**2)


def longer(network: Classifier, task: Task) -> None:
    """As many epochs again, at the rate of training."""
    _epochs(network, task, 24, 1e-3, 0)


def _epochs(network: Classifier, task: Task, epochs: int, rate: float, seed: int) -> None:
    stage = Stage(epochs=epochs, optimizer="rmsprop", learning_rate=rate, batch_size=128)
    fit(network, task.train, stages=[stage], run=Run(seed=seed))


CURES: dict[str, Cure] = {
    "six more epochs at a lower rate": rounds(gates=False, peepholes=False, cool=False),
    "twice the epochs": longer,
    "cooled states": rounds(gates=False, peepholes=False, cool=True),
    "sharper gates at test time": scaled_at_test,
    "sharper gates and peepholes, cooled states": rounds(gates=True, peepholes=True, cool=True),
    "sharper gates": rounds(gates=True, peepholes=False, cool=False),
    "sharper gates, cooled states (the recipe)": rounds(gates=True, peepholes=False, cool=True),
}


def rounded_error(
    network: Classifier, examples: Examples, grid: float, tolerance: float, mode: Mode = OWN
) -> float:
    """The error when the memory is rounded after every step, wherever it is near the grid."""
    wrong = 0
    network.eval()
    with torch.inference_mode():
        table = network.rnn.project(network.embedding.weight)
        for batch in examples.in_order(250):
            n = len(batch)
            hidden = memory = network.rnn.zeros(n)
            tokens = torch.from_numpy(np.concatenate([np.full(n, START), batch.tokens]))
            start = 0
            for size in [n, *batch.batch_sizes.tolist()]:
                x_gates = table[tokens[start : start + size]]
                carry = [hidden[:size]], [memory[:size]]
                done = network.rnn.scan_layers(x_gates, [size], *carry, mode=mode)
                near = (done[0].last_memory / grid).round() * grid
                kept = done[0].last_memory
                kept = torch.where((kept - near).abs() <= tolerance, near, kept)
                hidden = torch.cat([done[0].last_hidden, hidden[size:]])
                memory = torch.cat([kept, memory[size:]])
                start += size
            predicted = network.classify([hidden], [memory]).argmax(-1).numpy()
            wrong += int((predicted != batch.labels).sum())
    return round(wrong / len(examples), 4)


def _flat(found: dict[str, dict[str, float]]) -> dict[str, float]:
    return {mode: row[COLUMN] for mode, row in found.items()}


if __name__ == "__main__":
    main()

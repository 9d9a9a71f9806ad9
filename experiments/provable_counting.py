"""Networks that are provably a counter machine up to a depth and a length: balanced parentheses.

SR-LSTM-P (width 50, 5 states) is trained on the large set; the counter machine is read off its
memory; a copy is taught to count exactly (`kleene.induction.teach_counter`); then the two are
proved to agree on every sequence of depth up to 20 and length up to 1,000, or as far as it goes.
The recipe was chosen on seeds 40 to 42. Errors are those of the paper's six columns, before and
after teaching.

Run: python experiments/provable_counting.py [--seeds 50 51 ...] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from ledger import Ledger
from paper.counter_reading import balanced
from paper.memory_runs import Recipe, errors, make_task, train
from paper.parentheses import longer

from kleene.errors import KleeneError
from kleene.extraction.counter.extract import extract_counter
from kleene.induction.teach_counter import DRIFT, RATE, STATES, STEPS, TEMPERATURE, teach_counter
from kleene.languages.paper_sets import parentheses_set
from kleene.proof.counter import counter_bound

RECIPE = Recipe(rmsprop_epochs=0, rounds=0, attempts=1)
FRESH = range(50, 60)
DEPTH, LENGTH = 20, 1_000
SETTINGS = {"training": asdict(RECIPE), "steps": STEPS, "learning_rate": RATE, "states": STATES}
SETTINGS |= {"temperature": TEMPERATURE, "drift": DRIFT, "output_gate": "open"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=list(FRESH))
    parser.add_argument("--keep", type=Path, help="a folder for the models")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("provable_counting")
    for seed in options.seeds:
        row = ledger.run(
            lambda s=seed: run(s, options.keep), recipe=SETTINGS, seed=seed, fresh=seed in FRESH
        )
        print(row["key"], row["result"], flush=True)


def run(seed: int, keep: Path | None) -> dict[str, Any]:
    data = parentheses_set("large", seed=seed)
    task = make_task(data, longer(data, seed))
    times = [time.process_time()]
    model, trained = train(task, "SR-LSTM-P", states=5, hidden=50, seed=seed, recipe=RECIPE)
    times.append(time.process_time())
    result: dict[str, Any] = {"trained": trained["errors"]}
    try:
        reading = extract_counter(model, data.train.words)
    except KleeneError as error:
        return result | {"error": str(error), "bound": None}
    times.append(time.process_time())
    machine = reading.machine.minimize()
    difference = machine.difference(balanced(bool(machine.accepts(""))))
    result["machine"] = {"is_language": difference is None, "states": machine.num_states}
    try:
        model, unit = teach_counter(model, machine, reading.unit, depth=DEPTH)
    except KleeneError as error:
        return result | {"error": str(error), "bound": None}
    times.append(time.process_time())
    bound = counter_bound(model, machine, unit, depth=DEPTH, length=LENGTH)
    times.append(time.process_time())
    if keep is not None:
        model.save(keep / str(seed))
        machine.save(keep / f"{seed}.json")
    names = ("train", "read", "teach", "prove")
    seconds = [round(after - before, 1) for before, after in pairwise(times)]
    return result | {
        "errors": errors(model.network, task.tests),
        "bound": asdict(bound),
        "seconds": dict(zip(names, seconds, strict=True)),
    }


if __name__ == "__main__":
    main()

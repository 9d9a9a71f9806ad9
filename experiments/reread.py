"""Read the counter machines again off the models of `reproduce.py bp`, and keep the readings.

For when the reading has changed and the networks have not: rows of results/parentheses.json keep
their training, errors and times.

Run: python experiments/reread.py MODELS [--only large], the folder that was given as --models
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from ledger import Ledger
from paper.counter_reading import balanced, reading

from kleene.languages.paper_sets import parentheses_set
from kleene.model import Model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--only", default="", help="only rows whose key holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("parentheses")
    for row in sorted(ledger.rows, key=lambda row: str(row["key"]["size"])):  # the large set first
        folder = options.models / "-".join(map(str, row["key"].values()))
        wanted = options.only in str(row["key"]) and "counter" in row["result"]
        if not wanted or not folder.exists():
            continue
        words = parentheses_set(row["key"]["size"], seed=row["key"]["seed"]).train.words
        model = Model.load(folder)
        row["result"]["counter"] = {
            mode: reading(model, words, balanced, hard=mode == "hard") for mode in ("soft", "hard")
        }
        ledger.save()
        proved = {mode: read["proved"] for mode, read in row["result"]["counter"].items()}
        print(row["key"], proved, flush=True)


if __name__ == "__main__":
    main()

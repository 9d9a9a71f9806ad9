"""Sentiment of IMDB reviews: every row of the paper's table that is ours, at a small scale.

Every row has the same budget: vocabulary 20,000, embedding and width 128, reviews cut to 400 tokens
(the first and the last 200), maximum over time of hidden vector and memory, dropout 0.3, Adam,
early stopping on a tenth of the training reviews. The paper classifies the last step and trains
longer, on a GPU; `--scale paper` does that.

Run: KLEENE_DATA=... python experiments/imdb.py [--data DIR] [--rows SR-LSTM-P] [--models DIR]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import torch
from ledger import Ledger
from texts import train_and_test

from kleene.data.corpora import imdb
from kleene.train.stage import Stage

ROWS: dict[str, dict[str, Any]] = {
    "SR-LSTM-P": {"cell": "lstm-p", "num_states": 10},
    "LSTM": {"cell": "lstm", "num_states": 0},
    "LSTM-P": {"cell": "lstm-p", "num_states": 0},
    "SR-LSTM": {"cell": "lstm", "num_states": 10},
    "SR-LSTM-P soft argmax": {
        "cell": "lstm-p",
        "num_states": 10,
        "transition": "soft-argmax",
    },
    "SR-LSTM-P gumbel": {"cell": "lstm-p", "num_states": 10, "transition": "gumbel"},
    "SR-LSTM-P k=50": {"cell": "lstm-p", "num_states": 50},
}
SEEDS = {"SR-LSTM-P": 3, "LSTM": 3}
SCALES: dict[str, dict[str, Any]] = {
    "small": {
        "vocabulary": 20_000,
        "tokens": 400,
        "network": {"input_size": 128, "hidden_size": 128, "pooling": "max", "dropout": 0.3},
        "stage": Stage(epochs=6, learning_rate=2e-3, batch_size=64, patience=2),
    },
    "paper": {
        "vocabulary": 20_000,
        "tokens": 2_500,
        "network": {"input_size": 256, "hidden_size": 256},
        "stage": Stage(
            epochs=50, optimizer="rmsprop", learning_rate=1e-3, batch_size=64, patience=5
        ),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--scale", choices=SCALES, default="small")
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger, splits = Ledger("imdb"), imdb(options.data)
    scale = SCALES[options.scale]
    for name in options.rows.split(","):
        for seed in range(SEEDS.get(name, 1)):
            folder = options.models / "imdb" / options.scale / f"{name}-{seed}".replace(" ", "-")
            key = {"row": name, "seed": seed, "scale": options.scale}

            def work(name: str = name, seed: int = seed, folder: Path = folder) -> dict[str, Any]:
                return train_and_test(
                    splits,
                    vocabulary=scale["vocabulary"],
                    tokens=scale["tokens"],
                    network={**scale["network"], **ROWS[name]},
                    stage=scale["stage"],
                    seed=seed,
                    folder=folder,
                    verbose=options.verbose,
                )

            row = ledger.run(work, **key)
            print(row["key"], row["result"], f"{row['cpu_seconds']} s", flush=True)


if __name__ == "__main__":
    main()

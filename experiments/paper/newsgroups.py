"""20 Newsgroups, split at random 80 to 20 as in the paper, with headers and cleaned of them.

At the small scale: vocabulary 10,000, embedding and width 128, 20 states, messages cut to 400
tokens (the first and the last 200), maximum over time, dropout 0.3, Adam, early stopping on a
tenth of the training messages. The split is drawn again from every seed. The rows "SR-LSTM-P
states" classify mean and maximum of the probabilities of 40 states, so that states have weights;
they have PPMI embeddings, averaged weights and a falling learning rate, and are not taught by
n-grams.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kleene.datasets.corpora import newsgroups
from kleene.training.stages import Stage
from kleene.training.texts.embeddings import init_ppmi_embeddings
from paper.errors_table import error_table
from paper.experiment import Experiment, Request
from paper.texts import smaller_embeddings, text_task
from paper.training import falling_rate, train_and_test

NETWORKS: dict[str, dict[str, Any]] = {
    "SR-LSTM-P": {"cell": "lstm-p", "num_states": 20},
    "LSTM": {"cell": "lstm", "num_states": 0},
    "SR-LSTM-P states": {"cell": "lstm-p", "num_states": 40, "pooling": "states", "dropout": 0.5},
}
CLEANED = " cleaned"
PAPER = {
    "SR-LSTM-P": 14.4,
    "LSTM": None,
    "SR-LSTM-P states": None,
    "SR-LSTM-P cleaned": 34.3,
    "LSTM cleaned": None,
    "SR-LSTM-P states cleaned": None,
}
READABLE = falling_rate(
    (4, 3e-3), (1, 7e-4), batch_size=32, ema=0.998, patience=2, prepare=init_ppmi_embeddings
)
"""The stages of networks that classify statistics of their states, at either scale."""
SCALES: dict[str, dict[str, Any]] = {
    "small": {
        "tokens": 400,
        "network": {"input_size": 128, "hidden_size": 128, "pooling": "max", "dropout": 0.3},
        "stages": [Stage(epochs=5, learning_rate=3e-3, batch_size=32, patience=2)],
    },
    "paper": {
        "tokens": 2_500,
        "network": {"input_size": 256, "hidden_size": 256},
        "stages": [Stage(epochs=50, optimizer="rmsprop", learning_rate=1e-3, patience=5)],
    },
}
VOCABULARY = 10_000


def _stages(row: str, scale: str) -> list[Stage]:
    readable = "pooling" in NETWORKS[row.removesuffix(CLEANED)]
    return READABLE if readable else list(SCALES[scale]["stages"])


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    scale = SCALES[request.scale]
    splits = newsgroups(request.data, cleaned=row.endswith(CLEANED)).shuffled(seed)
    task = text_task(splits, vocabulary=VOCABULARY, tokens=scale["tokens"])
    network = {**scale["network"], **NETWORKS[row.removesuffix(CLEANED)]}
    return train_and_test(
        task,
        network={"num_symbols": len(task.alphabet), **network},
        stages=_stages(row, request.scale),
        seed=seed,
        folder=request.folder("newsgroups", row, seed),
        checkpoint=request.checkpoint,
        reporter=request.reporter,
        prepare=partial(smaller_embeddings, factor=0.3),
    )


NEWSGROUPS = Experiment(
    ledger="newsgroups",
    rows=tuple(PAPER),
    seeds=lambda row, scale: 1,
    key=lambda row, seed, scale: {"row": row, "seed": seed, "scale": scale},
    recipe=lambda row, scale: {
        **SCALES[scale],
        "stages": _stages(row, scale),
        "row": NETWORKS[row.removesuffix(CLEANED)],
        "vocabulary": VOCABULARY,
    },
    work=_work,
    headline=lambda result: f"accuracy {100 - result['test_error']:.2f} %",
    table=partial(error_table, paper=PAPER),
)

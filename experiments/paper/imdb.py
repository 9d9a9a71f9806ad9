"""Sentiment of IMDB reviews: every row of the paper's table that is ours.

Every row has the same budget. At the small scale: vocabulary 20,000, embedding and width 128,
training reviews cut to 400 tokens (the first and the last 200) and test reviews whole, maximum over
time of hidden vector and memory, dropout 0.5, PPMI embeddings of the training reviews, Adam with a
falling learning rate, averaged weights (EMA), the epoch chosen by a tenth of the training reviews.
The rows "... last step" classify the last step, as the paper does. The rows "... states" classify
mean and maximum of the state probabilities of whole reviews, so that states have weights. N-grams
teach them their states; no epoch over whole reviews follows. The row "... by gradient" has the same
head and no n-grams, and the budget of the first rows. The GRU has no memory beside its states, and
takes the nearest: it is a finite automaton over words.
The paper classifies the last step and trains longer, on a GPU; so does its scale.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kleene.datasets.corpora import imdb
from kleene.training.stages import Stage
from kleene.training.texts.embeddings import init_ppmi_embeddings
from kleene.training.texts.ngram_states import SETTINGS, init_ngram_states
from paper.errors_table import error_table
from paper.experiment import Experiment, Request
from paper.texts import text_task
from paper.training import falling_rate, train_and_test

NETWORKS: dict[str, dict[str, Any]] = {
    "SR-LSTM-P": {"cell": "lstm-p", "num_states": 10},
    "LSTM": {"cell": "lstm", "num_states": 0},
    "LSTM-P": {"cell": "lstm-p", "num_states": 0},
    "SR-LSTM": {"cell": "lstm", "num_states": 10},
    "SR-LSTM-P soft argmax": {"cell": "lstm-p", "num_states": 10, "transition": "soft-argmax"},
    "SR-LSTM-P gumbel": {"cell": "lstm-p", "num_states": 10, "transition": "gumbel"},
    "SR-LSTM-P k=50": {"cell": "lstm-p", "num_states": 50},
    "SR-LSTM-P last step k=5": {"cell": "lstm-p", "num_states": 5, "pooling": "last"},
    "SR-LSTM-P last step": {"cell": "lstm-p", "num_states": 10, "pooling": "last"},
    "SR-LSTM-P states": {"cell": "lstm-p", "num_states": 10, "pooling": "states"},
    "SR-LSTM-P states by gradient": {"cell": "lstm-p", "num_states": 10, "pooling": "states"},
    "SR-GRU states": {
        "cell": "gru",
        "num_states": 10,
        "pooling": "states",
        "transition": "soft-argmax",
    },
}
PAPER = {
    "LSTM": 10.1,
    "LSTM-P": 10.3,
    "SR-LSTM": 9.4,
    "SR-LSTM-P soft argmax": 11.1,
    "SR-LSTM-P gumbel": 11.0,
    "SR-LSTM-P": 9.2,
    "SR-LSTM-P k=50": 9.8,
    "SR-LSTM-P last step k=5": None,
    "SR-LSTM-P last step": 9.2,
    "SR-LSTM-P states": None,
    "SR-LSTM-P states by gradient": None,
    "SR-GRU states": None,
}
SCALES: dict[str, dict[str, Any]] = {
    "small": {
        "tokens": 400,
        "test_tokens": 2_500,
        "network": {"input_size": 128, "hidden_size": 128, "pooling": "max", "dropout": 0.5},
        "stages": falling_rate(
            (3, 2e-3), (3, 5e-4), batch_size=64, ema=0.998, patience=1, prepare=init_ppmi_embeddings
        ),
    },
    "paper": {
        "tokens": 2_500,
        "test_tokens": 2_500,
        "network": {"input_size": 256, "hidden_size": 256},
        "stages": [Stage(epochs=50, optimizer="rmsprop", learning_rate=1e-3, patience=5)],
    },
}
VOCABULARY = 20_000
TAUGHT = ("SR-LSTM-P states", "SR-GRU states")
"""Rows whose states n-grams teach, at either scale."""
NGRAMS = [Stage(name="n-grams", epochs=0, prepare=init_ngram_states)]


def _stages(row: str, scale: str) -> list[Stage]:
    return NGRAMS if row in TAUGHT else list(SCALES[scale]["stages"])


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    scale = SCALES[request.scale]
    network = {**scale["network"], **NETWORKS[row]}
    task = text_task(
        imdb(request.data),
        vocabulary=VOCABULARY,
        tokens=scale["test_tokens" if row in TAUGHT else "tokens"],
        test_tokens=scale["test_tokens"],
    )
    return train_and_test(
        task,
        network={"num_symbols": len(task.alphabet), **network},
        stages=_stages(row, request.scale),
        seed=seed,
        folder=request.folder("imdb", row, seed),
        checkpoint=request.checkpoint,
        reporter=request.reporter,
    )


IMDB = Experiment(
    ledger="imdb",
    rows=tuple(NETWORKS),
    seeds=lambda row, scale: 3 if row in ("LSTM", "SR-LSTM-P", *TAUGHT) else 1,
    key=lambda row, seed, scale: {"row": row, "seed": seed, "scale": scale},
    recipe=lambda row, scale: {
        **SCALES[scale],
        "stages": _stages(row, scale),
        "row": NETWORKS[row],
        "vocabulary": VOCABULARY,
        **({"n-grams": SETTINGS} if row in TAUGHT else {}),
    },
    work=_work,
    headline=lambda result: f"test error {result['test_error']:.2f} %",
    table=partial(error_table, paper=PAPER),
)

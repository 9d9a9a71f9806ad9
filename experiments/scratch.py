"""Tomita 1-7 from random centroids, without the warm start: what is learned, and what is read.

Two settings: the paper's (dot product, mixture, temperature 1, k = 50) and ours for this purpose
(cosine, temperature 0.1, k = 20). Both with Adam and the same curriculum, at most 30 CPU-seconds of
training. Read by counts (the paper's Algorithm 1), by table, and by `auto`, which splits states
that hide a bit in their mixtures.

Run: python experiments/scratch.py [--seeds 10]
"""

from __future__ import annotations

import argparse
import contextlib
import time
from typing import Any

import numpy as np
import torch
from ledger import Ledger

import kleene as kl
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.reading import extract
from kleene.training.history import Epoch
from kleene.training.loop import fit
from kleene.training.stages import Curriculum, Stage

LENGTHS = [*range(16), 20, 25, 30]
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {"similarity": "dot", "temperature": 1.0, "num_states": 50},
    "cosine": {"similarity": "cosine", "temperature": 0.1, "num_states": 20},
}
MOST_SECONDS = 30.0


class OutOfTimeError(Exception):
    """The training budget is spent."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("scratch")
    for seed in range(options.seeds):
        for name in SETTINGS:
            for grammar in range(1, 8):
                key = {"setting": name, "grammar": grammar, "seed": seed}
                row = ledger.run(lambda n=name, g=grammar, s=seed: learn(n, g, s), **key)
                print(row["key"], row["result"], flush=True)


def learn(setting: str, grammar: int, seed: int) -> dict[str, Any]:
    """Train cell and component together, and read the machine in three ways."""
    language = kl.languages.tomita(grammar)
    words, labels = language.sample(2000, lengths=LENGTHS, seed=seed)
    alphabet = Alphabet(language.alphabet)
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(seed)
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        hidden_size=100,
        input_size=100,
        **SETTINGS[setting],
    )
    network = Classifier(config)
    model = Model(network=network, alphabet=alphabet, classes=(False, True), longest=30)
    started = time.process_time()

    def clock(network: Classifier, epoch: Epoch) -> None:
        if time.process_time() - started > MOST_SECONDS:
            raise OutOfTimeError

    stage = Stage(
        epochs=5000, learning_rate=3e-3, batch_size=32, curriculum=Curriculum(), target=0.999
    )
    with contextlib.suppress(OutOfTimeError):
        fit(network, examples, stages=[stage], seed=seed, hook=clock)
    trained = time.process_time() - started
    accuracy = evaluate(network, examples).accuracy
    exact = {
        f"{method}_exact": bool(extract(model, words, method=method, seconds=5).dfa == language.dfa)
        for method in ("counts", "table", "auto")
    }
    return {"accuracy": accuracy, "train_seconds": round(trained, 1), **exact}


if __name__ == "__main__":
    main()

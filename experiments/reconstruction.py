"""What a trained cell keeps when it is given states: centroids by k-means and by reconstruction.

A plain LSTM-P reads the pixels of MNIST for three epochs. Copies of it are given centroids in both
ways, at several temperatures, and held-out digits are read before any training with states.

Run: KLEENE_DATA=... python experiments/reconstruction.py
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from ledger import Ledger
from paper.mnist import examples, prepare

from kleene.data.examples import Examples
from kleene.datasets.mnist import mnist
from kleene.evaluation.metrics import evaluate
from kleene.explain.batched_traces import batched_traces
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.centroids import seed_centroids
from kleene.training.loop import fit
from kleene.training.reconstruction import reconstruct_centroids
from kleene.training.stages import Stage

EPOCHS, HELD_OUT, TRACED = 3, 1_500, 100
WAYS = {"k-means": seed_centroids, "reconstruction": reconstruct_centroids}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "."))
    options = parser.parse_args()
    torch.set_num_threads(1)
    training, held_out = examples(mnist(options.data).train, pooled=True).split(0.1, 0)
    held_out = held_out.select(np.arange(HELD_OUT))
    cell = plain_cell(training)
    ledger = Ledger("reconstruction")
    plain = {"accuracy": round(evaluate(cell, held_out).accuracy, 4)}
    print(ledger.run(lambda: plain, states=0, temperature=None, way="plain cell"), flush=True)
    for states in (50, 100):
        for temperature in (0.3, 1.0, 3.0):
            for way in WAYS:
                work = partial(with_states, cell, training, held_out, states, temperature, way)
                key = {"states": states, "temperature": temperature, "way": way}
                print(ledger.run(work, **key), flush=True)


def plain_cell(training: Examples) -> Classifier:
    """An LSTM-P without states after a few epochs."""
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=0,
        num_classes=10,
        input_size=1,
        hidden_size=64,
        cell="lstm-p",
        num_states=0,
        similarity="euclidean",
        pooling="max",
    )
    network = Classifier(config)
    prepare(network, pooled=True)
    fit(network, training, stages=[Stage(epochs=EPOCHS, learning_rate=4e-3, batch_size=100)])
    return network


def with_states(
    cell: Classifier,
    training: Examples,
    held_out: Examples,
    states: int,
    temperature: float,
    way: str,
) -> dict[str, float]:
    """Accuracy of the cell with states, and the perplexity of its state probabilities."""
    network = Classifier(replace(cell.config, num_states=states, temperature=temperature))
    network.load_state_dict(cell.state_dict(), strict=False)
    WAYS[way](network, training, 0)
    network.eval()
    probs = np.concatenate(
        [
            t.probs[:, 1:].reshape(-1, states)
            for t in batched_traces(network, held_out.words[:TRACED])
        ]
    )
    entropy = -(probs * np.log(np.maximum(probs, 1e-12))).sum(1)
    return {
        "accuracy": round(evaluate(network, held_out).accuracy, 4),
        "perplexity": round(float(np.exp(entropy).mean()), 1),
    }


if __name__ == "__main__":
    main()

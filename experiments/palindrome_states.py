"""Why SR-LSTM does not learn palindromes: what a trained LSTM keeps when it is given states.

Without peepholes the gates of an LSTM see of the past only the hidden vector, and with states only
a mixture of centroids. The plain LSTM of `reproduce.py palindromes`, which has learned them, is
copied and given centroids whose mixtures come as close to its hidden vectors as they can
(`kleene.training.reconstruction`; dot product, temperature 1, as in the paper). Its errors are
measured at once, and after some epochs of training with states.

Run: python experiments/palindrome_states.py MODELS, the folder that was given as --models
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.memory_runs import Task, errors, make_task

from kleene.languages.paper_sets import palindrome_set
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.fused import load_kernels
from kleene.training.centroids import hidden_vectors
from kleene.training.loop import fit
from kleene.training.reconstruction import reconstruct_centroids
from kleene.training.run import Run
from kleene.training.stages import Stage

STATES = (5, 20, 100, 300)
STAGE = Stage(epochs=20, learning_rate=1e-3, batch_size=128, patience=6)
VARIANCE = 0.99


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    load_kernels()
    ledger = Ledger("palindrome_states")
    recipe = {"epochs": STAGE.epochs, "rate": STAGE.learning_rate, "batch": STAGE.batch_size}
    for seed in range(options.seeds):
        folder = options.models / f"palindromes-LSTM-{seed}"
        if not folder.exists():
            print(f"no model in {folder}; run experiments/reproduce.py palindromes --rows LSTM")
            continue
        data = palindrome_set("large", seed=seed)
        task = make_task(data, data.validation)
        plain = Model.load(folder).network
        for states in STATES:
            row = ledger.run(
                lambda n=plain, t=task, k=states, s=seed: with_states(n, t, k, s),
                recipe=recipe,
                states=states,
                seed=seed,
            )
            print(row["key"], row["result"], flush=True)


def with_states(plain: Classifier, task: Task, states: int, seed: int) -> dict[str, Any]:
    """Errors of a plain network with centroids, before and after training with them."""
    torch.manual_seed(seed)
    network = Classifier(replace(plain.config, num_states=states))
    network.load_state_dict(plain.state_dict(), strict=False)
    vectors = hidden_vectors(network, task.train, seed=seed)
    reconstruct_centroids(network, task.train, seed)
    before = errors(network, task.tests)
    unexplained = reconstruction_error(network, vectors)
    history = fit(
        network, task.train, stages=[STAGE], validation=task.validation, run=Run(seed=seed)
    )
    return {
        "plain": errors(plain, task.tests),
        "components": components(vectors),
        "unexplained": round(unexplained, 4),
        "before": before,
        "errors": errors(network, task.tests),
        "epochs": len(history),
    }


def reconstruction_error(network: Classifier, vectors: np.ndarray) -> float:
    """The share of the variance of the hidden vectors that the mixtures of centroids miss."""
    with torch.no_grad():
        u, centroids = torch.from_numpy(vectors), network.rnn.centroids(0)
        mixtures = torch.softmax(u @ centroids.T, -1) @ centroids
        return float((mixtures - u).square().sum() / (u - u.mean(0)).square().sum())


def components(vectors: np.ndarray) -> int:
    """How many principal components have 99 % of the variance of the hidden vectors."""
    shares = np.linalg.svd(vectors - vectors.mean(0), compute_uv=False) ** 2
    return int(np.searchsorted(shares.cumsum() / shares.sum(), VARIANCE)) + 1


if __name__ == "__main__":
    main()

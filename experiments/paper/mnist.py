"""Handwritten digits read pixel by pixel: every row of the paper's table that is ours.

At the small scale images are pooled to 14 x 14, read in 196 steps; networks are 64 wide, the
maximum over time is classified and weights are averaged. At the paper's scale there are 784 steps
and the last one is classified. The row `SR-LSTM-P 784 steps` is that of the small scale on whole
images; its cell learns from pairs of rows first, 392 steps. Without memory (SR-RNN, SR-GRU), mean
and maximum of the state probabilities are classified.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.datasets.mnist import Images, mnist
from kleene.nn.classifier import Classifier
from kleene.training.centroids import cluster_centres, hidden_vectors
from kleene.training.loop import fit
from kleene.training.reconstruction import LEARNING_RATE, STEPS, reconstruct
from kleene.training.run import Run
from kleene.training.stages import Stage
from paper.errors_table import error_table
from paper.experiment import Experiment, Request
from paper.sharpen_gates import set_forget_bias
from paper.training import Task, falling_rate, train_and_test

WHOLE = "SR-LSTM-P 784 steps"
WITHOUT_MEMORY = ("SR-RNN", "SR-GRU")
PAPER: dict[str, float | None] = {
    "LSTM": 2.3,
    "LSTM-P": 1.5,
    "SR-LSTM": 1.4,
    "SR-LSTM-P soft argmax": 4.1,
    "SR-LSTM-P gumbel": 6.7,
    "SR-LSTM-P": 0.8,
    "SR-LSTM-P half the states": 1.4,
    "SR-RNN": 31.9,
    "SR-GRU": 13.6,
    WHOLE: 0.8,
}
CELL_STAGES = falling_rate((4, 4e-3), batch_size=100, ema=0.998)
"""Of the plain networks whose cells are given states without memory."""
ROWS = tuple(sorted(PAPER, key=lambda row: row != "SR-LSTM-P"))  # the most telling first
LONGER, FASTER, SPREAD = 3, 1.5, 8
"""Of `reconstruct_gate_inputs`: steps and learning rate over those above, and examples from which
as many hidden vectors are taken."""
READ_SHARE, CARRIED_SHARE = 0.05, 1.0
"""Weight of |e|^2 beside |R e|^2: for cells with memory, and for those that carry h on itself."""


def _network(row: str, scale: str) -> dict[str, Any]:
    cell = {"LSTM": "lstm", "SR-LSTM": "lstm", "SR-RNN": "rnn", "SR-GRU": "gru"}
    transition = "mixture"
    if row.endswith("gumbel"):
        transition = "gumbel"
    elif row.endswith("soft argmax"):
        transition = "soft-argmax"
    settings = {
        "num_symbols": 0,
        "input_size": 1,
        "hidden_size": {"small": 64, "paper": 256}[scale],
        "cell": cell.get(row, "lstm-p"),
        "num_states": 0 if not row.startswith("SR") else 50 if "half" in row else 100,
        "transition": transition,
        "similarity": {"small": "euclidean", "paper": "dot"}[scale],
        "temperature": {"small": 3.0, "paper": 1.0}[scale],
        "pooling": {"small": "max", "paper": "last"}[scale],
    }
    if row in WITHOUT_MEMORY and scale == "small":
        settings |= {"temperature": 1.0, "pooling": "states"}
    return settings


def stages(row: str, scale: str) -> list[Stage]:
    """The learning rate falls; the best weights of each stage are the next one's first.

    At the small scale the cell learns first, without states, as in the recipe `reconstruct`: the
    centroids are then set so that their mixtures reproduce its hidden vectors. Where the next
    hidden vector is a single centroid, they are put where the hidden vectors cluster. Rows without
    states train as many epochs. Where states are classified, the cell learns in a plain network.
    """
    if scale == "paper":
        return falling_rate((60, 1e-3), (30, 3e-4), (10, 1e-4), batch_size=100)
    if row in WITHOUT_MEMORY:
        rates = (3, 2e-3), (2, 7e-4), (1, 2e-4)
        return falling_rate(*rates, batch_size=50, ema=0.998, prepare=cell_of_plain_network)
    if not row.startswith("SR"):
        return falling_rate((6, 4e-3), (2, 1.3e-3), (2, 4e-4), batch_size=100, ema=0.998)
    cell, states = [(6, 4e-3), (1, 1.3e-3)], [(1, 1e-3), (2, 3e-4)]
    if row == WHOLE:
        cell, states = [(3, 2e-3)], [(3, 1.3e-3), (2, 4e-4)]
    made = falling_rate(*cell, *states, batch_size=100, ema=0.998)
    for i in range(len(cell)):
        made[i] = replace(made[i], regularized=False)
    hard, first = row.endswith("soft argmax"), len(cell)
    way = seed_centroids if hard else reconstruct_gate_inputs
    made[first] = replace(made[first], prepare=way)
    return made


def coarse_stages(row: str, scale: str) -> list[Stage]:
    """Epochs over images of half as many rows, at half the price, before those over whole ones.

    What follows what within a row takes as many steps in both.
    """
    if row != WHOLE or scale == "paper":
        return []
    return [replace(stages("LSTM-P", scale)[0], name="half the rows", epochs=5, regularized=False)]


def cell_of_plain_network(network: Classifier, examples: Examples, seed: int) -> None:
    """Train a plain network on its maximum over time, take its cell, then set the centroids."""
    plain = Classifier(replace(network.config, num_states=0, pooling="max"))
    cell = {name: weight for name, weight in network.state_dict().items() if "head" not in name}
    plain.load_state_dict(cell | plain.head.state_dict(prefix="head."), strict=False)
    fit(plain, examples, stages=CELL_STAGES, run=Run(seed=seed))
    cell = {name: w for name, w in plain.state_dict().items() if "head" not in name}
    network.load_state_dict(cell, strict=False)
    reconstruct_gate_inputs(network, examples, seed)


def prepare(network: Classifier, *, pooled: bool) -> None:
    """Weights for an input of a single number from 0 to 1, and forget gates that hold on."""
    with torch.no_grad():
        network.rnn.get_parameter("weight_ih_l0").uniform_(-1, 1)
    if network.rnn.cell.has_memory:
        set_forget_bias(network, 1.0 if pooled else 2.0)  # rows of pixels are twice as long


def examples(images: Images, *, pooled: bool) -> Examples:
    """Images as sequences of pixels."""
    images = images.pooled() if pooled else images
    return Examples(words=images.vectors(), labels=images.labels)


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    splits = mnist(request.data)
    pooled = request.scale == "small" and row != WHOLE
    train, test = (examples(part, pooled=pooled) for part in splits)
    first = coarse_stages(row, request.scale)
    task = Task(
        train=train,
        test=test,
        alphabet=Alphabet(()),
        classes=tuple(range(10)),
        tokens="symbols",
        coarse=examples(splits.train.pooled(2, 1), pooled=False) if first else None,
    )
    return train_and_test(
        task,
        network=_network(row, request.scale),
        stages=stages(row, request.scale),
        seed=seed,
        folder=request.folder("mnist", row, seed),
        checkpoint=request.checkpoint,
        reporter=request.reporter,
        prepare=partial(prepare, pooled=pooled),
        coarse_stages=first,
    )


def _recipe(row: str, scale: str) -> dict[str, Any]:
    settings: dict[str, Any] = {"network": _network(row, scale), "stages": stages(row, scale)}
    if first := coarse_stages(row, scale):
        settings["coarse"] = first
    if row in WITHOUT_MEMORY and scale == "small":
        settings["cell"] = CELL_STAGES
    return settings


MNIST = Experiment(
    ledger="mnist",
    rows=ROWS,
    seeds=lambda row, scale: 3 if row in ("LSTM-P", "SR-LSTM-P") else 1,
    key=lambda row, seed, scale: {"row": row, "seed": seed, "scale": scale},
    recipe=_recipe,
    work=_work,
    headline=lambda result: f"test error {result['test_error']:.2f} %",
    table=partial(error_table, paper=PAPER),
)


def seed_centroids(network: Classifier, examples: Examples, seed: int) -> None:
    """Put the centroids of every layer where the hidden vectors cluster."""
    rnn = network.rnn
    for layer in range(rnn.num_layers):
        vectors = hidden_vectors(network, examples, layer, seed)
        means = cluster_centres(vectors, rnn.num_states, seed)
        with torch.no_grad():
            centroids = rnn.centroids(layer)
            centroids[: len(means)] = torch.from_numpy(means).to(centroids)


def reconstruct_gate_inputs(network: Classifier, examples: Examples, seed: int) -> None:
    """As `reconstruct_centroids`, by what the gates see of a hidden vector; takes thrice as long.

    Vectors come from many examples, which matters where these are long.
    """
    rnn = network.rnn
    for layer in range(rnn.num_layers):
        found = reconstruct(
            hidden_vectors(network, examples, layer, seed, spread=SPREAD),
            rnn.num_states,
            rnn.similarity,
            float(rnn.get_parameter(f"log_temperature_l{layer}").exp()),
            seed,
            metric=_gate_metric(network, layer),
            steps=LONGER * STEPS,
            learning_rate=FASTER * LEARNING_RATE,
        )
        with torch.no_grad():
            rnn.centroids(layer).copy_(found)


def _gate_metric(network: Classifier, layer: int) -> Tensor:
    """L with |e L|^2 = |R e|^2 / r + share |e|^2, where r is the mean of the diagonal of R^T R."""
    rnn = network.rnn
    weight = rnn.get_parameter(f"weight_hh_l{layer}").detach()
    product = weight.T @ weight
    share = READ_SHARE if rnn.cell.has_memory else CARRIED_SHARE
    identity = torch.eye(rnn.hidden_size).to(weight)
    root: Tensor = torch.linalg.cholesky(product / product.diagonal().mean() + share * identity)
    return root

"""Named ways of training, as stages.

`warm` is what makes memory-less networks readable. From random centroids a network may hide
bits of its state in the weights of a mixture, or not learn at all; so the cell learns first,
without the stochastic component; then the centroids are put where its hidden vectors cluster; then
the component comes on, with Gumbel noise that grows until only clear transitions survive.

`reconstruct` is for cells with memory, whose states need not be those of an automaton: mixtures of
the centroids reproduce the hidden vectors of the trained cell, which keeps what it has learned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from kleene.training.centroids import seed_centroids
from kleene.training.config import TrainConfig
from kleene.training.history import Epoch
from kleene.training.reconstruction import reconstruct_centroids
from kleene.training.stages import Curriculum, Stage, start_counts
from kleene.training.texts.ngram_states import init_ngram_states

Recipe = Callable[[TrainConfig], list[Stage]]
PAPER = Curriculum(
    start=2,
    step=1,
    threshold=0.99,
    steps=10**9,
    fair=0.95,
    fair_steps=1_000,
    levels=30,
    restart_after=4_000,
)
"""The lengths of `paper`: the next one at 99 %, or 95 % after 1,000 steps, else other weights."""
MUCH, FIRST_EPOCHS = 0.1, 3
"""Accuracy that states cost so many epochs after they came on, where more will not help."""


def _rate(config: TrainConfig) -> float:
    return config.learning_rate or 3e-3


def cell_stage(config: TrainConfig) -> Stage:
    """The cell alone, easy words first: `warm` without its second half."""
    return Stage(
        name="cell",
        regularized=False,
        epochs=config.epochs or 1000,
        optimizer=config.optimizer or "adam",
        learning_rate=_rate(config),
        batch_size=config.batch_size or 32,
        class_weight=config.class_weight,
        ema=config.ema,
        curriculum=Curriculum(),
        target=0.999,
        patience=config.patience or 10,
    )


def states_stage(config: TrainConfig, *, cell_accuracy: float | None = None) -> Stage:
    """Centroids where the hidden vectors cluster, then the component with growing noise.

    It ends early where the states cost much of the `cell_accuracy` on the held-out rows.
    """

    def costly(epochs: Sequence[Epoch]) -> bool:
        reached = max((epoch.validation_accuracy or 0.0) for epoch in epochs)
        late = len(epochs) >= FIRST_EPOCHS
        return cell_accuracy is not None and late and reached < cell_accuracy - MUCH

    return Stage(
        name="states",
        epochs=config.epochs or 12,
        optimizer=config.optimizer or "adam",
        learning_rate=_rate(config) / 6,
        batch_size=config.batch_size or 32,
        class_weight=config.class_weight,
        ema=config.ema,
        noise=lambda epoch: min(1.0, 0.25 * epoch),
        prepare=seed_centroids,
        patience=config.patience or 6,
        until=costly,
    )


def warm(config: TrainConfig) -> list[Stage]:
    """The warm start: first the cell, then its states."""
    return [cell_stage(config), states_stage(config)]


def reconstruct(config: TrainConfig) -> list[Stage]:
    """First the cell; then centroids whose mixtures reproduce its hidden vectors; no noise.

    Weights are averaged (EMA) once the states are on, and the learning rate falls twice.
    """
    cell, states = warm(config)
    states = replace(states, noise=None, until=None, ema=config.ema or 0.998)
    first, fine = _rate(config) / 3, _rate(config) / 10
    return [
        cell,
        replace(states, learning_rate=first, prepare=reconstruct_centroids),
        replace(states, name="fine", learning_rate=fine, prepare=None),
    ]


def direct(config: TrainConfig) -> list[Stage]:
    """Cell and component together from random centroids, as in the paper."""
    return [
        Stage(
            epochs=config.epochs or 50,
            optimizer=config.optimizer or "adam",
            learning_rate=_rate(config),
            batch_size=config.batch_size or 32,
            class_weight=config.class_weight,
            ema=config.ema,
            patience=config.patience or 5,
        )
    ]


def curriculum(config: TrainConfig) -> list[Stage]:
    """As `direct`, easy words first: for languages, and for cells with memory."""
    stage = direct(config)[0]
    epochs = config.epochs or 400
    return [replace(stage, epochs=epochs, curriculum=Curriculum(), target=0.999)]


def paper(config: TrainConfig) -> list[Stage]:
    """Cell and centroids together from random values, as in the paper.

    The paper does not say in which order the words come, nor what happens where a network is
    stuck. Here short words come first, the next length follows at 99 %, and a network that stays
    at one length begins again with other weights: without these, most languages are not learned.
    """
    stage = direct(config)[0]
    return [
        replace(
            stage,
            name="paper",
            epochs=config.epochs or 2_000,
            optimizer=config.optimizer or "rmsprop",
            learning_rate=config.learning_rate or 3e-4,
            batch_size=config.batch_size or 8,
            patience=config.patience or 2_000,
            curriculum=PAPER,
            target=1.0,
        )
    ]


def text(config: TrainConfig) -> list[Stage]:
    """Texts: states taught by n-grams, averaged weights (EMA), a learning rate that falls once."""
    first = Stage(
        name="text",
        epochs=config.epochs or 8,
        optimizer=config.optimizer or "adam",
        learning_rate=_rate(config),
        batch_size=config.batch_size or 32,
        class_weight=config.class_weight,
        ema=config.ema or 0.998,
        patience=config.patience or 4,
        by_loss=True,
        prepare=init_ngram_states,
    )
    rate, epochs = _rate(config) / 4, config.epochs or 4
    fine = replace(first, name="fine", learning_rate=rate, epochs=epochs, prepare=start_counts)
    return [first, fine]


RECIPES: dict[str, Recipe] = {
    "warm": warm,
    "direct": direct,
    "paper": paper,
    "curriculum": curriculum,
    "text": text,
    "reconstruct": reconstruct,
}

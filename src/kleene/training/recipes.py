"""Named ways of training, as stages; `by_gradient` has the recipe of `learn="network"`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kleene.config import TrainConfig
from kleene.training import by_gradient
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
    restart_after=1_200,
)
"""The lengths of `paper`: the next one at 99 %, or 95 % after 1,000 steps, else other weights."""


def direct(config: TrainConfig) -> list[Stage]:
    """Cell and component together from random centroids."""
    return [
        Stage(
            epochs=config.epochs or 50,
            optimizer=config.optimizer or "adam",
            learning_rate=config.learning_rate or 3e-3,
            batch_size=config.batch_size or 32,
            class_weight=config.class_weight,
            ema=config.ema,
            patience=config.patience or 5,
        )
    ]


def cell_stage(config: TrainConfig) -> Stage:
    """The cell alone, easy words first, until validation rows stop improving."""
    return replace(
        direct(config)[0],
        name="cell",
        regularized=False,
        epochs=config.epochs or 1000,
        patience=config.patience or 10,
        curriculum=Curriculum(),
        target=0.999,
    )


def warm(config: TrainConfig) -> list[Stage]:
    """First the cell, stopped by the validation rows; then its states, as in `by_gradient`."""
    return [cell_stage(config), by_gradient.states_stage(config)]


def reconstruct(config: TrainConfig) -> list[Stage]:
    """First the cell; then centroids whose mixtures reproduce its hidden vectors.

    It is for cells with memory, whose states need not be those of an automaton. Weights are
    averaged (EMA) once the states are on, and the learning rate falls twice.
    """
    stage = direct(config)[0]
    rate, ema = stage.learning_rate, config.ema or 0.998
    epochs, patience = config.epochs or 12, config.patience or 6
    states = replace(
        stage,
        name="states",
        epochs=epochs,
        patience=patience,
        ema=ema,
        learning_rate=rate / 3,
        prepare=reconstruct_centroids,
    )
    fine = replace(states, name="fine", learning_rate=rate / 10, prepare=None)
    return [cell_stage(config), states, fine]


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
            epochs=config.epochs or 40_000,
            optimizer=config.optimizer or "rmsprop",
            learning_rate=config.learning_rate or 3e-4,
            patience=config.patience,
            curriculum=PAPER,
            target=1.0,
        )
    ]


def text(config: TrainConfig) -> list[Stage]:
    """Texts: states taught by n-grams, averaged weights (EMA), a learning rate that falls once."""
    stage = direct(config)[0]
    first = replace(
        stage,
        name="text",
        epochs=config.epochs or 8,
        ema=config.ema or 0.998,
        patience=config.patience or 4,
        by_loss=True,
        prepare=init_ngram_states,
    )
    rate, epochs = stage.learning_rate / 4, config.epochs or 4
    fine = replace(first, name="fine", learning_rate=rate, epochs=epochs, prepare=start_counts)
    return [first, fine]


RECIPES: dict[str, Recipe] = {
    "network": by_gradient.network,
    "paper": paper,
    "warm": warm,
    "direct": direct,
    "text": text,
    "reconstruct": reconstruct,
}

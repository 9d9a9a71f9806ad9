"""What one stage of training does, as plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from kleene.arrays import Ints
from kleene.config import choose
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.training.ema import track_ema
from kleene.training.history import Epoch
from kleene.training.optimizers import Adadelta, Adam, RMSprop

LOOK_EVERY = 5
Prepare = Callable[[Classifier, Examples, int], bool | None]
"""Gets the network, the examples and a seed. If it answers True, the network is good already: its
weights are kept where no epoch improves on them."""


@dataclass(frozen=True, kw_only=True)
class Curriculum:
    """Easy examples first: the limit on their key grows when the network is accurate enough."""

    start: float = 4
    step: float = 2
    threshold: float = 0.97
    steps: int = 1500
    """Steps of the optimiser after which the limit grows even if the network is not good enough."""
    fair: float = 0.8
    """Accuracy from which a level may be left early: the rest may be wrong labels."""
    fair_steps: int = 100
    """Steps after which the limit grows where the network is fair, though not good enough."""
    growth: float = 0.0
    """Share of the limit by which it grows at least."""
    levels: int = 14
    """Maximum number of levels; where the keys span more, each is a larger step."""
    restart_after: int | None = None
    """Steps on one level after which training begins again with other random weights, if the
    network is not fair."""

    def first(self, keys: Ints, least: int) -> float:
        """The lowest limit, at which there are at least `least` words; easy ones' keys will do."""
        return float(max(self.start, np.sort(keys)[min(least, len(keys)) - 1]))

    def passed(self, accuracy: float, steps: int) -> bool:
        """Whether the limit grows, after so many steps at this one."""
        most = min(self.fair_steps, self.steps) if accuracy >= self.fair else self.steps
        return accuracy > self.threshold or steps >= most

    def next(self, limit: float, hardest: float) -> float:
        """The limit after this one, on the way to the hardest words."""
        return limit + max(self.step, self.growth * limit, (hardest - self.start) / self.levels)


@dataclass(frozen=True, kw_only=True)
class Blend:
    """The way from the plain cell to the state-regularised one.

    The next hidden vector is h = (1 - lambda) u + lambda alpha S. Lambda rises epoch by epoch while
    the network is as accurate as its plain cell was, and falls where it is much worse. The loss has
    the mean of |u - alpha S|^2 over steps and units as a further term, so that hidden vectors and
    their mixtures come together.
    """

    rise: float
    """What lambda gains in an epoch; it loses twice as much."""
    commitment: float = 0.1
    noise: float = 0.4
    """Scale of the Gumbel noise on the scores where lambda is 1."""
    slack: float = 0.02
    fall_below: float = 0.1
    """Accuracy below the cell's up to which lambda rises, and from which on it falls."""

    def next(self, value: float, accuracy: float, cell_accuracy: float) -> float:
        """Lambda of the next epoch."""
        if accuracy >= cell_accuracy - self.slack:
            return min(1.0, value + self.rise)
        if accuracy < cell_accuracy - self.fall_below:
            return max(self.rise, value - 2 * self.rise)
        return value


Look = Callable[[Classifier, Classifier, Examples, Examples | None], bool]
"""Gets the network, the plain cell it started from, training and validation rows."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A number of epochs with the same settings."""

    name: str = "train"
    epochs: int = 100
    regularized: bool = True
    """Whether the stochastic component is on."""
    optimizer: str = "adam"
    learning_rate: float = 2e-3
    ema: float | None = None
    """Decay of the exponential moving average of the weights, which is then what is validated and
    kept. None keeps the weights of the last step."""
    batch_size: int = 64
    clip: float = 1.0
    class_weight: str | tuple[float, ...] | None = None
    """Weights of the classes, or "balanced": inverse to their frequency."""
    curriculum: Curriculum | None = None
    target: float | None = None
    """Training accuracy at which the stage ends."""
    patience: int | None = None
    """Epochs without improvement on the held-out examples after which the stage ends."""
    by_loss: bool = False
    """Whether the loss on the held-out examples says what is best, not their accuracy: with few of
    them, chance favours a network that knows its training words by heart."""
    until: Callable[[Sequence[Epoch]], bool] | None = None
    """Whether the stage ends, given its epochs so far."""
    prepare: Prepare | None = None
    """Called before the first epoch."""
    draws: int | None = None
    """Steps of an epoch, whose rows are drawn with short words more often; None takes every row
    once."""
    hidden_noise: float = 0.0
    """Standard deviation of the noise on hidden vectors."""
    blend: Blend | None = None
    centroid_rate: float | None = None
    """Learning rate of the centroids, where it is another one."""
    look: Look | None = None
    """Whether the stage may end; it ends when two looks in a row say so, `LOOK_EVERY` epochs
    apart, and with a blend only where lambda is 1."""


def start_counts(network: Classifier, examples: Examples, seed: int) -> bool:
    """Keep the weights of the stage before where no epoch improves on them (a `Prepare`)."""
    return True


def make_optimizer(stage: Stage, network: Classifier) -> torch.optim.Optimizer:
    """The optimiser of a stage over all weights that learn."""
    kinds: dict[str, Any] = {
        "adam": partial(Adam, fused=True),  # one call for all weights
        "adadelta": Adadelta,
        "rmsprop": partial(RMSprop, momentum=0.9),
    }
    named = [(n, w) for n, w in network.named_parameters() if w.requires_grad]
    groups: Any = [w for _, w in named]
    if stage.centroid_rate is not None:
        others, centroids = (
            [w for n, w in named if ("centroids" in n) is chosen] for chosen in (False, True)
        )
        scale = stage.centroid_rate / stage.learning_rate
        groups = [{"params": others}, {"params": centroids, "scale": scale}]
    kind = choose("optimizer", stage.optimizer, kinds)
    optimizer: torch.optim.Optimizer = kind(groups, lr=stage.learning_rate)
    if stage.ema is not None:
        track_ema(optimizer, stage.ema)
    return optimizer

"""How sure a network is: the same words answered many times, each time with other noise.

Two sources of noise are at hand: the states themselves, drawn from the transition probabilities,
and dropout left on (Gal and Ghahramani, 2016).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.data.batch import Encoded, make_batch
from kleene.errors import SettingError
from kleene.evaluation.metrics import length_batches
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.nn.mode import Mode
from kleene.nn.transition import Gumbel, Sample, sample

Floats = NDArray[np.float64]
Noise = Callable[[Classifier], Mode]
"""The mode in which a network answers at random."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """Many answers to the same words, and how far they agree."""

    draws: NDArray[np.float32]  # (sample, word, class) probabilities

    @property
    def mean(self) -> NDArray[np.float32]:
        """The probabilities of the classes, (word, class)."""
        return np.asarray(self.draws.mean(0))

    @property
    def spread(self) -> NDArray[np.float32]:
        """The standard deviation of those probabilities from draw to draw, (word, class)."""
        return np.asarray(self.draws.std(0))

    @property
    def entropy(self) -> Floats:
        """Of the mean probabilities, in nats, (word,): all uncertainty there is."""
        return _entropy(self.mean)

    @property
    def mutual_information(self) -> Floats:
        """The part of the entropy that comes from draws that disagree, in nats, (word,)."""
        inside = np.mean([_entropy(draw) for draw in self.draws], axis=0)
        return np.asarray(np.maximum(self.entropy - inside, 0), dtype=np.float64)


def draw_predictions(
    network: Classifier,
    words: Sequence[Encoded],
    *,
    samples: int,
    noise: Noise | None = None,
    seed: int = 0,
    batch_size: int = 256,
) -> Distribution:
    """Run the network `samples` times over all encoded words.

    `noise` is `drawn_states` or `dropped_units`; where none is given, the noise that the network
    was trained with: its random transitions (gumbel, sample), else dropout. The same seed gives the
    same draws.
    """
    if samples < 1:
        raise SettingError(f"samples must be >= 1, got {samples}")
    chosen = noise or _trained_with(network)
    draws = np.zeros((samples, len(words), network.config.num_classes), dtype=np.float32)
    with torch.random.fork_rng(devices=[]), inference(network):
        mode = chosen(network)
        torch.manual_seed(seed)
        for order in length_batches(words, batch_size):
            batch = make_batch(words, order=order)
            for draw in draws:
                draw[batch.order] = network(batch, mode=mode).softmax(-1).cpu().numpy()
    return Distribution(draws=draws)


def _trained_with(network: Classifier) -> Noise:
    """The noise of a network's training; states of a mixture are not drawn unless asked for.

    A mixture passes on all states at once. Drawn one by one, they are inputs it never saw.
    """
    random = network.rnn.num_states and isinstance(network.rnn.transition, Gumbel | Sample)
    if random or network.config.dropout:
        return drawn_states if random else dropped_units
    raise SettingError(
        "random passes need a network trained with noise: transition='gumbel' or dropout > 0; "
        "train so, or draw the states of a mixture with noise=drawn_states (--noise states)"
    )


def drawn_states(network: Classifier) -> Mode:
    """Noise in the transitions: Gumbel's where the network has it, else states drawn from alpha."""
    rnn = network.rnn
    if not rnn.num_states:
        raise SettingError("num_states must be > 0 to draw states, got 0; use dropout")
    random = isinstance(rnn.transition, Gumbel | Sample)
    return Mode(transition=rnn.transition if random else sample, noise=True)


def dropped_units(network: Classifier) -> Mode:
    """Dropout left on, and nothing else: Monte Carlo dropout."""
    if not network.config.dropout:
        raise SettingError(
            "dropout must be > 0 in the network, got 0: all draws would be equal; train with "
            "dropout=0.3, or draw states if it has some"
        )
    return Mode(dropout=True, noise=False)


NOISES: dict[str, Noise] = {"states": drawn_states, "dropout": dropped_units}
"""The sources of noise by the names that the command line has for them."""


def _entropy(probabilities: NDArray[np.float32]) -> Floats:
    p = np.maximum(probabilities.astype(np.float64), 1e-12)
    return np.asarray(-(p * np.log(p)).sum(-1))

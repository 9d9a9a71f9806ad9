"""States learned by gradient from the rows alone, from the plain cell to the state-regularised one.

From random centroids every mixture is nearly the same vector at first, and what the cell remembers
is gone. So the recipe goes from one to the other in steps that keep what was learned:

1. `cell`: the plain cell learns words whose length grows by one as soon as the shorter are right;
2. `attractors`: noise on the hidden vectors, so that they contract to few places;
3. `states`: centroids start at hidden vectors of the cell that are far apart, and the next hidden
   vector is h = (1 - lambda) u + lambda alpha S, with lambda rising from 0 to 1 while the accuracy
   holds (`Blend`);
4. `fewer_states` drops centroids that no row needs, and trains on.

No row is searched for an automaton, and no centroid is computed by clustering.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, log2, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kleene.arrays import Ints
from kleene.config import TrainConfig
from kleene.data.alphabet import START
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.mode import HARD, OWN, PLAIN
from kleene.nn.similarity import scores
from kleene.training.centroids import cluster_centroids, spread_centroids
from kleene.training.history import Epoch, History
from kleene.training.loop import fit, plain_cell
from kleene.training.run import Run
from kleene.training.stages import Blend, Curriculum, Stage

BATCH_SIZE = 64
LENGTHS = Curriculum(
    start=1, step=1, growth=0.125, threshold=0.99, steps=100, fair=2.0, levels=10**6
)
"""The next length when a few batches average 99 %, or after 100 steps: labels may be wrong."""
RIGHT = 0.995
"""Mean accuracy of 20 batches at which the cell has learned its words."""
PLATEAU, NOISY_PLATEAU, GAIN = 400, 1_000, 0.002
"""Steps after which a stage ends if the mean of 100 batches has not gained so much."""
NOISE, MAX_STEPS, MAX_NOISY_STEPS = 0.4, 6_000, 3_000
"""Noise on hidden vectors, and steps of the plain cell, without and with it."""
NOISY_EMA = 0.99
"""Decay of the average of the weights while there is noise."""
MORE_STATES, MORE_NOISE, MORE_NOISY_STEPS, MORE_EPOCHS = 400, 0.7, 1_000, 60
"""What `more_states` has of them."""
SHARP = 0.03
"""Their temperature once they are trained, at which mixtures are single centroids."""
ROUNDS, MAX_FAILURES = 24, 4
"""Limits of `fewer_states`: rounds, and rounds in a row without a network that is good enough."""


def network(config: TrainConfig) -> list[Stage]:
    """The stages up to states; `fewer_states` follows."""
    rate = config.learning_rate or 3e-3
    cell = Stage(
        name="cell",
        regularized=False,
        epochs=config.epochs or MAX_STEPS // 5,
        draws=5,
        batch_size=config.batch_size or BATCH_SIZE,
        optimizer=config.optimizer or "adam",
        learning_rate=rate,
        class_weight=config.class_weight,
        ema=config.ema,
        patience=config.patience,
        curriculum=LENGTHS,
        until=_learned(epochs=4, plateau=PLATEAU // 5, window=20),
    )
    attractors = replace(
        cell,
        name="attractors",
        epochs=config.epochs or MAX_NOISY_STEPS // 20,
        draws=20,
        curriculum=None,
        hidden_noise=NOISE,
        ema=config.ema or NOISY_EMA,
        until=_learned(epochs=0, plateau=NOISY_PLATEAU // 20, window=5),
        look=cell_is_right,
    )
    return [cell, attractors, states_stage(config)]


def states_stage(config: TrainConfig) -> Stage:
    """From the plain cell to the state-regularised one."""
    rate = config.learning_rate or 3e-3
    return Stage(
        name="states",
        epochs=config.epochs or 120,
        draws=5,
        batch_size=config.batch_size or BATCH_SIZE,
        optimizer=config.optimizer or "adam",
        learning_rate=rate / 3,
        centroid_rate=rate * 5 / 3,
        class_weight=config.class_weight,
        ema=config.ema,
        patience=config.patience,
        blend=Blend(rise=5 / 120),
        prepare=spread_centroids,
        look=as_good_as_the_cell,
    )


def more_states(
    cell: Classifier,
    training: Examples,
    *,
    validation: Examples | None,
    config: TrainConfig,
    run: Run,
) -> tuple[Classifier, Classifier, History]:
    """A network with many states and its plain cell, where few states do worse than the cell.

    More noise makes hidden vectors contract further. The centroids start at the centres of
    clusters, and lambda rises whatever the accuracy; the best epoch on the validation rows is kept.
    """
    _, noisy, states = network(config)
    kind = replace(cell.config, num_states=MORE_STATES, similarity="euclidean", temperature=1.0)
    made = Classifier(kind).to(cell.device)
    made.load_state_dict(cell.state_dict(), strict=False)
    epochs = config.epochs or MORE_NOISY_STEPS // 20
    noisy = replace(noisy, hidden_noise=MORE_NOISE, epochs=epochs, until=None)
    epochs = config.epochs or MORE_EPOCHS
    states = replace(
        states,
        name="more states",
        epochs=epochs,
        blend=Blend(rise=5 / 120, slack=1.0),
        prepare=cluster_centroids,
        look=None,
        patience=epochs,
    )
    weights: dict[str, Tensor] = {}
    history = fit(
        made,
        training,
        validation=validation,
        stages=[noisy, states],
        run=run,
        cell_weights=weights,
    )
    made.rnn.temperature = SHARP
    return made, plain_cell(made, weights), history


def _learned(*, epochs: int, plateau: int, window: int) -> Callable[[Sequence[Epoch]], bool]:
    """Whether the last epochs, if any, are right, or the mean has not risen for long."""

    def over(done: Sequence[Epoch]) -> bool:
        full = [one for one in done if one.limit == done[-1].limit]
        accuracies = np.array([one.accuracy for one in full])
        if epochs and len(full) >= epochs and accuracies[-epochs:].mean() >= RIGHT:
            return True
        if len(full) < plateau + window:
            return False
        means = np.convolve(accuracies, np.full(window, 1 / window), "valid")
        return bool(means[-plateau:].max() < means[:-plateau].max(initial=-inf) + GAIN)

    return over


def cell_is_right(
    network: Classifier, cell: Classifier, training: Examples, validation: Examples | None
) -> bool:
    """Whether the plain cell is right on all training rows."""
    return evaluate(network, next(training.parts()), mode=PLAIN).accuracy == 1


def as_good_as_the_cell(
    network: Classifier, cell: Classifier, training: Examples, validation: Examples | None
) -> bool:
    """Whether the network, soft and hard, does what its plain cell did.

    A cell that was right on all training rows asks for the same; otherwise the validation rows
    decide, within one standard error.
    """
    rows = next(training.parts())
    required = evaluate(cell, rows).accuracy
    if required < 1 and validation is not None:
        rows, required = validation, evaluate(cell, validation).accuracy
    return _accuracy(network, rows) >= required - _standard_error(required, rows)


def fewer_states(
    network: Classifier,
    cell: Classifier,
    training: Examples,
    *,
    validation: Examples | None,
    config: TrainConfig,
    run: Run,
) -> tuple[Classifier, History]:
    """Drop centroids, and train on, while the network stays as good as the cell or as it was.

    It is for one layer without memory. A round drops at most half of the centroids, the rarest
    first; 25 steps of training follow. Where the cell is right on all training rows, nothing is
    left to choose on the validation rows, and they are trained on, too.
    """
    rate = (config.learning_rate or 3e-3) / 6
    stage = Stage(
        name="fewer",
        epochs=1,
        draws=25,
        batch_size=config.batch_size or BATCH_SIZE,
        learning_rate=rate,
        centroid_rate=2 * rate,
        class_weight=config.class_weight,
        blend=Blend(rise=1.0),
    )
    rows = next(training.parts())
    reached = evaluate(cell, rows).accuracy
    judged, required = [rows], [reached - _standard_error(reached, rows)]
    if validation is not None and reached == 1:  # nothing is left to choose on these rows
        rows = training = _joined(rows, validation)
        judged = [rows]
    elif validation is not None:
        judged.append(validation)
        required.append(evaluate(cell, validation).accuracy)
    good, best = network, [_accuracy(network, part) for part in judged]
    history: list[Epoch] = []
    failures = unchanged = 0
    for number in range(ROUNDS):
        if not failures:
            network, before = drop_states(good, rows), good.rnn.num_states
            unchanged = unchanged + 1 if network.rnn.num_states == before else 0
        if unchanged == 2 or failures == MAX_FAILURES:
            break
        step = replace(run, seed=run.seed + number, checkpoint=None, hook=None)
        history += fit(network, training, stages=[stage], run=step).epochs
        found = [_accuracy(network, part) for part in judged]
        if all(
            new >= min(least, old) for new, least, old in zip(found, required, best, strict=True)
        ):
            good, best, failures = network, found, 0
        else:
            failures += 1
    return good, History(history)


def _joined(one: Examples, other: Examples) -> Examples:
    labels = np.concatenate([one.labels, other.labels])
    return Examples(words=[*one.words, *other.words], labels=labels)


def _accuracy(network: Classifier, rows: Examples) -> float:
    """The lower of the soft and the hard network's accuracies."""
    return min(evaluate(network, rows, mode=mode).accuracy for mode in (OWN, HARD))


def _standard_error(accuracy: float, rows: Examples) -> float:
    return sqrt(accuracy * (1 - accuracy) / max(len(rows), 1))


def drop_states(network: Classifier, rows: Examples) -> Classifier:
    """A copy without the centroids whose loss makes no row wrong, at most half of them.

    Where some rows are wrong already, a state may go if writing it down costs more bits than the
    rows that become wrong without it.
    """
    machine = _HardMachine(network, rows)
    alive = machine.visited()
    visits = machine.visits
    used = [state for state in np.argsort(visits, kind="stable").tolist() if visits[state]]
    wrong = machine.wrong(alive)
    allowed, share, dropped = 0.0, wrong / max(len(rows), 1), 0
    if 0 < share < 0.5:
        symbols = network.config.num_symbols
        allowed = symbols * log2(len(used) + 1) / max(1.0, log2(1 / share - 1))
    for state in used:
        if dropped >= (len(used) + 1) // 2 or len(used) - dropped == 1:
            break
        alive[state] = False
        now = machine.wrong(alive)
        if now <= wrong + allowed:
            wrong, dropped = max(now, wrong), dropped + 1
        else:
            alive[state] = True
    return with_states(network, np.flatnonzero(alive).tolist())


class _HardMachine:
    """The automaton of a one-layer, memory-less network, with any of its states left out."""

    def __init__(self, network: Classifier, rows: Examples) -> None:
        rnn, recurrence = network.rnn, network.rnn.recurrence(0)
        with torch.no_grad():
            S, zero = rnn.centroids(0), rnn.zeros(1)
            x, h = rnn.project(network.embedding.weight), recurrence.gates(S)
            first, _ = rnn.cell.step(x[START][None], recurrence.gates(zero), zero, None, None)
            steps = [rnn.cell.step(one.expand(len(S), -1), h, S, None, None)[0] for one in x]
            self.start = scores(rnn.similarity, S, first)[0].cpu().numpy()
            self.scores = scores(rnn.similarity, S, torch.stack(steps, 1)).cpu().numpy()
            self.classes = network.classify([S], [None]).argmax(-1).cpu().numpy()
        self.rows, self.order = rows, np.argsort(-rows.lengths, kind="stable")
        self.lengths = rows.lengths[self.order]
        self.ids = np.zeros((len(rows), int(self.lengths.max(initial=0))), dtype=np.int64)
        for i, row in enumerate(self.order.tolist()):
            self.ids[i, : self.lengths[i]] = rows.words[row]
        self.visits = np.zeros(len(self.start), dtype=np.int64)

    def visited(self) -> NDArray[np.bool_]:
        """The states that the rows visit; counts the visits."""
        self._run(np.ones(len(self.start), dtype=bool), count=True)
        return self.visits > 0

    def wrong(self, alive: NDArray[np.bool_]) -> int:
        """Rows whose class is wrong if only some states are there."""
        found = self.classes[self._run(alive)]
        return int((found != self.rows.labels[self.order]).sum())

    def _run(self, alive: NDArray[np.bool_], *, count: bool = False) -> Ints:
        """The last state of every row, longest first."""
        hidden = np.where(alive, 0, -np.inf)
        table = (self.scores + hidden).argmax(-1)
        states = np.full(len(self.ids), (self.start + hidden).argmax())
        for time in range(self.ids.shape[1]):
            longer = int(np.searchsorted(-self.lengths, -time, side="left"))
            if count:
                self.visits += np.bincount(states[:longer], minlength=len(self.visits))
            states[:longer] = table[states[:longer], self.ids[:longer, time]]
        if count:
            self.visits += np.bincount(states, minlength=len(self.visits))
        return states


def with_states(network: Classifier, states: Sequence[int]) -> Classifier:
    """A copy of a one-layer network that has only some of its centroids."""
    copy = Classifier(replace(network.config, num_states=len(states)))
    weights = dict(network.state_dict())
    weights["rnn.centroids_l0"] = weights["rnn.centroids_l0"][list(states)]
    copy.load_state_dict(weights)
    return copy.to(network.device).eval()

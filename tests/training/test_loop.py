"""Training: it learns, it stops when told, it repeats itself, it disturbs nobody."""

from __future__ import annotations

import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import cross_entropy
from toys import make_network, same_bits, weights_of, without_time, words_ending_in_5

from kleene.data.examples import Examples
from kleene.errors import DataError, TrainingError
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.training import loop as loop_module
from kleene.training.loop import MAX_FAILURES, fit
from kleene.training.progress import Bar
from kleene.training.run import Run
from kleene.training.stages import Curriculum, Stage, start_counts

EXAMPLES = words_ending_in_5()
STAGE = Stage(epochs=3, batch_size=16, learning_rate=0.02)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm-p"])
def test_learns_a_language(cell) -> None:
    network = make_network(cell=cell)
    history = fit(network, EXAMPLES, stages=[replace(STAGE, epochs=60, target=1.0)])
    assert evaluate(network, EXAMPLES).accuracy == 1
    assert history.curve("loss")[-1] < history.curve("loss")[0]
    assert not network.training


@pytest.mark.parametrize("optimizer", ["adam", "adadelta", "rmsprop"])
def test_one_step_is_torchs(optimizer) -> None:
    """All words in one batch: loss, clipping and update as anyone would write them."""
    network, other = make_network().double(), make_network().double()
    stage = Stage(epochs=1, batch_size=1000, optimizer=optimizer, learning_rate=0.03, clip=0.1)
    history = fit(network, EXAMPLES, stages=[stage])
    made = {
        "adam": lambda w: torch.optim.Adam(w, lr=0.03),
        "adadelta": lambda w: torch.optim.Adadelta(w, lr=0.03),
        "rmsprop": lambda w: torch.optim.RMSprop(w, lr=0.03, momentum=0.9),
    }[optimizer]([w for w in other.parameters() if w.requires_grad])
    batch = next(EXAMPLES.in_order(1000))
    scores = other(batch)
    loss = cross_entropy(scores, torch.from_numpy(batch.labels))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 0.1)
    made.step()
    assert history.epochs[0].loss == pytest.approx(loss.item(), rel=1e-5)
    right = (scores.argmax(-1).numpy() == batch.labels).mean()
    assert history.epochs[0].accuracy == pytest.approx(right)
    for name, weight in other.state_dict().items():
        torch.testing.assert_close(network.state_dict()[name], weight)


def test_balanced_classes_weigh_as_scikit_learn_says() -> None:
    rare = EXAMPLES.select(np.flatnonzero((EXAMPLES.labels == 0) | (EXAMPLES.lengths == 1)))
    network = make_network(num_classes=3)  # a class without words does not count
    batch = next(rare.in_order(1000))
    weights = compute_class_weight("balanced", classes=np.array([0, 1]), y=rare.labels)
    expected = cross_entropy(
        network(batch),
        torch.from_numpy(batch.labels),
        torch.tensor([*weights, 0.0], dtype=torch.float32),
    )
    stage = Stage(epochs=1, batch_size=1000, class_weight="balanced")
    history = fit(network, rare, stages=[stage])
    assert history.epochs[0].loss == pytest.approx(expected.item(), rel=1e-5)
    plain = fit(make_network(num_classes=3), rare, stages=[replace(stage, class_weight=None)])
    assert plain.epochs[0].loss != pytest.approx(expected.item(), rel=1e-2)


def test_same_seed_same_bits_another_seed_others() -> None:
    runs = []
    for seed in (0, 0, 1):
        network = make_network(transition="gumbel", dropout=0.2)
        history = fit(network, EXAMPLES, stages=[STAGE], run=Run(seed=seed))
        runs.append((weights_of(network), without_time(history)))
        torch.rand(3)  # what the user draws in between does not matter
    assert same_bits(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]
    assert not same_bits(runs[0][0], runs[2][0])


def test_the_users_random_numbers_are_left_alone() -> None:
    network = make_network(transition="gumbel")
    before = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    fit(network, EXAMPLES, stages=[STAGE])
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    assert random.getstate() == before[2]


def test_the_best_weights_come_back_and_patience_ends_the_stage() -> None:
    seen = []
    mislabelled = replace(words_ending_in_5(4), labels=1 - words_ending_in_5(4).labels)

    def hook(network, epoch) -> None:
        assert not network.training
        seen.append((epoch.validation_accuracy, -epoch.validation_loss, weights_of(network)))

    network = make_network()
    stage = replace(STAGE, epochs=50, patience=4)
    history = fit(network, EXAMPLES, stages=[stage], validation=mislabelled, run=Run(hook=hook))
    best = max(range(len(seen)), key=lambda i: seen[i][:2])
    assert len(history) == best + 1 + 4 < 50
    assert same_bits(weights_of(network), seen[best][2])
    found = evaluate(network, mislabelled)
    assert found.accuracy == history.epochs[best].validation_accuracy
    assert found.loss == pytest.approx(history.epochs[best].validation_loss)


def test_a_start_that_no_epoch_improves_on_is_kept_if_it_counts() -> None:
    network = make_network()
    fit(network, EXAMPLES, stages=[replace(STAGE, epochs=6)])
    start = weights_of(network)
    ruinous = replace(STAGE, epochs=1, learning_rate=5.0, patience=1)
    for prepare in (start_counts, None):
        network.load_state_dict(start)
        fit(network, EXAMPLES, validation=EXAMPLES, stages=[replace(ruinous, prepare=prepare)])
        assert same_bits(weights_of(network), start) is (prepare is not None)


def test_target_and_until_end_a_stage() -> None:
    easy = fit(make_network(), EXAMPLES, stages=[replace(STAGE, epochs=99, target=0.0)])
    assert len(easy) == 1
    given = []

    def until(epochs) -> bool:
        given.append([epoch.epoch for epoch in epochs])
        return len(epochs) == 3

    stages = [replace(STAGE, name="first"), replace(STAGE, epochs=99, until=until)]
    assert len(fit(make_network(), EXAMPLES, stages=stages)) == 3 + 3
    assert given == [[0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("keyed", [False, True])
def test_a_curriculum_admits_harder_words_level_by_level(keyed) -> None:
    keys = EXAMPLES.labels * 10 + EXAMPLES.lengths if keyed else None
    examples = replace(EXAMPLES, keys=keys)
    hardness = EXAMPLES.lengths if keys is None else keys
    plan = Curriculum(start=2, step=1, threshold=0.9, steps=8, levels=100)
    stage = replace(STAGE, epochs=60, batch_size=4, curriculum=plan, target=0.0)
    history = fit(make_network(), examples, stages=[stage])
    limit, steps = 2, 0
    for epoch in history.epochs:
        admitted = int((hardness <= limit).sum())
        assert epoch.limit == limit
        assert epoch.words == admitted
        steps += -(-admitted // 4)
        if (epoch.accuracy > 0.9 or steps >= 8) and limit < hardness.max():
            limit, steps = limit + 1, 0
    assert history.epochs[-1].limit >= hardness.max()


def test_a_curriculum_does_not_end_early() -> None:
    stage = replace(STAGE, epochs=99, target=0.0, curriculum=Curriculum(start=0, steps=1))
    history = fit(make_network(), EXAMPLES, stages=[stage])
    assert [epoch.limit < 5 for epoch in history.epochs] == [True] * (len(history) - 1) + [False]


def test_a_stage_may_leave_the_component_off() -> None:
    network = make_network()
    centroids = network.rnn.centroids().clone()
    history = fit(network, EXAMPLES, stages=[replace(STAGE, regularized=False)])
    assert torch.equal(network.rnn.centroids(), centroids)
    assert history.curve("states") == [None] * 3
    history = fit(network, EXAMPLES, stages=[STAGE])
    assert not torch.equal(network.rnn.centroids(), centroids)
    assert all(1 <= states <= 3 for states in history.curve("states"))


def test_a_hooks_notes_are_kept() -> None:
    history = fit(
        make_network(), EXAMPLES, stages=[STAGE], run=Run(hook=lambda n, e: {"twice": 2 * e.epoch})
    )
    assert history.curve("notes") == [{"twice": 0}, {"twice": 2}, {"twice": 4}]


def test_no_words_are_an_error() -> None:
    with pytest.raises(DataError, match="no examples"):
        fit(make_network(), Examples(words=[], labels=np.zeros(0, dtype=np.int64)), stages=[STAGE])


def test_a_bar_shows_the_figures(capsys) -> None:
    stages = [STAGE, replace(STAGE, name="more", patience=3, curriculum=Curriculum())]
    fit(make_network(), EXAMPLES, stages=stages, validation=EXAMPLES, run=Run(reporter=Bar()))
    text = capsys.readouterr().err
    for part in ("train", "more", "loss", "accuracy"):
        assert part in text


@pytest.mark.parametrize("by_loss", [False, True])
def test_the_best_epoch_is_that_of_the_accuracy_or_of_the_loss(by_loss, monkeypatch) -> None:
    figures = iter([(0.8, 0.3), (0.9, 0.6), (0.7, 0.5)])
    seen = []

    def evaluated(network, *_, **__):
        seen.append(weights_of(network))
        accuracy, loss = next(figures)
        return SimpleNamespace(accuracy=accuracy, loss=loss)

    network = make_network()
    monkeypatch.setattr(loop_module, "evaluate", evaluated)
    stage = replace(STAGE, patience=3, by_loss=by_loss)
    fit(network, EXAMPLES, validation=EXAMPLES, stages=[stage])
    assert same_bits(weights_of(network), seen[0 if by_loss else 1])


def fail_at(calls: set[int], network: Classifier, monkeypatch) -> list[dict[str, torch.Tensor]]:
    """Make the loss not a number at some calls; what comes back fills with the weights at each."""
    seen: list[dict[str, torch.Tensor]] = []

    def loss(scores, labels, weights):
        seen.append(weights_of(network))
        value = cross_entropy(scores, labels, weights)
        return value * float("nan") if len(seen) - 1 in calls else value

    monkeypatch.setattr(loop_module, "cross_entropy", loss)
    return seen


def test_a_loss_that_is_not_finite_rolls_back_and_lowers_the_rate(monkeypatch) -> None:
    network = make_network()
    seen = fail_at({2, 5}, network, monkeypatch)
    history = fit(network, EXAMPLES, stages=[replace(STAGE, epochs=4)])
    assert same_bits(seen[3], seen[1])  # back before the step that led there
    assert not same_bits(seen[2], seen[1])
    assert same_bits(seen[6], seen[4])
    assert history.curve("rate")[-1] == pytest.approx(0.02 / 4)
    assert all(torch.isfinite(weight).all() for weight in network.parameters())
    assert all(epoch.words == len(EXAMPLES) for epoch in history.epochs)


def test_a_first_step_that_fails_leaves_the_stage_before_as_it_was(monkeypatch) -> None:
    network = make_network()
    seen = fail_at({4}, network, monkeypatch)
    prepared = []

    def prepare(network, examples, seed) -> None:
        torch.nn.init.ones_(network.rnn.centroids())
        prepared.append(weights_of(network))

    stages = [
        replace(STAGE, epochs=1, optimizer="adadelta"),
        replace(STAGE, epochs=1, prepare=prepare),
    ]
    fit(network, EXAMPLES, stages=stages)
    assert same_bits(seen[4], prepared[0])
    assert same_bits(seen[5], prepared[0])


def test_training_that_keeps_failing_says_so(monkeypatch) -> None:
    network = make_network()
    seen = fail_at(set(range(1, 99)), network, monkeypatch)
    with pytest.raises(TrainingError, match=r"even at 0\.015625"):
        fit(network, EXAMPLES, stages=[STAGE])
    assert len(seen) == 1 + 1 + MAX_FAILURES
    assert same_bits(weights_of(network), seen[0])


def test_a_rate_far_too_high_is_named() -> None:
    network = make_network()
    with pytest.raises(TrainingError, match="not finite"):
        fit(network, EXAMPLES, stages=[replace(STAGE, learning_rate=1e30)])
    assert all(torch.isfinite(weight).all() for weight in network.parameters())

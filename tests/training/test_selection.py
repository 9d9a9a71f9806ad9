"""The plain cell is kept where states cost accuracy, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import make_network, same_bits, words_ending_in_5

from kleene import SequenceClassifier
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.datasets.motifs import fixed_motifs
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.pipeline import Rows, _ngrams_suffice
from kleene.training.config import TrainConfig
from kleene.training.history import Epoch
from kleene.training.loop import fit
from kleene.training.memory_states import memory_states
from kleene.training.selection import Comparison, compare, plain_cell
from kleene.training.stages import Stage

EXAMPLES = words_ending_in_5(4)
CELL = Stage(name="cell", regularized=False, epochs=2, batch_size=8)
STATES = Stage(name="states", epochs=2, batch_size=8)


def test_the_plain_cell_answers_as_the_network_without_its_component() -> None:
    network = make_network().eval()
    cell = plain_cell(network, network.state_dict())
    network.rnn.regularized = False
    assert cell.rnn.num_states == 0
    assert cell.config.num_states == 0
    batch = EXAMPLES.batch(np.arange(len(EXAMPLES)))
    assert torch.equal(cell(batch), network(batch))


def test_a_comparison_counts_the_rows_that_one_alone_gets_right() -> None:
    one, other = make_network(1), make_network(2)
    found = compare(one, other, EXAMPLES)
    right = evaluate(one, EXAMPLES).predicted == EXAMPLES.labels
    other_right = evaluate(other, EXAMPLES).predicted == EXAMPLES.labels
    assert (found.states, found.rows) == (3, len(EXAMPLES))
    assert found.lost == other_right.sum() - right.sum()
    assert found.standard_error**2 == pytest.approx((right != other_right).sum())
    assert found.standard_error > 0


def test_a_comparison_goes_by_the_weights_of_the_rows() -> None:
    one, other = make_network(1), make_network(2)
    right = evaluate(one, EXAMPLES).predicted == EXAMPLES.labels
    other_right = evaluate(other, EXAMPLES).predicted == EXAMPLES.labels
    assert (right & ~other_right).any()
    weights = np.where(right & ~other_right, 3.0, 0.5).astype(np.float32)
    found = compare(one, other, replace(EXAMPLES, weights=weights))
    assert found.lost == pytest.approx((weights * (other_right.astype(float) - right)).sum())
    assert found.states_accuracy == pytest.approx(weights[right].sum() / weights.sum())


def test_equal_rows_count_as_one_row_with_their_weight() -> None:
    one, other = make_network(1), make_network(2)
    copies = EXAMPLES.select(np.repeat(np.arange(len(EXAMPLES)), 3))
    weighted = replace(EXAMPLES, weights=np.full(len(EXAMPLES), 3.0, dtype=np.float32))
    by_copies, by_weight = compare(one, other, copies), compare(one, other, weighted)
    assert by_copies.lost == by_weight.lost
    assert by_copies.standard_error == pytest.approx(by_weight.standard_error)


@pytest.mark.parametrize(("lost", "cost"), [(-2, False), (0, False), (1, False), (2, True)])
def test_one_standard_error_is_the_limit(lost: int, cost: bool) -> None:
    figures = {"states": 4, "rows": 100, "states_accuracy": 0.9, "cell_accuracy": 0.9}
    found = Comparison(lost=lost, standard_error=abs(lost) ** 0.5, **figures)
    assert found.states_cost_accuracy is cost


@pytest.mark.parametrize(
    ("rows", "lost", "cost"), [(1200, 12, False), (1200, 14, True), (100, 3, False)]
)
def test_states_may_cost_a_point_or_three_rows_at_most(rows: int, lost: int, cost: bool) -> None:
    accuracies = {"states_accuracy": 0.8 - lost / rows, "cell_accuracy": 0.8}
    found = Comparison(states=4, rows=rows, lost=lost, standard_error=20.0, **accuracies)
    assert found.states_cost_accuracy is cost


def test_the_weights_of_the_cell_survive_an_interruption(tmp_path: Path) -> None:
    whole: dict[str, torch.Tensor] = {}
    fit(make_network(), EXAMPLES, stages=[CELL], cell_weights=whole)

    def interrupt(network: Classifier, epoch: object) -> None:
        if network.rnn.regularized:
            raise KeyboardInterrupt

    checkpoint, stages = tmp_path / "run", [CELL, STATES]
    with pytest.raises(KeyboardInterrupt):
        fit(make_network(), EXAMPLES, stages=stages, checkpoint=checkpoint, hook=interrupt)
    resumed: dict[str, torch.Tensor] = {}
    fit(make_network(), EXAMPLES, stages=stages, checkpoint=checkpoint, cell_weights=resumed)
    assert same_bits(whole, resumed)


SMALL = {"hidden_size": 24, "embedding_size": 8, "consolidate": False, "random_state": 0}


def test_where_states_cost_accuracy_and_the_cell_was_asked_for_it_is_kept(tmp_path: Path) -> None:
    words, labels = fixed_motifs(900, length=20, seed=1)
    found = SequenceClassifier(cell="gru", **SMALL).fit(words[:500], labels[:500])
    assert found.network_.rnn.num_states == 0
    assert found.fit_log_[-1] == "kept the plain cell"
    assert found.fit_log_[-2].startswith("states without memory cost accuracy: 20 states")
    assert "of 50 held-out rows" in found.fit_log_[-2]
    assert found.score(words[500:], labels[500:]) > 0.8
    loaded = SequenceClassifier.load(found.save(tmp_path))
    assert loaded.predict(words).tolist() == found.predict(words).tolist()


def test_states_that_were_asked_for_stay_and_the_log_has_both_figures() -> None:
    words, labels = fixed_motifs(500, length=20, seed=1)
    found = SequenceClassifier(states=5, **SMALL).fit(words, labels)
    assert found.network_.rnn.num_states == 5
    assert found.fit_log_[-1].startswith("states=5 costs accuracy: 5 states")


def test_states_that_cost_nothing_stay() -> None:
    words = ["ab" * n for n in range(1, 40)] + ["ba" * n for n in range(1, 40)]
    labels = [1] * 39 + [0] * 39
    found = SequenceClassifier(**SMALL).fit(words, labels)
    assert found.network_.rnn.num_states == 20
    assert found.fit_log_[-1].startswith("kept the network with states")


def test_a_network_with_memory_is_a_plain_cell_first_and_then_has_states() -> None:
    cell, made = make_network(num_states=0), {}
    config = TrainConfig(epochs=1, batch_size=8)

    def hook(network: Classifier, epoch: Epoch) -> None:
        made[epoch.stage] = network.rnn.regularized

    given = {"by_ngrams": False, "held_out": EXAMPLES}
    network, history = memory_states(cell, EXAMPLES, config=config, hook=hook, **given)
    assert made == {"memory": False, "states": True, "fine": True}
    assert len(history) == 3
    config = network.config
    assert (config.cell, config.pooling, config.num_states) == ("lstm-p", "max", 64)
    assert config.num_symbols == cell.config.num_symbols
    again, _ = memory_states(cell, EXAMPLES, config=TrainConfig(epochs=1), **given)
    assert not same_bits(network.state_dict(), again.state_dict())  # other batches


def test_a_network_with_memory_that_ngrams_teach_is_read_by_its_states() -> None:
    cell = make_network(num_states=0)
    config = TrainConfig(epochs=1, batch_size=8)
    given = {"by_ngrams": True, "held_out": EXAMPLES, "config": config}
    network, history = memory_states(cell, EXAMPLES, **given)
    assert [epoch.stage for epoch in history.epochs] == ["memory", "fine"]
    config = network.config
    assert (config.cell, config.pooling, config.num_states) == ("lstm-p", "states", 64)


@pytest.mark.parametrize(("pair", "suffice"), [("55", True), ("5", False)])
def test_ngrams_teach_the_states_only_where_they_tell_the_classes(pair: str, suffice: bool) -> None:
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("0123456789"), 12)) for _ in range(600)]
    at_a_place = [word[6] == pair for word in words]
    labels = [pair in word for word in words] if suffice else at_a_place
    alphabet = Alphabet(tuple("0123456789"))
    encoded = alphabet.encode_many(words)
    parts = [
        Examples(words=list(encoded[part]), labels=np.array(labels[part], np.int64))
        for part in (slice(0, 500), slice(500, None))
    ]
    rows = Rows(training=parts[0], held_out=parts[1], sample=parts[0], everything=encoded)
    assert _ngrams_suffice(rows, cell_accuracy=1.0, seed=0) is suffice


@pytest.mark.slow
def test_what_needs_more_states_than_there_are_is_learned_with_a_memory(tmp_path: Path) -> None:
    words, labels = fixed_motifs(1_900, length=20, seed=1)
    found = SequenceClassifier(**{**SMALL, "hidden_size": 48}).fit(words[:1500], labels[:1500])
    assert found.fit_log_[-1] == "kept the network with memory"
    config = found.network_.config
    assert (config.cell, config.pooling, config.num_states) == ("lstm-p", "max", 64)
    assert found.fit_log_[-2].startswith("an LSTM with memory: 64 states")
    assert found.score(words[1500:], labels[1500:]) > 0.85
    loaded = SequenceClassifier.load(found.save(tmp_path))
    assert loaded.predict(words).tolist() == found.predict(words).tolist()


@pytest.mark.slow
def test_the_default_is_as_good_as_the_plain_network_on_motifs() -> None:
    words, labels = fixed_motifs(3_500, seed=0)
    train, test = slice(0, 2_500), slice(2_500, None)
    default = SequenceClassifier(random_state=0).fit(words[train], labels[train])
    plain = SequenceClassifier(states=0, random_state=0).fit(words[train], labels[train])
    score = default.score(words[test], labels[test])
    assert score > plain.score(words[test], labels[test]) - 0.03
    assert score > 0.85

"""Every outcome of `fit`: who learned, and what the log says."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from toys import make_network, same_bits, words_ending_in_5

from kleene import SequenceClassifier
from kleene.config import TrainConfig
from kleene.evaluation.figures import answers, measure, no_better_than_majority
from kleene.fitting import plain_cell, split_rows
from kleene.languages import tomita
from kleene.nn.classifier import Classifier
from kleene.nn.mode import PLAIN
from kleene.select import ORIGINS
from kleene.training.history import Epoch
from kleene.training.loop import fit
from kleene.training.memory_states import memory_states
from kleene.training.run import Run
from kleene.training.stages import Stage

EXAMPLES = words_ending_in_5(4)
SMALL: dict[str, Any] = {"hidden_size": 24, "network": {"input_size": 8}, "random_state": 0}


def motifs(rows: int) -> tuple[list[str], list[int]]:
    """Sequences of 20 letters with a motif that counts at one place: no few states suffice."""
    random = np.random.default_rng(1)
    words, labels = [], []
    for i in range(rows):
        word = list(random.choice(list("abcd"), 20))
        place = 9 if i % 2 else int(random.choice([3, 5, 12, 14]))
        word[place : place + 4] = "abca"
        words.append("".join(word))
        labels.append(i % 2)
    return words, labels


def sums(rows: int, margin: int) -> tuple[list[str], list[int]]:
    """Sequences of 30 letters, by whether most are of the first four: no few states suffice."""
    random, words = np.random.default_rng(1), []
    while len(words) < rows:
        word = "".join(random.choice(list("abcdefgh"), 30))
        more = sum(letter in "abcd" for letter in word) - 15
        if abs(more) >= margin and (more > 0) == len(words) % 2:
            words.append(word)
    return words, [i % 2 for i in range(rows)]


REVIEWS = [f"a {'good' if i % 2 else 'bad'} film." for i in range(60)], [i % 2 for i in range(60)]


def sample(number: int, noise: int = 0) -> tuple[list[str], list[bool]]:
    words, labels = tomita(number).sample(380, lengths=range(13), seed=1)
    return words, [label != (noise and i % noise == 0) for i, label in enumerate(labels)]


@pytest.mark.parametrize(
    ("learn", "given", "rows", "origin", "log"),
    [
        ("automaton", {}, sample(4), "induced", "taught the untrained network the 4-state"),
        ("auto", {}, sample(4), "induced", "taught the untrained network the 4-state automaton"),
        ("auto", {"epochs": 1}, sample(7, 10), "induced", "taught the network the 5-state"),
        ("auto", {"recipe": "warm", "epochs": 1}, sample(4), "trained", "20 states"),
        ("network", {"epochs": 1}, sample(4), "trained", "needless"),
        ("paper", {"epochs": 1}, sample(4), "paper", "short words first"),
        ("auto", {"epochs": 40}, motifs(399), "plain", "kept the plain cell"),
        ("auto", {"epochs": 40}, sums(399, margin=1), "trained", "kept the network with states"),
        ("auto", {"epochs": 20}, sums(399, margin=0), "ngrams", "with memory, taught by n-grams"),
        ("auto", {"epochs": 1}, REVIEWS, "ngrams", "read as text"),
    ],
    ids=[
        *("automaton", "explained", "as good", "recipe", "network", "paper", "plain"),
        *("states", "memory by n-grams", "text"),
    ],
)
def test_who_learned(
    learn: str, given: dict[str, Any], rows: Any, origin: str, log: str, tmp_path: Path
) -> None:
    cell = {"cell": "gru"} if origin == "plain" else {}
    found = SequenceClassifier(learn=learn, training=given, **cell, **SMALL).fit(*rows)
    assert found.origin_ == origin
    assert origin in ORIGINS
    assert log in " ".join(found.fit_log_)
    loaded = SequenceClassifier.load(found.save(tmp_path))
    assert loaded.origin_ == loaded.model.origin == origin
    assert loaded.predict(rows[0]).tolist() == found.predict(rows[0]).tolist()


def test_no_automaton_is_searched_for_where_a_network_was_asked_for() -> None:
    words, labels = sample(4)
    for given in ({"states": 5}, {"transition": "gumbel"}, {"network": {"similarity": "cosine"}}):
        found = SequenceClassifier(**{**SMALL, **given}, training={"epochs": 1}).fit(words, labels)
        assert found.origin_ == "trained"
        assert not any("automaton" in line for line in found.fit_log_)


def test_a_network_that_cannot_learn_the_automaton_is_trained() -> None:
    given = {**SMALL, "hidden_size": 1, "training": {"epochs": 1}}
    found = SequenceClassifier(learn="automaton", **given).fit(*sample(7))
    assert found.origin_ == "trained"
    assert "the network did not learn the automaton" in found.fit_log_


def test_a_network_without_states_is_plain() -> None:
    found = SequenceClassifier(states=0, training={"epochs": 1}, **SMALL).fit(*sample(4))
    assert found.origin_ == "plain"


@pytest.mark.parametrize(
    ("by_ngrams", "pooling", "stages"),
    [(False, "max", ["memory", "states", "fine"]), (True, "states", ["memory", "fine"])],
)
def test_a_network_with_memory_has_states(by_ngrams: bool, pooling: str, stages: list[str]) -> None:
    cell, config = make_network(num_states=0), TrainConfig(epochs=1, batch_size=8)
    network, history = memory_states(
        cell, EXAMPLES, by_ngrams=by_ngrams, validation=EXAMPLES, config=config, run=Run()
    )
    assert [epoch.stage for epoch in history.epochs] == stages
    made = network.config
    assert (made.cell, made.pooling, made.num_states) == ("lstm-p", pooling, 64)


def test_the_plain_cell_answers_as_the_network_without_its_component() -> None:
    network = make_network().eval()
    cell = plain_cell(network, network.state_dict())
    assert cell.config.num_states == 0
    batch = EXAMPLES.batch(np.arange(len(EXAMPLES)))
    assert torch.equal(cell(batch), network(batch, mode=PLAIN))


def test_the_weights_of_the_cell_survive_an_interruption(tmp_path: Path) -> None:
    cell = Stage(name="cell", regularized=False, epochs=2, batch_size=8)
    stages = [cell, Stage(name="states", epochs=2, batch_size=8)]
    whole: dict[str, torch.Tensor] = {}
    fit(make_network(), EXAMPLES, stages=[cell], cell_weights=whole)

    def interrupt(network: Classifier, epoch: Epoch) -> None:
        if epoch.stage == "states":
            raise KeyboardInterrupt

    run = Run(checkpoint=tmp_path / "run", hook=interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(make_network(), EXAMPLES, stages=stages, run=run)
    resumed: dict[str, torch.Tensor] = {}
    run = Run(checkpoint=tmp_path / "run")
    fit(make_network(), EXAMPLES, stages=stages, run=run, cell_weights=resumed)
    assert same_bits(whole, resumed)


def test_rows_are_split_into_three_parts_that_share_none() -> None:
    clf = SequenceClassifier()
    words = [f"{i:04d}" for i in range(1000)]
    prepared = clf.prepare(words, [i % 2 for i in range(1000)], seed=0)
    rows = split_rows(prepared.examples, prepared.settings, 0)
    parts = [rows.training, rows.validation, rows.held_out]
    seen = [word.tobytes() for part in parts for word in part.words]  # type: ignore[union-attr]
    assert [len(part) for part in parts] == [810, 90, 100]  # type: ignore[arg-type]
    assert len(set(seen)) == 1000
    assert len(rows.sample) == 900
    words = [word for n in range(10) for word in product("01", repeat=n)]
    prepared = SequenceClassifier(learn="network").prepare(words, [w[-1:] == ("1",) for w in words])
    rows = split_rows(prepared.examples, prepared.settings, 0)
    assert {word.tobytes() for word in prepared.examples.words[:7]} <= {
        word.tobytes() for word in rows.training.words
    }
    fewer = prepared.examples.select(np.arange(999))
    assert split_rows(fewer, prepared.settings, 0).held_out is None
    long = replace(fewer, words=[np.tile(word, 20) for word in fewer.words])
    assert split_rows(long, prepared.settings, 0).held_out is not None


def test_small_data_are_measured_by_cross_fitting() -> None:
    words, labels = sample(4)
    given = {"training": {"epochs": 1}, **SMALL}
    found = SequenceClassifier(learn="automaton", **given).fit(words, labels, baseline=True)
    figures = found.figures_
    assert (figures.held_out_rows, figures.held_out_folds) == (380, 5)
    assert figures.held_out_accuracy is not None
    assert figures.held_out_accuracy > 0.95
    assert figures.baseline_accuracy is not None
    without = SequenceClassifier(learn="automaton", **given).fit(words, labels)
    assert without.figures_.held_out_accuracy is None
    assert same_bits(found.network_.state_dict(), without.network_.state_dict())


def test_a_constant_model_has_the_share_of_its_class() -> None:
    """Every figure of a network that always gives one class is that class's share of the rows."""
    network = make_network()
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.bias.copy_(torch.tensor([1.0, 0.0]))
    share = float((EXAMPLES.labels == 0).mean())
    held_out = answers(network, EXAMPLES, EXAMPLES, baseline=False, seed=0)
    found = measure(network, EXAMPLES, EXAMPLES, held_out)
    accuracies = found.training_accuracy, found.validation_accuracy, found.held_out_accuracy
    assert accuracies == pytest.approx((share, share, share))
    assert found.held_out_interval is not None
    low, high = found.held_out_interval
    assert low < share < high
    assert 0.4 < share < 0.6
    rows = [one.rows for one in found.per_class]
    assert no_better_than_majority(found.held_out_interval, rows) == int(np.argmax(rows))
    assert no_better_than_majority((0.9, 1.0), rows) is None
    assert no_better_than_majority(None, rows) is None

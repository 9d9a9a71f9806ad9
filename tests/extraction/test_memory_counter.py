"""The counter machine in a memory, of networks whose machine is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from counting_network import counting_model

from kleene.automata.counter.machine import CounterMachine
from kleene.errors import AlphabetError, DataError, ExtractionError
from kleene.extraction.counter import extract as counter
from kleene.extraction.counter.extract import MemoryCounter, extract_counter, machine_labels
from kleene.extraction.counter.votes import Latch, Work, best_latch, count_votes
from kleene.extraction.extract import extract
from kleene.languages.context_free import balanced_parentheses
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.passes.memory import (
    CountingUnit,
    counters,
    counting_units,
    record_memory,
)
from kleene.passes.prefixes import Prefixes


def balanced(letters: str = "a", accept_below: bool = False) -> CounterMachine:
    def rule(state: str, view: int, symbol: object) -> tuple[str, int]:
        if state == "wrong" or (symbol == ")" and view == 0 and not accept_below):
            return "wrong", 0
        return state, {"(": 1, ")": -1}.get(symbol, 0)

    accept = {("right", 0)} | ({("right", -1)} if accept_below else set())
    return CounterMachine.from_rule(rule, start="right", alphabet=f"{letters}()", accept=accept)


def some_words(n: int = 300, letters: str = "a", seed: int = 0) -> list[str]:
    drawn, _ = balanced_parentheses(letters).sample(n, range(21), seed=seed, depth=range(1, 6))
    return [str(word) for word in drawn]


UNIT = CountingUnit(unit=0, step=1.0, noise=0.0)


@pytest.fixture(scope="module")
def found() -> MemoryCounter:
    return extract_counter(counting_model(), some_words())


@pytest.fixture(scope="module")
def record() -> Prefixes:
    model = counting_model()
    return record_memory(model, model.alphabet.encode_many(some_words()))


def test_the_counter_and_its_latch_make_the_language(found: MemoryCounter) -> None:
    assert found.unit.unit == 0
    assert found.unit.step == pytest.approx(1.0, abs=1e-3)
    assert [str(latch) for latch in found.latches] == ["unit 1"]
    assert found.machine == balanced()  # for all words
    assert found.fidelity == found.prefix_fidelity == 1.0
    assert found.disagreement is None
    assert found.unseen == 0
    assert found.machine.accepts("(" * 300 + ")" * 300)
    assert not found.machine.accepts("(" * 300 + ")" * 299)


@pytest.mark.parametrize(
    ("outcomes", "kept"),
    [
        ([(0.9, "a"), (1.0, None), (1.0, None)], 1),  # full agreement ends the search
        ([(0.9, "a"), (0.97, "b"), (0.95, "c"), *[(0.9, "d")] * 7], 1),
    ],
    ids=["agrees", "agrees best"],
)
def test_of_several_samples_the_machine_that_agrees_best_is_kept(
    found: MemoryCounter,
    monkeypatch: pytest.MonkeyPatch,
    outcomes: list[tuple[float, str | None]],
    kept: int,
) -> None:
    counters = [replace(found, prefix_fidelity=share, disagreement=w) for share, w in outcomes]
    tried: list[tuple[int, bool]] = []

    def read(
        model: Model, encoded: object, hard: bool, centroids: bool, seed: int, work: Work
    ) -> MemoryCounter:
        tried.append((seed, centroids))
        return counters[len(tried) - 1]

    monkeypatch.setattr(counter, "_extract", read)
    assert extract_counter(counting_model(), some_words(), seed=3) is counters[kept]
    number = kept + 1 if outcomes[kept][1] is None else len(outcomes)
    assert tried == [(3 + i // 2, i % 2 == 1) for i in range(number)]


def test_centroids_that_follow_no_rule_do_not_hide_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if the nearest centroid depended on everything: counter and latch still tell."""
    random = np.random.default_rng(0)

    def scrambled(*args: Any, **options: Any) -> Prefixes:
        record = record_memory(*args, **options)
        states = random.integers(5, size=record.states.shape)
        return replace(record, states=states)

    monkeypatch.setattr(counter, "record_memory", scrambled)
    reading = extract_counter(counting_model(), some_words())
    assert reading.machine == balanced()
    assert not reading.centroids


def test_a_state_that_only_the_centroids_keep_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latch is hidden from the search, and stands in the centroid instead."""

    def moved(*args: Any, **options: Any) -> Prefixes:
        record = record_memory(*args, **options)
        wrong = (record.memory[:, 1] > 0.5).astype(np.int64)
        record.memory[:, 1:] = 0  # a view of the vectors
        return replace(record, states=wrong)

    monkeypatch.setattr(counter, "record_memory", moved)
    reading = extract_counter(counting_model(), some_words())
    assert reading.machine == balanced()
    assert reading.centroids


def test_letters_not_seen_in_a_place_are_asked_about() -> None:
    letters = "abcdefghij"
    reading = extract_counter(counting_model(letters), some_words(60, letters))
    assert reading.unseen == 0
    assert reading.machine == balanced(letters)


def test_a_network_without_its_latch_is_told_apart_from_the_language() -> None:
    reading = extract_counter(counting_model(latch=False), some_words())
    assert reading.machine.difference(balanced()) == ")"
    assert reading.machine == balanced(accept_below=True)


def test_overridden_votes_are_those_against_the_majority(record: Prefixes) -> None:
    """Without the latch unit, the step after a pop to 0 is not determined; count by hand."""
    votes = count_votes(record, UNIT, [], 2)
    by_case: dict[tuple[int, int], dict[int, int]] = {}
    for place, column, move in zip(votes.places, votes.columns, votes.moves, strict=True):
        cases = by_case.setdefault((int(place), int(column)), {})
        cases[int(move)] = cases.get(int(move), 0) + 1
    lost = sum(sum(case.values()) - max(case.values()) for case in by_case.values())
    assert votes.overridden == lost
    latched = count_votes(record, UNIT, [Latch(weights=((1, 1.0),), threshold=0.5)], 2)
    assert votes.labels_overridden > latched.labels_overridden == 0


def test_the_best_latch_leaves_the_fewest_votes_overridden(record: Prefixes) -> None:
    found = best_latch(record, UNIT, [], 2)
    assert found is not None
    values = record.memory
    lost = [
        votes.overridden + votes.labels_overridden
        for number in range(1, values.shape[1])
        for threshold in np.unique(values[:, number]).tolist()
        for votes in [
            count_votes(record, UNIT, [Latch(weights=((number, 1.0),), threshold=threshold)], 2)
        ]
    ]
    assert found[1].overridden + found[1].labels_overridden == min(lost)


def test_a_search_without_agreement_ends_when_its_votes_are_counted(record: Prefixes) -> None:
    work = Work(limit=3 * len(record.steps))
    while not work.is_done:
        best_latch(record, UNIT, [], 2, work=work)
    assert best_latch(record, UNIT, [], 2, work=work) is None
    assert work.done == work.limit
    without = extract_counter(counting_model(), some_words(), max_votes=0)
    assert without.latches == ()
    assert without.disagreement is not None
    assert "no one-counter machine found agrees" in str(without)


def test_counters_are_the_nesting_depth(record: Prefixes) -> None:
    found = counters(record, UNIT)
    for row, word in enumerate(some_words()):
        depth = np.cumsum([0, *({"(": 1, ")": -1}.get(symbol, 0) for symbol in word)])
        assert found[record.word == row].tolist() == depth.tolist()
    assert counting_units(record)[0].unit == 0


def test_labels_of_the_machine_are_those_of_its_words(record: Prefixes) -> None:
    machine, words = balanced(), some_words()
    labels = machine_labels(counting_model(), machine, record)
    for label, row, time in zip(labels, record.word, record.time, strict=True):
        assert label == machine.accepts(words[row][:time])


def test_a_network_that_cannot_be_read_says_why() -> None:
    config = NetworkConfig(num_symbols=7, num_classes=2, cell="gru")
    model = counting_model()
    gru = Model(network=Classifier(config), alphabet=model.alphabet, classes=model.classes)
    with pytest.raises(ExtractionError, match="lstm"):
        extract_counter(gru, ["()"])
    with pytest.raises(AlphabetError, match="'x'"):
        extract_counter(model, ["(x)"])
    with pytest.raises(ExtractionError, match="no unit of the memory counts"):
        extract_counter(model, ["a", "aa"])


def test_extract_shows_the_counter_beside_the_automaton() -> None:
    model = counting_model()
    words = some_words()
    found = extract(model, words, method="counter")
    assert found.method == "counter"
    assert found.counter is not None
    assert found.counter.machine.difference(extract_counter(model, words).machine) is None
    assert "counter in memory unit" in str(found)
    assert found.to_dict()["counter"]["machine"]["format"].startswith("kleene.counter")
    with pytest.raises(DataError, match="along words"):
        extract(model, method="counter")

"""Which of two models is better."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from kleene.data.examples import Examples
from kleene.select import Comparison, choose_automaton, compare, explains


def rows(labels: list[int], weights: list[float] | None = None) -> Examples:
    return Examples(
        words=[np.array([i]) for i in range(len(labels))],
        labels=np.array(labels),
        weights=None if weights is None else np.array(weights, np.float32),
    )


def compared(examples: Examples, simple: list[int], other: list[int]) -> Comparison:
    names = ("simple", "other")
    return compare(examples, np.array(simple), np.array(other), names=names, kind="validation")


def test_a_comparison_counts_the_rows_that_one_alone_gets_right() -> None:
    found = compared(rows([0, 0, 1, 1, 1]), [0, 1, 1, 0, 0], [1, 0, 1, 1, 1])
    assert found.simple_accuracy == pytest.approx(2 / 5)
    assert found.other_accuracy == pytest.approx(4 / 5)
    assert found.lost == 3 - 1
    assert found.standard_error**2 == pytest.approx(4)
    assert found.baseline_errors == 2
    assert str(found) == "simple 40.0 %, other 80.0 % of 5 validation rows"


def test_a_comparison_goes_by_the_weights_of_the_rows() -> None:
    found = compared(rows([0, 0], [3.0, 0.5]), [0, 1], [1, 0])
    assert found.lost == pytest.approx(0.5 - 3.0)
    assert found.simple_accuracy == pytest.approx(3 / 3.5)


def test_equal_rows_say_the_same_thing_once() -> None:
    same = Examples(words=[np.array([7])] * 9, labels=np.zeros(9, np.int64))
    assert compared(same, [1] * 9, [0] * 9).standard_error == 9
    assert not compared(rows([0] * 9), [1] * 9, [0] * 9).simple_is_as_good


@pytest.mark.parametrize(
    ("only_simple", "only_other", "both_wrong", "total", "good"),
    [
        (0, 0, 0, 200, True),
        (5, 5, 3, 200, True),
        (1, 2, 0, 200, True),
        (0, 2, 0, 200, False),  # two standard errors
        (20, 24, 0, 2000, True),  # 24 - 20 is within one standard error and a point
        (100, 108, 0, 300, False),  # within one standard error, but more than a point
    ],
)
def test_the_simple_model_may_lose_a_standard_error_and_a_point(
    only_simple: int, only_other: int, both_wrong: int, total: int, good: bool
) -> None:
    labels = [i % 2 for i in range(total)]
    simple, other = labels.copy(), labels.copy()
    for i in range(total):
        simple[i] = -1 if i < only_other + both_wrong else labels[i]
        wrong = only_other <= i < only_other + both_wrong + only_simple
        other[i] = -1 if wrong else labels[i]
    assert compared(rows(labels), simple, other).simple_is_as_good is good


@pytest.mark.parametrize(
    ("states", "training", "validation", "good"),
    [(4, 0, 0, True), (4, 9, 3, True), (4, 11, 0, False), (4, 0, 4, False), (31, 0, 1, False)],
)
def test_an_automaton_explains_rows_if_hardly_any_error_is_left(
    states: int, training: int, validation: int, good: bool
) -> None:
    trained, judged = rows([0] * 1000 + [1] * 1000), rows([0] * 600 + [1] * 600)
    given = {"training": (training, trained), "validation": (validation, judged)}
    assert good is explains(states=states, **given)


def test_without_validation_rows_no_error_may_be_left() -> None:
    trained = rows([0] * 1000 + [1] * 1000)
    assert explains(states=2, training=(0, trained), validation=(0, None))
    assert not explains(states=2, training=(1, trained), validation=(1, None))


@dataclass(frozen=True)
class Automaton:
    num_states: int
    description_length: float
    training_errors: int
    held_out_errors: int
    length_by_table: float

    @property
    def errors(self) -> int:
        return self.training_errors + self.held_out_errors


def automaton(states: int, bits: float, errors: tuple[int, int], table: float = 0.0) -> Automaton:
    return Automaton(states, bits, *errors, length_by_table=table or bits)


def test_the_shortest_description_of_about_as_few_errors_is_taken() -> None:
    good, short, bad = automaton(9, 90, (0, 0)), automaton(3, 30, (9, 1)), automaton(1, 9, (99, 40))
    assert choose_automaton([good, short, bad]) is short
    assert choose_automaton([good, bad]) is good


def test_a_pattern_that_explains_all_rows_is_believed_however_large() -> None:
    pattern, small = automaton(50, 20, (0, 0), table=900), automaton(3, 40, (0, 1))
    assert choose_automaton([pattern, small]) is pattern


def test_where_errors_are_left_the_smaller_table_is_taken() -> None:
    pattern = automaton(50, 20, (30, 1), table=900)
    small, worse = automaton(3, 40, (32, 1)), automaton(2, 45, (90, 1))
    assert choose_automaton([pattern, small, worse]) is small
    assert choose_automaton([pattern, worse]) is pattern


def test_chance_on_few_validation_rows_does_not_outweigh_all_rows() -> None:
    lucky, better = automaton(4, 90, (200, 3)), automaton(5, 80, (100, 6))
    assert choose_automaton([lucky, better]) is better


def test_a_shorter_description_is_not_taken_for_many_more_errors_on_all_rows() -> None:
    short, right = automaton(2, 226, (17, 3)), automaton(4, 264, (2, 2))
    assert choose_automaton([short, right]) is right

"""Which automaton is taken: held-out errors first, then bits, then size."""

from __future__ import annotations

import numpy as np

from kleene.induction.candidates import Candidate, choose
from kleene.induction.search import Found, table_bits

SYMBOLS = 28


def judged(
    states: int, labels: float, errors: tuple[int, int], *, pattern_bits: float | None = None
) -> Candidate:
    """A candidate of so many states and bits of labels; of a pattern, if that has bits."""
    table = np.zeros((states, SYMBOLS), dtype=np.int32)
    bits = table_bits(table) if pattern_bits is None else pattern_bits
    return Candidate(
        found=Found(table=table, label_bits=labels, model_bits=bits),
        origin="",
        method="splits" if pattern_bits is None else "patterns",
        training_errors=errors[0],
        held_out_errors=errors[1],
    )


def test_few_held_out_errors_come_first_and_then_the_shortest_description() -> None:
    good, short, bad = judged(3, 80, (9, 1)), judged(2, 90, (10, 2)), judged(1, 0, (10, 9))
    assert choose([good, short, bad]) is short
    assert choose([good, bad]) is good


def test_a_pattern_that_explains_all_rows_is_believed_however_many_states_it_has() -> None:
    pattern, small = judged(9, 0, (0, 0), pattern_bits=80), judged(3, 5, (0, 0))
    assert choose([pattern, small]) is pattern


def test_where_errors_are_left_the_smaller_automaton_of_about_as_many_is_taken() -> None:
    pattern = judged(9, 80, (4, 0), pattern_bits=80)
    small, worse = judged(3, 60, (4, 1)), judged(2, 200, (20, 0))
    assert choose([pattern, small, worse]) is small
    assert choose([pattern, worse]) is pattern


def test_a_smaller_automaton_is_not_taken_where_its_errors_need_more_bits_than_it_saves() -> None:
    pattern, small = judged(3, 100, (100, 9), pattern_bits=20), judged(2, 300, (108, 9))
    assert choose([pattern, small]) is pattern


def test_two_held_out_errors_more_count_little_where_all_rows_say_otherwise() -> None:
    lucky, better = judged(9, 140, (10, 0), pattern_bits=76), judged(3, 48, (3, 2))
    assert choose([lucky, better]) is better
    by_heart = judged(3, 0, (0, 2))
    assert choose([judged(4, 0, (0, 0)), by_heart]).held_out_errors == 0

"""Tomita's seven languages over {0, 1}, each as a predicate and as an automaton.

The two are written down independently, and compared with each other in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby, pairwise

import numpy as np

from kleene.automata.dfa import DFA
from kleene.errors import SettingError
from kleene.languages.base import Language, of_strings


def tomita(number: int | str) -> Language:
    """Tomita's language 1 to 7.

    1: 1*.  2: (10)*.  3: no odd run of 0s directly after an odd run of 1s.  4: no 000.
    5: evenly many 0s and evenly many 1s.  6: #0 - #1 divisible by 3.  7: 0*1*0*1*.

    >>> tomita(4).contains("0010")
    True
    """
    key = str(number)
    if key not in PREDICATES:
        raise SettingError(
            f"there is no Tomita language {number!r}; choose {', '.join(PREDICATES)}"
        )
    rows, accepting = TABLES[key]
    dfa = DFA(
        alphabet=("0", "1"),
        transitions=np.array([[int(state) for state in row] for row in rows.split()]),
        outputs=tuple(state in accepting for state in range(len(rows.split()))),
    )
    return of_strings(f"tomita{key}", "01", PREDICATES[key], dfa=dfa)


def _third(word: str) -> bool:
    runs = [(symbol, len(list(run)) % 2) for symbol, run in groupby(word)]
    return (("1", 1), ("0", 1)) not in pairwise(runs)


PREDICATES: dict[str, Callable[[str], bool]] = {
    "1": lambda word: "0" not in word,
    "2": lambda word: word == "10" * (len(word) // 2),
    "3": _third,
    "4": lambda word: "000" not in word,
    "5": lambda word: word.count("0") % 2 == 0 and word.count("1") % 2 == 0,
    "6": lambda word: (word.count("0") - word.count("1")) % 3 == 0,
    "7": lambda word: re.fullmatch("0*1*0*1*", word) is not None,
}
TABLES: dict[str, tuple[str, set[int]]] = {
    "1": ("10 11", {0}),
    "2": ("21 02 22", {0}),
    "3": ("01 20 34 21 44", {0, 1, 3}),
    "4": ("10 20 30 33", {0, 1, 2}),
    "5": ("12 03 30 21", {0}),
    "6": ("12 20 01", {0}),
    "7": ("01 21 23 43 44", {0, 1, 2, 3}),
}
"""The next state on 0 and on 1, a pair of digits for each state, and the accepting states."""

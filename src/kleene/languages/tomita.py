"""Tomita's seven languages over {0, 1}, each as a predicate and as an automaton.

The two are written down independently, and compared with each other in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby, pairwise

from kleene.automata.dfa import DFA
from kleene.errors import SettingError
from kleene.languages.base import Language, by_character


def tomita(number: int | str) -> Language:
    """Tomita's language 1 to 7, or "3-anywhere", the other reading of the third.

    1: 1*.  2: (10)*.  3: no odd run of 0s directly after an odd run of 1s.  4: no 000.
    5: evenly many 0s and evenly many 1s.  6: #0 - #1 divisible by 3.  7: 0*1*0*1*.
    3-anywhere: no odd run of 0s anywhere after an odd run of 1s.

    >>> tomita(4).contains("0010")
    True
    """
    key = {"3b": "3-anywhere"}.get(str(number), str(number))
    if key not in PREDICATES:
        raise SettingError(f"there is no Tomita language {number!r}; choose {', '.join(NUMBERS)}")
    table, accept = TABLES[key]
    dfa = DFA.from_table(table, start=next(iter(table)), accept=accept, alphabet="01")
    contains = by_character("01", PREDICATES[key])
    return Language(name=f"tomita{key}", alphabet=dfa.alphabet, contains=contains, dfa=dfa)


def _runs(word: str) -> list[tuple[str, bool]]:
    """The maximal runs of a word: symbol, and whether its length is odd."""
    return [(symbol, len(list(run)) % 2 == 1) for symbol, run in groupby(word)]


def _third(word: str) -> bool:
    return (("1", True), ("0", True)) not in pairwise(_runs(word))


def _third_anywhere(word: str) -> bool:
    runs = _runs(word)
    first = runs.index(("1", True)) if ("1", True) in runs else len(runs)
    return ("0", True) not in runs[first:]


NUMBERS = ("1", "2", "3", "3-anywhere", "4", "5", "6", "7")

PREDICATES: dict[str, Callable[[str], bool]] = {
    "1": lambda word: "0" not in word,
    "2": lambda word: word == "10" * (len(word) // 2),
    "3": _third,
    "4": lambda word: "000" not in word,
    "5": lambda word: word.count("0") % 2 == 0 and word.count("1") % 2 == 0,
    "6": lambda word: (word.count("0") - word.count("1")) % 3 == 0,
    "7": lambda word: re.fullmatch("0*1*0*1*", word) is not None,
    "3-anywhere": _third_anywhere,
}

# Per language the moves of each state, the first being the start, and the accepting states;
# a move that is left out leads to a rejecting sink.
TABLES: dict[str, tuple[dict[str, dict[str, str]], set[str]]] = {
    "1": ({"ones": {"1": "ones"}}, {"ones"}),
    "2": ({"pairs": {"1": "one"}, "one": {"0": "pairs"}}, {"pairs"}),
    "3": (
        {
            "free": {"0": "free", "1": "odd 1s"},
            "odd 1s": {"0": "then odd 0s", "1": "free"},
            "then odd 0s": {"0": "then even 0s"},
            "then even 0s": {"0": "then odd 0s", "1": "odd 1s"},
        },
        {"free", "odd 1s", "then even 0s"},
    ),
    "4": (
        {
            "no 0": {"0": "one 0", "1": "no 0"},
            "one 0": {"0": "two 0s", "1": "no 0"},
            "two 0s": {"1": "no 0"},
        },
        {"no 0", "one 0", "two 0s"},
    ),
    "5": (
        {
            "both even": {"0": "odd 0s", "1": "odd 1s"},
            "odd 0s": {"0": "both even", "1": "both odd"},
            "odd 1s": {"0": "both odd", "1": "both even"},
            "both odd": {"0": "odd 1s", "1": "odd 0s"},
        },
        {"both even"},
    ),
    "6": (
        {
            "0 mod 3": {"0": "1 mod 3", "1": "2 mod 3"},
            "1 mod 3": {"0": "2 mod 3", "1": "0 mod 3"},
            "2 mod 3": {"0": "0 mod 3", "1": "1 mod 3"},
        },
        {"0 mod 3"},
    ),
    "7": (
        {
            "0*": {"0": "0*", "1": "0*1*"},
            "0*1*": {"0": "0*1*0*", "1": "0*1*"},
            "0*1*0*": {"0": "0*1*0*", "1": "0*1*0*1*"},
            "0*1*0*1*": {"1": "0*1*0*1*"},
        },
        {"0*", "0*1*", "0*1*0*", "0*1*0*1*"},
    ),
    "3-anywhere": (
        {
            "free": {"0": "free", "1": "odd 1s"},
            "odd 1s": {"0": "later odd 0s", "1": "free"},
            "later odd 0s": {"0": "later"},
            "later": {"0": "later odd 0s", "1": "later"},
        },
        {"free", "odd 1s", "later"},
    ),
}

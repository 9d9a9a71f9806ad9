"""Languages to learn, by name: `kleene.languages.tomita(4)`, `by_name("palindromes")`."""

from __future__ import annotations

from collections.abc import Callable

from kleene.errors import SettingError
from kleene.languages.base import Language
from kleene.languages.context_free import balanced_parentheses, blocks, bounded_dyck2, palindromes
from kleene.languages.tomita import tomita, tomita3_anywhere

__all__ = [
    "Language",
    "balanced_parentheses",
    "blocks",
    "bounded_dyck2",
    "by_name",
    "names",
    "palindromes",
    "tomita",
    "tomita3_anywhere",
]

BY_NAME: dict[str, Callable[[], Language]] = {
    "tomita1": lambda: tomita(1),
    "tomita2": lambda: tomita(2),
    "tomita3": lambda: tomita(3),
    "tomita3-anywhere": tomita3_anywhere,
    "tomita4": lambda: tomita(4),
    "tomita5": lambda: tomita(5),
    "tomita6": lambda: tomita(6),
    "tomita7": lambda: tomita(7),
    "balanced-parentheses": balanced_parentheses,
    "balanced-parentheses-count-only": lambda: balanced_parentheses(count_only=True),
    "dyck1": lambda: balanced_parentheses("", name="dyck1"),
    "dyck1-noise": lambda: balanced_parentheses("xyz", name="dyck1-noise"),
    "dyck2-depth3": lambda: bounded_dyck2(3),
    "palindromes": palindromes,
    "anbn": lambda: blocks("ab"),
    "anbncn": lambda: blocks("abc"),
}


def names() -> list[str]:
    """The names that `by_name` knows."""
    return list(BY_NAME)


def by_name(name: str) -> Language:
    """The language of this name, as the command line calls it.

    >>> by_name("tomita2").contains("1010")
    True
    """
    if name not in BY_NAME:
        raise SettingError(f"there is no language {name!r}; choose one of {', '.join(BY_NAME)}")
    return BY_NAME[name]()

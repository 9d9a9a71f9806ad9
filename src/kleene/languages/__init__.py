"""Languages to learn, by name: `kleene.languages.tomita(4)`, `by_name("palindromes")`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kleene.errors import SettingError
from kleene.languages.base import Language
from kleene.languages.context_free import balanced_parentheses, blocks, bounded_dyck2, palindromes
from kleene.languages.tomita import tomita

__all__ = [
    "Language",
    "balanced_parentheses",
    "blocks",
    "bounded_dyck2",
    "by_name",
    "names",
    "palindromes",
    "tomita",
]

BY_NAME: dict[str, Callable[[], Language]] = {
    **{f"tomita{number}": partial(tomita, number) for number in range(1, 8)},
    "balanced-parentheses": balanced_parentheses,
    "dyck1": partial(balanced_parentheses, "", name="dyck1"),
    "dyck1-noise": partial(balanced_parentheses, "xyz", name="dyck1-noise"),
    "dyck2-depth3": partial(bounded_dyck2, 3),
    "palindromes": palindromes,
    "anbn": partial(blocks, "ab"),
    "anbncn": partial(blocks, "abc"),
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

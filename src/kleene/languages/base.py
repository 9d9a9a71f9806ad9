"""A language: which words belong to it, and words to learn it from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from kleene.automata.dfa import DFA
from kleene.errors import SettingError
from kleene.languages.sampling import PathSampler
from kleene.machine import Symbol, Word

# Called with (random generator, n, label, lengths, **options of its own): n words of one class,
# or none where the class has no word of these lengths.
Sampler: TypeAlias = Callable[..., list[Word]]


@dataclass(frozen=True, kw_only=True)
class Language:
    """A set of words: a predicate, a sampler and, where it is regular, a DFA."""

    name: str
    alphabet: tuple[Symbol, ...]
    contains: Callable[[Word], bool] = field(repr=False)
    dfa: DFA | None = None
    sampler: Sampler | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.sampler is None:
            if self.dfa is None:
                raise SettingError(f"the language {self.name!r} has no DFA; give it a sampler")
            object.__setattr__(self, "sampler", PathSampler(self.dfa))

    def __contains__(self, word: Word) -> bool:
        return self.contains(word)

    def sample(
        self,
        n: int,
        lengths: Iterable[int] = range(16),
        seed: int | Sequence[int] = 0,
        balance: float = 0.5,
        **options: Any,
    ) -> tuple[list[Word], list[bool]]:
        """`n` words in random order and whether each belongs to the language.

        `balance` is the share of members. Where one class has no word of these lengths, all words
        are of the other. Words come twice only where a class has too few of them. Options go to
        the sampler: `near` for regular languages (see `PathSampler`), `depth` for parentheses.
        """
        lengths = sorted(set(lengths))
        if n < 0 or not 0 <= balance <= 1 or not lengths or lengths[0] < 0:
            given = f"n={n}, balance={balance}, lengths={lengths!r:.60}"
            raise SettingError(f"n and lengths must be >= 0 and balance in [0, 1], got {given}")
        assert self.sampler is not None
        random = np.random.default_rng(seed)
        members = round(n * balance)
        inside = self.sampler(random, members, True, lengths, **options)
        outside = self.sampler(random, n - len(inside), False, lengths, **options)
        if len(inside) + len(outside) < n:
            inside = self.sampler(random, n - len(outside), True, lengths, **options)
        words, labels = inside + outside, [True] * len(inside) + [False] * len(outside)
        if len(words) < n:
            raise SettingError(f"{self.name} has no word of the lengths {lengths!r:.60}")
        order = random.permutation(n)
        return [words[i] for i in order], [labels[i] for i in order]


def of_strings(
    name: str,
    alphabet: str,
    accepts: Callable[[str], bool],
    *,
    sampler: Sampler | None = None,
    dfa: DFA | None = None,
) -> Language:
    """A language whose predicate takes strings; words with other symbols are not in it."""
    known = frozenset(alphabet)

    def contains(word: Word) -> bool:
        return known.issuperset(word) and accepts("".join(word))  # type: ignore[arg-type]

    return Language(
        name=name, alphabet=tuple(alphabet), contains=contains, dfa=dfa, sampler=sampler
    )

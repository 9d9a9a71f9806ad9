"""The data sets of the paper's experiments with parentheses and palindromes, made from a seed.

The paper gives sizes, depths and the greatest lengths of the test words; what it leaves open
(lengths in training, the negatives) is chosen here and named.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kleene.errors import SettingError
from kleene.languages.base import Language
from kleene.languages.context_free import balanced_parentheses, palindromes
from kleene.machine import Word


@dataclass(frozen=True, kw_only=True)
class Split:
    """Words and whether each belongs to the language."""

    words: list[Word]
    labels: list[bool]
    stages: list[int] = field(default_factory=list)
    """For training with easy words first: the stage of each word, from 1; empty where none is."""


@dataclass(frozen=True, kw_only=True)
class PaperSet:
    """A training set, a validation set, and test sets by the name of their column."""

    language: Language
    train: Split
    validation: Split
    tests: dict[str, Split]


# (members, non-members) in training and in validation
SIZES = {"large": ((13_025, 9_261), (3_582, 3_122)), "small": ((601, 407), (142, 126))}

# Greatest length of the training words of each depth; together they make a curriculum.
TRAIN_LENGTH = {1: 20, 2: 30, 3: 50, 4: 70, 5: 200}
VALIDATION_DEPTH, VALIDATION_LENGTH = range(6, 11), 200

# The six columns: depth and greatest length, 500 members and 500 non-members each.
PARENTHESES_TESTS: dict[str, tuple[Sequence[int], int]] = {
    "d 1-10, l <= 100": (range(1, 11), 100),
    "d 10-20, l <= 100": (range(10, 21), 100),
    "d 10-20, l <= 200": (range(10, 21), 200),
    "d 5, l <= 200": ([5], 200),
    "d 10, l <= 200": ([10], 200),
    "d 20, l <= 1000": ([20], 1_000),
}
PALINDROME_TESTS = (100, 200, 500)


def parentheses_set(size: str = "large", *, seed: int = 0) -> PaperSet:
    """Balanced parentheses: training depths 1-5, validation 6-10, six columns of test words.

    No word of validation or test is a training word.
    """
    train_size, validation_size = _sizes(size)
    language = balanced_parentheses()
    words, labels, stages = [], [], []
    for stage, (depth, longest) in enumerate(TRAIN_LENGTH.items()):
        sizes = [_part(total, stage, len(TRAIN_LENGTH)) for total in train_size]
        part = _draw(language, sizes, range(longest + 1), [seed, stage], depth=[depth])
        words, labels = words + part.words, labels + part.labels
        stages += [depth] * len(part.words)
    held_out = {
        "validation": (validation_size, VALIDATION_DEPTH, VALIDATION_LENGTH),
        **{name: ((500, 500), *column) for name, column in PARENTHESES_TESTS.items()},
    }
    options = {"avoid": set(words)}
    splits = {}
    for number, (name, (sizes, depths, longest)) in enumerate(held_out.items(), len(TRAIN_LENGTH)):
        lengths = range(longest + 1)
        splits[name] = _draw(language, sizes, lengths, [seed, number], depth=depths, **options)
    return PaperSet(
        language=language,
        train=Split(words=words, labels=labels, stages=stages),
        validation=splits.pop("validation"),
        tests=splits,
    )


def palindrome_set(
    size: str = "large", *, seed: int = 0, train_lengths: Iterable[int] = range(2, 51, 2)
) -> PaperSet:
    """Palindromes: sizes as for parentheses, tests with greatest lengths 100, 200 and 500.

    The paper does not give the lengths of the training words: they are `train_lengths` here, and
    those of validation too. No word of validation or test is a training word.
    """
    train_size, validation_size = _sizes(size)
    language, lengths = palindromes(), sorted(train_lengths)
    train = _draw(language, train_size, lengths, [seed, 0])
    seen = set(train.words)
    tests = {
        f"l <= {longest}": _draw(
            language, (500, 500), range(2, longest + 1), [seed, 2 + number], avoid=seen
        )
        for number, longest in enumerate(PALINDROME_TESTS)
    }
    validation = _draw(language, validation_size, lengths, [seed, 1], avoid=seen)
    return PaperSet(language=language, train=train, validation=validation, tests=tests)


def _sizes(size: str) -> tuple[tuple[int, int], tuple[int, int]]:
    if size not in SIZES:
        raise SettingError(f"there is no {size!r} set; choose {' or '.join(SIZES)}")
    return SIZES[size]


def _part(total: int, part: int, parts: int) -> int:
    """The size of one of nearly equal parts."""
    return total * (part + 1) // parts - total * part // parts


def _draw(
    language: Language,
    sizes: Sequence[int],
    lengths: Iterable[int],
    seed: Sequence[int],
    **options: object,
) -> Split:
    """So many members and non-members of a language."""
    members, n = sizes[0], sum(sizes)
    words, labels = language.sample(n, lengths, seed=seed, balance=members / n, **options)
    return Split(words=words, labels=labels)

"""Depth, length and kind of parenthesis words, and the paper's data sets."""

from collections import Counter
from itertools import product

import pytest
from paper.sets import PARENTHESES_TESTS, SIZES, palindrome_set, parentheses_set

from kleene import languages
from kleene.errors import SettingError
from kleene.languages.parentheses import nesting_depth


def depth_by_rewriting(word: str) -> int:
    """The number of times the innermost pairs can be struck out at once."""
    word, depth = "".join(c for c in word if c in "()"), 0
    while "()" in word:
        word, depth = word.replace("()", ""), depth + 1
    return depth if not word else -1


def test_depth_agrees_with_rewriting() -> None:
    for length in range(11):
        for word in map("".join, product("()", repeat=length)):
            expected = depth_by_rewriting(word)
            assert nesting_depth(word) == (None if expected < 0 else expected)


@pytest.mark.parametrize("letters", ["", "x", "abcdefghijklmnopqrstuvwxyz"])
def test_members_have_the_depths_and_lengths_asked_for(letters) -> None:
    language = languages.balanced_parentheses(letters)
    for depth, lengths in [(range(4, 7), range(30, 41)), ([20], range(990, 1001)), ([2], [4, 6])]:
        words, _ = language.sample(120, lengths=lengths, depth=depth, balance=1.0, seed=1)
        assert {depth_by_rewriting(word) for word in words} == set(depth)
        assert {len(word) for word in words} <= set(lengths)
    assert set("".join(words)) <= set(language.alphabet)


def test_longer_samples_in_between_change_nothing() -> None:
    first, _, again = (
        languages.by_name("dyck1").sample(30, range(longest), seed=4) for longest in (20, 300, 20)
    )
    assert first == again


def test_depth_zero_has_letters_only() -> None:
    words, labels = languages.balanced_parentheses("ab").sample(50, lengths=[6], depth=[0])
    assert all(set(w) <= set("ab") for w, label in zip(words, labels, strict=True) if label)
    assert not any(depth_by_rewriting(w) >= 0 for w, y in zip(words, labels, strict=True) if not y)


def test_patterns_are_uniform() -> None:
    words = [
        word
        for seed in range(150)
        for word in languages.by_name("dyck1").sample(
            4, lengths=[8], depth=[3], balance=1.0, seed=seed
        )[0]
    ]
    expected = {w for w in map("".join, product("()", repeat=8)) if depth_by_rewriting(w) == 3}
    counts = Counter(words)
    assert set(counts) == expected
    mean = len(words) / len(expected)
    assert sum((counts[w] - mean) ** 2 / mean for w in expected) < 4 * len(expected)


def test_non_members_are_a_few_edits_away_and_half_have_equal_counts() -> None:
    words, _ = languages.balanced_parentheses().sample(300, range(10, 60), balance=0.0, seed=0)
    ahead = [word.count("(") - word.count(")") for word in words]
    assert ahead.count(0) == 150
    assert all(abs(count) <= 6 for count in ahead)


def test_small_parentheses_set_has_the_sizes_of_the_paper() -> None:
    made = parentheses_set("small", seed=5)
    for split, size in zip((made.train, made.validation), SIZES["small"], strict=True):
        assert (split.labels.count(True), split.labels.count(False)) == size
        assert split.labels == [depth_by_rewriting(word) >= 0 for word in split.words]
    members = [w for w, y in zip(made.train.words, made.train.labels, strict=True) if y]
    assert set(map(depth_by_rewriting, members)) == set(range(1, 6))
    assert list(made.tests) == list(PARENTHESES_TESTS)
    for name, split in made.tests.items():
        depths, longest = PARENTHESES_TESTS[name]
        found = [depth_by_rewriting(w) for w, y in zip(split.words, split.labels, strict=True) if y]
        assert len(found) == 500
        assert len(split.words) == 1000
        assert set(found) <= set(depths)
        assert max(map(len, split.words)) <= longest
        assert not set(split.words) & set(made.train.words)


def test_small_palindrome_set() -> None:
    made = palindrome_set("small", seed=2)
    for split in (made.train, made.validation, *made.tests.values()):
        assert split.labels == [w == w[::-1] for w in split.words]
        assert all(len(w) % 2 == 0 for w in split.words)
    assert [max(map(len, split.words)) for split in made.tests.values()] == [100, 200, 500]
    with pytest.raises(SettingError, match="choose large or small"):
        palindrome_set("huge")

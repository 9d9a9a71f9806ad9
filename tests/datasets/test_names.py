"""Made-up names: the same for the same seed, of classes that overlap."""

from __future__ import annotations

from kleene.datasets.names import LETTERS, LONGEST, SHORTEST, overlapping_names


def test_names_are_short_lower_case_and_repeatable() -> None:
    names, labels = overlapping_names(300, classes=3, seed=4)
    assert (names, labels) == overlapping_names(300, classes=3, seed=4)
    assert set(labels) == {"class 0", "class 1", "class 2"}
    assert all(SHORTEST <= len(name) <= LONGEST for name in names)
    assert set("".join(names)) <= set(LETTERS)

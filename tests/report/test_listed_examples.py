"""The sequences of each class that a report lists, counted a second time by hand."""

from __future__ import annotations

from kleene.report.examples import MAX_LISTED, MAX_LISTED_LENGTH, variants

WORDS = ["ab", "ab", "ab", "b", "abc", "b", "", "a" * (MAX_LISTED_LENGTH + 1)]
LABELS = ["x", "x", "x", "x", "y", "y", "y", "y"]
ANSWERS = ["x", "x", "x", "x", "x", "x", "y", "y"]


def test_shortest_commonest_and_wrong_sequences() -> None:
    found = variants(WORDS, LABELS, ANSWERS)
    first, second = found["classes"]
    assert [one["label"] for one in found["classes"]] == ["x", "y"]
    assert [("".join(v["word"]), v["count"]) for v in first["shortest"]] == [("b", 1), ("ab", 3)]
    assert [("".join(v["word"]), v["count"]) for v in first["commonest"]] == [("ab", 3), ("b", 1)]
    assert second["distinct"] == 3  # the long one is not listed
    assert found["wrong_distinct"] == 2
    assert {("".join(v["word"]), v["label"], v["answer"]) for v in found["wrong"]} == {
        ("abc", "y", "x"),
        ("b", "y", "x"),
    }


def test_without_labels_the_answers_stand_for_them() -> None:
    found = variants(WORDS, [], ANSWERS)
    assert [one["distinct"] for one in found["classes"]] == [3, 1]
    assert found["wrong"] == []


def test_lists_are_short_and_long_sequences_have_none() -> None:
    many = variants(["a" * (n % 20) for n in range(40)], [0] * 40, [0] * 40)
    assert len(many["classes"][0]["shortest"]) == MAX_LISTED
    assert "missing" in variants(["a" * n for n in range(40)], [0] * 40, [0] * 40)
    assert "missing" in variants(["a", "b", "a" * (MAX_LISTED_LENGTH + 1)], [0] * 3, [0] * 3)
    assert "missing" in variants(["a" * (MAX_LISTED_LENGTH + 1)], [0], [0])

"""Corpora from archives made here, and the real ones where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from test_archives import make_tar

from kleene.datasets.corpora import (
    MESSAGE as MESSAGES,
)
from kleene.datasets.corpora import (
    REVIEW,
    LabelledTexts,
    Splits,
    clean,
    imdb,
    newsgroups,
    read_texts,
)
from kleene.errors import DataError, SettingError

MESSAGE = """From: someone@example.org (Some One)
Subject: Re: rockets
Organization: None

In article <123@example.org> other@example.org writes:
>Is it far?
|> Very far?

It is far, as I said.

Take a map.

--
Some One, some@example.org
"The sky is no limit"
"""

REVIEWS = {
    "aclImdb/train/pos/1_9.txt": b"Loved it!<br />10/10",
    "aclImdb/train/pos/0_10.txt": "Très bon".encode(),
    "aclImdb/train/neg/0_2.txt": b"Awful.",
    "aclImdb/train/unsup/0_0.txt": b"not labelled",
    "aclImdb/train/labeledBow.feat": b"9 0:3",
    "aclImdb/test/pos/0_8.txt": b"",
    "aclImdb/test/neg/12_1.txt": b"\xff broken utf-8",
}


def test_reviews_come_with_their_labels(tmp_path: Path) -> None:
    train, test = read_texts(make_tar(tmp_path / "imdb.tar.gz", REVIEWS), REVIEW)
    assert train.labels == ("negative", "positive", "positive")
    assert train.texts == ("Awful.", "Très bon", "Loved it!<br />10/10")
    assert train.words[2] == ("loved", "it", "!", "10", "/", "10")
    assert test.labels == ("negative", "positive")
    assert test.words[1] == ()
    assert "broken" in test.texts[0]


def test_the_order_of_the_archive_plays_no_role(tmp_path: Path) -> None:
    forwards = read_texts(make_tar(tmp_path / "a.tar.gz", REVIEWS), REVIEW)
    backwards = read_texts(make_tar(tmp_path / "b.tar.gz", dict(reversed(REVIEWS.items()))), REVIEW)
    assert forwards == backwards


def test_an_archive_without_a_part_is_refused(tmp_path: Path) -> None:
    half = {name: text for name, text in REVIEWS.items() if "/train/" in name}
    with pytest.raises(DataError, match="has no test texts named as"):
        read_texts(make_tar(tmp_path / "half.tar.gz", half), REVIEW)


def test_messages_come_raw_or_cleaned(tmp_path: Path) -> None:
    files = {
        "20news-bydate-train/sci.space/60000": MESSAGE.encode("latin-1"),
        "20news-bydate-test/talk.politics.misc/7": "Köln\n".encode("latin-1"),
    }
    path = make_tar(tmp_path / "news.tar.gz", files)
    train, test = read_texts(path, MESSAGES, "latin-1")
    assert (train.labels, test.labels) == (("sci.space",), ("talk.politics.misc",))
    assert train.texts == (MESSAGE,)
    assert test.texts == ("Köln\n",)
    cleaned, _ = read_texts(path, MESSAGES, "latin-1", clean)
    assert cleaned.texts == ("It is far, as I said.\n\nTake a map.",)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("", ""),
        ("Subject: x\n\n> all\n> quoted\n", ""),
        ("a single paragraph\nof two lines", "a single paragraph\nof two lines"),
    ],
)
def test_cleaning_short_messages(message: str, text: str) -> None:
    assert clean(message) == text


def test_a_random_split_keeps_every_text_once() -> None:
    train = LabelledTexts(texts=tuple(f"t{i}" for i in range(11)), labels=tuple("ab" * 5 + "a"))
    test = LabelledTexts(texts=("u0", "u1"), labels=("b", "b"))
    mixed = Splits(train, test).shuffled(seed=1)
    assert (len(mixed.train), len(mixed.test)) == (10, 3)
    pairs = sorted(zip(train.texts + test.texts, train.labels + test.labels, strict=True))
    found = [p for part in mixed for p in zip(part.texts, part.labels, strict=True)]
    assert sorted(found) == pairs
    assert Splits(train, test).shuffled(seed=1) == mixed
    assert Splits(train, test).shuffled(seed=2) != mixed
    with pytest.raises(SettingError, match="got 1"):
        mixed.shuffled(0, share=1)


@pytest.mark.data
@pytest.mark.skipif("KLEENE_DATA" not in os.environ, reason="KLEENE_DATA names no folder")
class TestRealCorpora:
    def test_imdb_has_the_official_split(self) -> None:
        train, test = imdb()
        for part in (train, test):
            assert dict(zip(*np.unique(part.labels, return_counts=True), strict=True)) == {
                "negative": 12_500,
                "positive": 12_500,
            }
        assert len(set(train.texts) & set(test.texts)) == 123

    def test_newsgroups_have_the_paper_s_counts(self) -> None:
        by_date = newsgroups()
        assert [len(part) for part in by_date] == [11_314, 7_532]
        assert len(set(by_date.train.labels)) == 20
        assert [len(part) for part in by_date.shuffled(0)] == [15_076, 3_770]

    def test_cleaning_agrees_with_scikit_learn_s(self) -> None:
        from sklearn.datasets import _twenty_newsgroups as theirs

        raw, cleaned = newsgroups().test.texts[::20], newsgroups(cleaned=True).test.texts[::20]
        overlaps = []
        for message, ours in zip(raw, cleaned, strict=True):
            other = theirs.strip_newsgroup_header(message)
            other = theirs.strip_newsgroup_footer(theirs.strip_newsgroup_quoting(other))
            a, b = set(ours.split()), set(other.split())
            overlaps.append(len(a & b) / max(len(a | b), 1) if a | b else 1.0)
        assert np.mean(overlaps) > 0.85

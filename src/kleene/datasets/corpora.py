"""Labelled texts: the IMDB reviews and the 20 Newsgroups."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kleene.data.words import tokenize
from kleene.datasets.archives import Source, locate, members
from kleene.errors import DataError, SettingError

IMDB = Source(
    folder="imdb",
    url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    checksums={
        "aclImdb_v1.tar.gz": "md5:7c2ac02c03563afcf9b574c7e56c153a",
        "aclImdb_labelled.tar.gz": (
            "sha256:aac9fcb90f1d8c77b516e1ac29386742202c870208ef5d86dd35f938c6d23a98"
        ),
    },
)
NEWSGROUPS = Source(
    folder="newsgroups",
    url="https://ndownloader.figshare.com/files/5975967",
    checksums={
        "20news-bydate.tar.gz": (
            "sha256:8f1b2514ca22a5ade8fbb9cfa5727df95fa587f4c87b786e15c759fa66d95610"
        ),
        "20news-bydate-repacked.tar.gz": (
            "sha256:fb65de373471332f82aac01de60fc77335bfaa44ac81bc23449dea9d5de092a4"
        ),
    },
)
REVIEW = re.compile(r"(?:^|/)(train|test)/(pos|neg)/(\d+)_\d+\.txt$")
MESSAGE = re.compile(r"(?:^|/)20news-bydate-(train|test)/([\w.\-]+)/(\d+)$")
_SENTIMENT = {"pos": "positive", "neg": "negative"}
QUOTED = re.compile(r"^\s{0,3}[>|]|^\s{0,3}\w{1,4}>")
ATTRIBUTION = re.compile(
    r"\b(?:writes|wrote|says|said)\s*:\s*$|\bwrites in\b|^\s*(?:in article\b|quoted from\b)",
    re.IGNORECASE,
)
RULE = re.compile(r"^[\s\-_=*~]*$")
MAX_SIGNATURE = 12  # lines; a longer last part is text


@dataclass(frozen=True, kw_only=True)
class LabelledTexts:
    """Texts and their labels."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """The tokens of every text; none for an empty one."""
        return tuple(map(tokenize, self.texts))

    def select(self, indices: Iterable[int]) -> LabelledTexts:
        """The texts of the given indices."""
        chosen = [int(i) for i in indices]
        return LabelledTexts(
            texts=tuple(self.texts[i] for i in chosen), labels=tuple(self.labels[i] for i in chosen)
        )


class Splits(NamedTuple):
    """A corpus in its two parts."""

    train: LabelledTexts
    test: LabelledTexts

    def shuffled(self, seed: int, share: float = 0.2) -> Splits:
        """Both parts mixed and split again at random, the test part with `share` of all texts."""
        if not 0 < share < 1:
            raise SettingError(f"share must be between 0 and 1, got {share!r}")
        train, test = self
        both = LabelledTexts(texts=train.texts + test.texts, labels=train.labels + test.labels)
        order = np.random.default_rng(seed).permutation(len(both))
        held = math.ceil(share * len(both))
        return Splits(both.select(order[held:]), both.select(order[:held]))


def imdb(data: str | Path | None = None) -> Splits:
    """The 25,000 + 25,000 labelled film reviews of Maas et al. (2011), in the official split.

    Labels are "positive" and "negative". 123 texts stand in both parts, as they do in the original.
    """
    return read_texts(locate(IMDB, data), REVIEW)


def newsgroups(data: str | Path | None = None, *, cleaned: bool = False) -> Splits:
    """The 18,846 messages of 20 Newsgroups, split by date; `.shuffled(seed)` splits at random.

    `cleaned` takes off headers, signatures and quoted lines, which give most groups away; some
    messages are empty then.
    """
    return read_texts(locate(NEWSGROUPS, data), MESSAGE, "latin-1", clean if cleaned else str)


def clean(message: str) -> str:
    """The message without header, quotes and signature; it may be empty then.

    A signature is what follows the last empty line or rule, if it is short.
    """
    _, found, body = message.replace("\r\n", "\n").partition("\n\n")
    lines = [
        line
        for line in (body if found else message).split("\n")
        if not QUOTED.search(line) and not ATTRIBUTION.search(line)
    ]
    lines = "\n".join(lines).rstrip().split("\n")
    for i in range(len(lines) - 1, max(len(lines) - 1 - MAX_SIGNATURE, 0), -1):
        if RULE.match(lines[i]):
            lines = lines[:i]
            break
    return "\n".join(lines).strip()


def read_texts(
    path: str | Path,
    names: re.Pattern[str],
    encoding: str = "utf-8",
    change: Callable[[str], str] = str,
) -> Splits:
    """The texts of both parts of an archive, sorted by label and number.

    `names` says which files are texts, and finds part, label and number in their names.
    """
    parts: dict[str, list[tuple[str, int, str]]] = {"train": [], "test": []}
    for name, content in members(path, lambda name: names.search(name) is not None):
        part, label, number = names.search(name).groups()  # type: ignore[union-attr]
        parts[part].append((label, int(number), change(content.decode(encoding, "replace"))))
    splits = []
    for part, texts in parts.items():
        if not texts:
            raise DataError(f"{path} has no {part} texts named as {names.pattern}; get it again")
        labels, _, found = zip(*sorted(texts), strict=True)
        plain = tuple(_SENTIMENT.get(label, label) for label in labels)
        splits.append(LabelledTexts(texts=found, labels=plain))
    return Splits(*splits)

"""Rows on which nothing was chosen: sites of weighted letters, and names of stems and endings.

They are a second set each beside `motifs` and `names`, made in
another way, for a look after all choices.
"""

from __future__ import annotations

import numpy as np

LETTERS = "ACGT"
BACKGROUND = (0.26, 0.24, 0.24, 0.26)
DONOR = (
    *((0.33, 0.37, 0.18, 0.12), (0.60, 0.13, 0.13, 0.14), (0.08, 0.04, 0.81, 0.07)),
    *((0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0), (0.50, 0.03, 0.44, 0.03)),
    *((0.71, 0.08, 0.12, 0.09), (0.07, 0.06, 0.81, 0.06), (0.16, 0.17, 0.22, 0.45)),
)
"""Shares of the letters around the place where an intron begins, about as textbooks have them."""
PYRIMIDINES = (0.12, 0.33, 0.13, 0.42)
ACCEPTOR = (
    *((PYRIMIDINES,) * 12),
    *((0.25, 0.28, 0.22, 0.25), (0.05, 0.65, 0.01, 0.29), (1.0, 0.0, 0.0, 0.0)),
    *((0.0, 0.0, 1.0, 0.0), (0.25, 0.14, 0.49, 0.12)),
)
ELSEWHERE, UNKNOWN = 0.3, 0.03
"""Shares of the other sequences that have a site elsewhere, and of all with an unknown letter."""

ONSETS = [*"bcdfghjklmnprstvwz", "ch", "br", "gr", "st", "th", "", "", ""]
VOWELS = ["a", "e", "i", "o", "u", "ai", "ia", "eo"]
CODAS = ["", "", "", "n", "r", "l", "s", "m", "t", "nd"]
STEMS = 1_500
ENDINGS = {
    "a": 2.2,
    "ia": 2.0,
    "ina": 2.5,
    "elle": 2.3,
    "ie": 1.0,
    "e": 0.8,
    "y": 0.3,
    "is": 0.2,
    "": -0.6,
    "n": -0.8,
    "en": -1.2,
    "o": -1.8,
    "ard": -2.2,
    "us": -2.3,
}
"""How much each ending speaks for the first class."""


def sites(rows: int, *, length: int = 60, seed: int = 0) -> tuple[list[str], list[str]]:
    """Sequences and their classes: a donor or an acceptor site in the middle, or neither."""
    random = np.random.default_rng([seed, 60])
    middle, texts, labels = length // 2, [], []
    for _ in range(rows):
        label = ("donor", "acceptor", "neither")[random.choice(3, p=(0.25, 0.25, 0.5))]
        table = np.tile(BACKGROUND, (length, 1))
        if label == "donor":
            table[middle - 3 : middle + 6] = DONOR
        elif label == "acceptor":
            table[middle - 16 : middle + 1] = ACCEPTOR
        elif random.random() < ELSEWHERE:
            site = np.array(DONOR if random.random() < 0.5 else ACCEPTOR)
            place = int(random.integers(0, length - len(site)))
            table[place : place + len(site)] = site
        shares = table.cumsum(1) / table.sum(1, keepdims=True)
        letters = [LETTERS[i] for i in (random.random((length, 1)) < shares).argmax(1).tolist()]
        if random.random() < UNKNOWN:
            letters[int(random.integers(length))] = "N"
        texts.append("".join(letters))
        labels.append(label)
    return texts, labels


def stem_names(rows: int, *, seed: int = 0) -> tuple[list[str], list[str]]:
    """Names of two classes; stem and ending each speak for one of them, by chance."""
    random = np.random.default_rng([seed, 26])

    def syllable() -> str:
        return "".join(str(random.choice(part)) for part in (ONSETS, VOWELS, CODAS))

    stems = ["".join(syllable() for _ in range(random.integers(1, 3))) for _ in range(STEMS)]
    leans, shares = random.normal(0, 1.2, STEMS), random.dirichlet(np.full(STEMS, 0.5))
    endings, names, labels = list(ENDINGS), [], []
    for _ in range(rows):
        stem = int(random.choice(STEMS, p=shares))
        ending = endings[int(random.integers(len(endings)))]
        odds = 1.3 * (leans[stem] + ENDINGS[ending])
        names.append(stems[stem] + ending)
        labels.append("first" if random.random() < 1 / (1 + np.exp(-odds)) else "second")
    return names, labels

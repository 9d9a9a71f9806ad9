"""Made-up rows for `states_accuracy.py`: data on which no small automaton is right.

    names        the class shows in the letters only on average, as origins do: each class draws
                 the next letter by its own table
    motifs       the class depends on a motif in the middle, as splice junctions in DNA have it;
                 other rows have a motif elsewhere, so that the place decides
    sites        the same with weighted letters
    stem names   stem and ending each speak for a class, by chance

Settings were chosen on names and on other motifs; nothing was chosen on sites and stem names.
"""

from __future__ import annotations

import numpy as np

LETTERS = "ACGT"
MOTIFS = {"donor": "CAGGTAAG", "acceptor": "TTTCAGGA"}


def fixed_motifs(
    rows: int, *, length: int = 60, noise: float = 0.1, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Sequences and their classes: donor, acceptor or neither; motif letters are noisy."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    size, middle = len(MOTIFS["donor"]), length // 2
    for _ in range(rows):
        label = ("donor", "acceptor", "neither")[random.integers(3)]
        letters = random.choice(list(LETTERS), length)
        place = middle
        while label == "neither" and abs(place - middle) < 3:
            place = int(random.integers(0, length - size))
        motif = MOTIFS[label] if label in MOTIFS else MOTIFS[str(random.choice(list(MOTIFS)))]
        kept = random.random(size) >= noise
        letters[place : place + size] = np.where(kept, list(motif), letters[place : place + size])
        texts.append("".join(letters))
        labels.append(label)
    return texts, labels


ALPHABET = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST = 3, 11


def overlapping_names(
    rows: int, *, classes: int = 2, difference: float = 0.55, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Names and their classes; `difference` is how far the classes' tables are apart."""
    random = np.random.default_rng(seed)
    size = len(ALPHABET)
    common = random.normal(0.0, 1.5, (size + 1, size))  # the last row is for the first letter
    tables = np.exp(common + difference * random.normal(0.0, 1.0, (classes, size + 1, size)))
    tables /= tables.sum(-1, keepdims=True)
    ends = np.exp(random.normal(0.0, 1.0, size) + difference * random.normal(size=(classes, size)))
    stops = np.minimum(0.25 * ends, 0.8)
    names, labels = [], []
    for _ in range(rows):
        label = int(random.integers(classes))
        name: list[int] = []
        while len(name) < LONGEST:
            name.append(int(random.choice(size, p=tables[label, name[-1] if name else size])))
            if len(name) >= SHORTEST and random.random() < stops[label, name[-1]]:
                break
        names.append("".join(ALPHABET[letter] for letter in name))
        labels.append(f"class {label}")
    return names, labels


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

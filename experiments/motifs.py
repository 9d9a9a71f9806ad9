"""Sequences whose class depends on a motif at a fixed place, as splice junctions in DNA have it.

A third of the sequences have the donor motif in the middle, a third the acceptor motif; the others
have either of them somewhere else, so that what occurs says little and where it occurs says all.
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

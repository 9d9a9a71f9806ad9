"""Made-up names whose class shows in their letters only on average, as origins or genders do.

Each class draws the next letter by its own table, which differs little from that of the others, and
has its own habits of how a name ends. No small automaton tells the classes apart.
"""

from __future__ import annotations

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SHORTEST, LONGEST = 3, 11


def overlapping_names(
    rows: int, *, classes: int = 2, difference: float = 0.55, seed: int = 0
) -> tuple[list[str], list[str]]:
    """Names and their classes; `difference` is how far the classes' tables are apart."""
    random = np.random.default_rng(seed)
    size = len(LETTERS)
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
        names.append("".join(LETTERS[letter] for letter in name))
        labels.append(f"class {label}")
    return names, labels

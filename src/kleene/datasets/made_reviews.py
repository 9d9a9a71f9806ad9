"""Short reviews made from templates, with labels: something to try the text commands on.

Made up, not collected: the label follows from the clauses, among which there are negations
(`not dull`) and reviews with a clause of the other kind before the one that decides.
"""

from __future__ import annotations

import numpy as np

THINGS = ("story", "plot", "music", "cast", "dialogue", "ending", "camera", "pace", "humour")
GOOD = ("wonderful", "moving", "clever", "warm", "gripping", "funny", "brilliant", "charming")
BAD = ("dull", "clumsy", "boring", "flat", "awful", "predictable", "tedious", "lifeless")
VERBS = ("was", "is", "felt", "seemed")
DEGREES = ("", "", "really ", "quite ", "rather ", "truly ")
OPENINGS = ("", "", "I saw it twice. ", "We went on a rainy Sunday. ", "A friend insisted. ")
NEGATED = 0.2  # of the clauses
MIXED = 0.3  # of the reviews


def made_reviews(number: int = 500, seed: int = 0) -> tuple[list[str], list[str]]:
    """Reviews and their labels, `positive` or `negative`, about as many of each."""
    random = np.random.default_rng(seed)
    labels = [("positive", "negative")[i] for i in random.integers(0, 2, number)]
    return [_review(label == "positive", random) for label in labels], labels


def _review(good: bool, random: np.random.Generator) -> str:
    opening = str(random.choice(OPENINGS))
    first, second, third = (str(thing) for thing in random.choice(THINGS, 3, replace=False))
    deciding = f"{_clause(second, good, random)} and the {_clause(third, good, random)}."
    if random.random() < MIXED:
        return f"{opening}The {_clause(first, not good, random)}, but the {deciding}"
    return f"{opening}The {_clause(first, good, random)}, the {deciding}"


def _clause(thing: str, good: bool, random: np.random.Generator) -> str:
    verb = random.choice(VERBS)
    if random.random() < NEGATED:
        return f"{thing} {verb} not {random.choice(BAD if good else GOOD)}"
    return f"{thing} {verb} {random.choice(DEGREES)}{random.choice(GOOD if good else BAD)}"

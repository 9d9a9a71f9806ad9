"""Made-up data to try the commands on; results on it say nothing about real data.

Reviews are made from templates. The label follows from the clauses; there are negations
(`not dull`), and reviews with a clause of the other kind before the one that decides. Orders are an
event table, one event a row.
"""

from __future__ import annotations

import random as standard_random
from collections.abc import Iterator

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


ORDERS_HEADER = ("case", "event", "time", "label")


def made_orders(count: int = 500, seed: int = 0) -> Iterator[tuple[str, str, str, str]]:
    """Rows of case, event, time and label: `complained` or `content`.

    A customer complains if the order was delayed or damaged and not refunded.
    """
    draw = standard_random.Random(seed)
    for case in range(1, count + 1):
        events = ["placed", draw.choice(("paid by card", "paid by invoice"))]
        late, damaged = draw.random() < 0.35, draw.random() < 0.25
        events += ["reminded"] * draw.randrange(3) + (["delayed"] if late else [])
        events += ["packed", "shipped"] + (["damaged"] if damaged else ["delivered"])
        refunded = (late or damaged) and draw.random() < 0.5
        events += ["refunded"] if refunded else []
        label = "complained" if (late or damaged) and not refunded else "content"
        day, hour = divmod(case * 7, 24)
        for minute, event in enumerate(events):
            time = f"2024-{1 + day // 28 % 12:02}-{1 + day % 28:02}T{hour:02}:{minute:02}:00"
            yield f"order-{case}", event, time, label

"""A made-up log of orders, one event a row, to try event tables with.

No result on it says anything about real processes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

HEADER = ("case", "event", "time", "label")


def made_orders(count: int = 500, seed: int = 0) -> Iterator[tuple[str, str, str, str]]:
    """Rows of case, event, time and label: `complained` or `content`.

    A customer complains if the order was delayed or damaged and not refunded.
    """
    draw = random.Random(seed)
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

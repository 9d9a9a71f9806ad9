"""What a report says of networks whose answer is a sum over all steps, `pooling="states"`.

The state after the last symbol does not decide their class, so no automaton's last state is
compared with it. What can be checked is whether the states alone carry the answer: whether it stays
the same when every step takes its nearest state instead of a mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kleene.evaluation.metrics import logits
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.mode import HARD

SUMMED = (
    "The answer is a sum of weights: each state has one per class, and the mean and the maximum of "
    "its probability over all steps are multiplied by it. The state at the end does not decide, so "
    "no automaton is compared with the network; the shares of all symbols add up to the logits."
)


def summed_answers(model: Model, words: Sequence[Word]) -> dict[str, Any]:
    """The entries of `trust`, and how many answers stay with each step in its nearest state."""
    same, total = nearest_states(model, words), len(words)
    kept = (
        f"With every step in its nearest state instead of a mixture of states, {same:,} of "
        f"{total:,} examples keep their answer."
    )
    return {
        "faithful": False,
        "proved": False,
        "summed": SUMMED,
        "nearest": {"same": same, "total": total, "text": kept} if total else None,
    }


def nearest_states(model: Model, words: Sequence[Word]) -> int:
    """How many words keep their class where every step takes its nearest centroid."""
    if not words:
        return 0
    encoded = model.alphabet.encode_many(words)
    soft = logits(model.network, encoded).argmax(-1)
    hard = logits(model.network, encoded, mode=HARD).argmax(-1)
    return int((soft == hard).sum())

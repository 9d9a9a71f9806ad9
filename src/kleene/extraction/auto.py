"""The cheapest reading that is faithful, refined where the first one is not.

In order: split the ambiguous states by their mixtures, sharpen the network by a short fine-tune,
fall back on L*. Every step is reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kleene.extraction.checks.check import check
from kleene.extraction.checks.fidelity import draw_checks, run_ids
from kleene.extraction.context import ExtractionContext, Reading
from kleene.extraction.methods import METHODS, default_method, has_states, reading_from_counts
from kleene.extraction.oracle import Oracle
from kleene.extraction.result import Extraction
from kleene.extraction.sharpen import sharpen
from kleene.extraction.split import split_states
from kleene.extraction.target import MOST_SYMBOLS
from kleene.extraction.transitions.counts import count_transitions
from kleene.machine import Label

_WRONG = 20  # words that a reading got wrong, to look at when splitting its states


def read_auto(
    context: ExtractionContext, words: Sequence[Any] | None, labels: Sequence[Label] | None
) -> Extraction:
    """Try one way after the other until one is faithful; otherwise the most faithful one."""
    steps, tried = [context.note], []
    for extraction in _attempts(context, words, labels, steps):
        tried.append(extraction)
        steps += extraction.steps
        if extraction.faithful:
            steps.append(f"{extraction.method} is faithful")
            break
        steps.append(f"{extraction.method} is not faithful: {extraction.doubt()}")
    own = [one for one in tried if one.faithful or one.model is context.model]
    best = max(own, key=lambda one: (one.faithful, one.fidelity.overall))
    if not best.faithful:
        steps.append(f"nothing was faithful; kept {best.method}, the most faithful")
    return replace(best, steps=tuple(steps))


def _attempts(
    context: ExtractionContext,
    words: Sequence[Any] | None,
    labels: Sequence[Label] | None,
    steps: list[str],
) -> Iterator[Extraction]:
    first = METHODS[default_method(context.model)](context)
    yield check(context, first)
    if (split := _split(context, first)) is not None:
        yield check(context, split)
    if labels is not None and words is not None and has_states(context.model):
        sharper = sharpen(context.model, words, labels, seed=context.seed)
        if sharper is None:
            steps.append("sharpened a copy of the network, which cost accuracy: put aside")
        else:
            steps.append("sharpened a copy of the network by a short fine-tune with noise")
            again = replace(context, model=sharper, oracle=Oracle.of(sharper))
            yield check(again, METHODS[default_method(sharper)](again))
    symbols = len(context.model.alphabet.symbols)
    if symbols > MOST_SYMBOLS:
        steps.append(f"L* was not tried: {symbols:,} symbols are too many for it")
        return
    steps.append("fell back on L*")
    yield check(context, METHODS["lstar"](context))


def _split(context: ExtractionContext, reading: Reading) -> Reading | None:
    """The reading with its ambiguous states split, given the words that went wrong."""
    if reading.paths is None:
        return None
    model, dfa = context.model, reading.raw.minimize()
    drawn = draw_checks(model, dfa, context.words, context.seed)
    wrong = np.flatnonzero(context.oracle(drawn) != run_ids(model, dfa, drawn))
    wrong_words = sorted((drawn[i] for i in wrong.tolist()), key=len)[:_WRONG]
    paths, message = split_states(model, reading.paths, wrong_words)
    if paths.num_states == reading.paths.num_states:
        return None
    return reading_from_counts("split", context, count_transitions(paths), (message,))

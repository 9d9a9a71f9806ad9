"""The cheapest faithful extraction: the default method of the network, then active learning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kleene.extraction.checks.check import check
from kleene.extraction.context import ExtractionContext
from kleene.extraction.methods import METHODS, default_method
from kleene.extraction.result import Extraction
from kleene.extraction.target import MAX_SYMBOLS


def extract_auto(context: ExtractionContext) -> Extraction:
    """The first faithful extraction, or else the most faithful one; `steps` tell which."""
    steps, tried = [context.note], []
    for extraction in _attempts(context, steps):
        tried.append(extraction)
        steps += extraction.steps
        if extraction.faithful:
            steps.append(f"{extraction.method} is faithful")
            break
        steps.append(f"{extraction.method} is not faithful: {extraction.doubt()}")
    best = max(tried, key=lambda one: (one.faithful, one.fidelity.overall))
    if not best.faithful:
        steps.append(f"nothing was faithful; kept {best.method}, the most faithful")
    return replace(best, steps=tuple(steps))


def _attempts(context: ExtractionContext, steps: list[str]) -> Iterator[Extraction]:
    yield check(context, METHODS[default_method(context.model)](context))
    symbols = len(context.model.alphabet.symbols)
    if symbols > MAX_SYMBOLS:
        steps.append(f"L* was not tried: {symbols:,} symbols are too many for it")
        return
    steps.append("fell back on L*")
    yield check(context, METHODS["lstar"](context))

"""Put a reading to the test: fidelity, ambiguities, and a word on which it is wrong."""

from __future__ import annotations

from dataclasses import replace

from kleene.extraction.checks.ambiguity import find_ambiguities
from kleene.extraction.checks.disagreement import search
from kleene.extraction.checks.fidelity import compare, draw_checks, run_ids
from kleene.extraction.context import ExtractionContext, Reading
from kleene.extraction.result import Extraction
from kleene.extraction.words import encode_words


def check(context: ExtractionContext, reading: Reading) -> Extraction:
    """The reading with all that says how far to trust it; its time is not filled in yet."""
    model, oracle, dfa = context.model, context.oracle, reading.raw.minimize()
    prefixes = context.prefixes
    drawn = draw_checks(model, dfa, context.words, context.seed)
    agreement = replace(
        compare(model, dfa, oracle, context.given, drawn), given_is_random=context.is_random
    )
    paths = reading.paths
    ambiguities = () if paths is None else find_ambiguities(model, paths, reading.raw)
    found = search(
        model, dfa, oracle, [*context.words, *drawn], prefixes=prefixes, ambiguities=ambiguities
    )
    answers = None
    if found.word is not None:
        ids = encode_words(model, [found.word])
        ways = int(oracle(ids)[0]), int(run_ids(model, dfa, ids)[0])
        answers = (model.classes[ways[0]], model.classes[ways[1]])
    return Extraction(
        dfa=dfa,
        raw=reading.raw,
        pfa=reading.pfa,
        states_in_use=reading.raw.num_states if paths is None else paths.num_states,
        fidelity=agreement,
        ambiguities=ambiguities,
        disagreement=found.word,
        answers=answers,
        exhaustive=found.exhaustive,
        unseen=reading.unseen,
        method=reading.method,
        steps=reading.steps,
        queries=oracle.queries + len(context.words),
        seconds=0.0,
        model=model,
    )

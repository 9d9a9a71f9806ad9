"""Check an automaton against its network: fidelity, ambiguities, and a disagreement."""

from __future__ import annotations

from dataclasses import replace

from kleene.automata import DFA
from kleene.extraction.checks.ambiguity import find_ambiguities
from kleene.extraction.checks.disagreement import Disagreement, search
from kleene.extraction.checks.fidelity import draw_checks, measure_fidelity, run_ids
from kleene.extraction.context import ExtractionContext, RawExtraction
from kleene.extraction.result import Extraction
from kleene.extraction.target import Oracle, Target
from kleene.extraction.words import encode_words
from kleene.machine import Label


def check(context: ExtractionContext, found: RawExtraction) -> Extraction:
    """The automaton with all that says how far to trust it."""
    model, oracle, dfa = context.model, context.oracle, found.raw.minimize()
    prefixes = context.prefixes
    drawn = draw_checks(model, dfa, context.words, context.seed)
    fidelity = measure_fidelity(model, dfa, oracle, context.given, drawn)
    if context.is_random:
        fidelity = replace(fidelity, kinds=("random words", fidelity.kinds[1]))
    paths = found.paths
    ambiguities = () if paths is None else find_ambiguities(model, paths, found.raw)
    difference = search(
        model, dfa, oracle, [*context.words, *drawn], prefixes=prefixes, ambiguities=ambiguities
    )
    return Extraction(
        dfa=dfa,
        raw=found.raw,
        pfa=found.pfa,
        states_in_use=found.raw.num_states if paths is None else paths.num_states,
        fidelity=fidelity,
        ambiguities=ambiguities,
        disagreement=difference.word,
        answers=answers(model, dfa, oracle, difference),
        exhaustive=difference.exhaustive,
        unseen=found.unseen,
        front=found.front,
        method=found.method,
        steps=found.steps,
        queries=oracle.queries + len(context.words),
        model=model,
    )


def answers(
    target: Target, dfa: DFA, oracle: Oracle, found: Disagreement
) -> tuple[Label, Label] | None:
    """The labels of the network and of the automaton on a word that tells them apart."""
    if found.word is None:
        return None
    ids = encode_words(target, [found.word])
    network, automaton = int(oracle(ids)[0]), int(run_ids(target, dfa, ids)[0])
    return target.classes[network], target.classes[automaton]

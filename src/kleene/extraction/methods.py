"""The methods of extraction from a Kleene model, by name, and the check of what they find."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kleene.automata import DFA, PFA
from kleene.data.alphabet import Ids
from kleene.errors import ExtractionError
from kleene.extraction.ambiguity import find_ambiguities
from kleene.extraction.counts import (
    TransitionCounts,
    count_transitions,
    max_mean_transitions,
    to_dfa,
    to_pfa,
)
from kleene.extraction.disagreement import search
from kleene.extraction.fidelity import draw_checks, measure_fidelity
from kleene.extraction.front import Front
from kleene.extraction.lstar import FrontSearch
from kleene.extraction.result import Extraction
from kleene.extraction.words import (
    EMPTY_WORD,
    MAX_SYMBOLS,
    Oracle,
    all_words,
    constant_dfa,
    encode_words,
    random_words,
    usual_length,
)
from kleene.machine import Symbol
from kleene.model import Model
from kleene.passes.prefixes import Prefixes, StatePaths, follow, read_prefixes
from kleene.passes.table import MAX_PROBABILITIES, NetworkTable, transition_table

MAX_STEPS = 300_000
"""Symbols of given words to look at."""
SHORT_WORDS, RANDOM_WORDS = 300, 500  # words to draw if none are given
MAX_QUERIES = 200_000  # words that active learning asks about


@dataclass(frozen=True, kw_only=True, eq=False)
class ExtractionContext:
    """The input of every method: the model, the words to look at, and the pass over them."""

    model: Model
    given: Sequence[Ids]
    """The words to look at, as the user gave them, or as they were drawn."""
    is_random: bool = False
    """Whether the words were drawn, because none were given."""
    note: str
    """Where the words come from."""
    seed: int
    seconds: float = 10.0
    """Time limit of active learning."""

    @cached_property
    def words(self) -> list[Ids]:
        """The same words, the empty word first."""
        return [EMPTY_WORD, *(word for word in self.given if len(word))]

    @cached_property
    def oracle(self) -> Oracle:
        """The soft network, which is asked about each word once."""
        return Oracle.of(self.model)

    @cached_property
    def prefixes(self) -> Prefixes:
        """One pass of the network over the words; the oracle remembers its answers."""
        prefixes = read_prefixes(self.model, self.words)
        self.oracle.learn(self.words, prefixes.labels[prefixes.ends])
        return prefixes

    @cached_property
    def paths(self) -> StatePaths | None:
        """The most probable states along the words; None for a network without centroids."""
        return follow(self.prefixes) if has_states(self.model) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class RawExtraction:
    """The automaton of a method, before any check."""

    method: str
    raw: DFA
    pfa: PFA | None = None
    paths: StatePaths | None = None
    """The paths through the states of the automaton, if the method has them."""
    unseen: tuple[tuple[str, Symbol], ...] = ()
    front: Front | None = None
    """Size against error, if the method proposes several automata."""
    steps: tuple[str, ...] = ()


def open_context(
    model: Model, words: Iterable[Any] | None, *, seed: int, seconds: float
) -> ExtractionContext:
    """Encode the words, or draw some; sample them if they are too many."""
    random = np.random.default_rng(seed)
    encoded = encode_words(model, () if words is None else words)
    if encoded:
        given, note = _sample(encoded, random)
    else:
        symbols = len(model.alphabet.symbols)
        longest = usual_length(model)
        short, length = all_words(symbols, SHORT_WORDS)
        given = [*short, *random_words(random, symbols, RANDOM_WORDS, longest)]
        note = f"drew {len(given):,} words: all up to length {length}, random ones to {longest}"
    return ExtractionContext(
        model=model, given=given, is_random=not encoded, note=note, seed=seed, seconds=seconds
    )


def _sample(words: list[Ids], random: np.random.Generator) -> tuple[list[Ids], str]:
    """Random words with at most `MAX_STEPS` symbols together."""
    lengths = np.array([len(word) + 1 for word in words])
    if lengths.sum() <= MAX_STEPS:
        return words, f"looked at all {len(words):,} words"
    order = random.permutation(len(words))
    kept = np.sort(order[: max(1, int((np.cumsum(lengths[order]) <= MAX_STEPS).sum()))])
    note = f"looked at {len(kept):,} of {len(words):,} words, {lengths[kept].sum():,} steps"
    return [words[i] for i in kept], note


# -- the methods --------------------------------------------------------------------------------


def by_table(context: ExtractionContext) -> RawExtraction:
    """The network's own table: one hard step from every state on every symbol."""
    table = transition_table(context.model)
    message = f"read the table of {len(table.states)} states"
    return RawExtraction(
        method="table", raw=table.dfa, pfa=_table_pfa(table), paths=context.paths, steps=(message,)
    )


def by_counts(context: ExtractionContext) -> RawExtraction:
    """The most frequent successor along the words: Algorithm 1."""
    return _from_counts("counts", context, count_transitions)


def by_mean(context: ExtractionContext) -> RawExtraction:
    """The successor of highest mean transition probability."""
    return _from_counts("mean", context, max_mean_transitions)


def _from_counts(
    method: str, context: ExtractionContext, count: Callable[[StatePaths], TransitionCounts]
) -> RawExtraction:
    model, paths = context.model, context.paths
    if paths is None:
        raise ExtractionError(
            "this network has no centroids, so its traces have no states to count; "
            "use the method lstar"
        )
    counts = count(paths)
    raw, unseen = to_dfa(model, counts)
    message = f"{method}: {paths.num_states} states along {len(context.words):,} words"
    if unseen:
        message += f"; {len(unseen)} pairs of state and symbol were never seen and lead to a sink"
    return RawExtraction(
        method=method,
        raw=raw,
        pfa=to_pfa(model, counts),
        paths=paths,
        unseen=unseen,
        steps=(message,),
    )


def by_lstar(context: ExtractionContext) -> RawExtraction:
    """Active learning with the network as teacher.

    If the learner stops at a limit, the answer is the smallest automaton of its front within one
    standard error of the best.
    """
    model, given = context.model, context.given
    search = FrontSearch(
        model, context.oracle, given, seed=context.seed, longest=usual_length(model, given)
    )
    dfa = search.learn_actively(context.seconds, MAX_QUERIES)
    return RawExtraction(
        method="lstar",
        raw=search.front.knee().dfa if dfa is None else dfa,
        front=search.front,
        steps=tuple(search.steps),
    )


def _by_most_common_label(context: ExtractionContext) -> RawExtraction:
    """The automaton of one state: all that there is for many symbols and no states."""
    common = context.model.classes[int(np.bincount(context.oracle(context.words)).argmax())]
    raw = constant_dfa(context.model.alphabet.symbols, common)
    return RawExtraction(method="constant", raw=raw, steps=(f"always answers {common!r}",))


METHODS: dict[str, Callable[[ExtractionContext], RawExtraction]] = {
    "table": by_table,
    "counts": by_counts,
    "mean": by_mean,
    "lstar": by_lstar,
}


def has_states(model: Model) -> bool:
    """Whether the network has centroids that extraction can read."""
    return model.readable_by in ("table", "counts")


def _table_pfa(table: NetworkTable) -> PFA | None:
    """The table with the top layer's probabilities; lower layers take hard steps.

    The probability of centroids that the table never reaches is shared among the others. None if
    there are too many probabilities to keep.
    """
    dfa, states = table.dfa, np.array(table.states)
    if table.probs is None or len(states) * dfa.transitions.size > MAX_PROBABILITIES:
        return None
    below = states[dfa.transitions, :-1]  # (state, symbol, lower layer), of the next state
    fits = (below[:, :, None] == states[:, :-1]).all(axis=-1)  # (state, symbol, state)
    probs = np.where(fits, table.probs[:, :, states[:, -1]], 0).astype(np.float64)
    start = np.where(
        (states[0, :-1] == states[:, :-1]).all(axis=-1), table.start_probs[states[:, -1]], 0
    ).astype(np.float64)
    return PFA(
        alphabet=dfa.alphabet,
        transitions=probs / probs.sum(axis=-1, keepdims=True),
        initial=start / start.sum(),
        outputs=dfa.outputs,
    )


# -- checks and the choice ----------------------------------------------------------------------


def check(context: ExtractionContext, found: RawExtraction) -> Extraction:
    """The automaton with all that says how far to trust it."""
    model, oracle, dfa = context.model, context.oracle, found.raw.minimize()
    prefixes, paths = context.prefixes, found.paths
    drawn = draw_checks(model, dfa, context.words, context.seed)
    fidelity = measure_fidelity(model, dfa, oracle, context.given, drawn)
    if context.is_random:
        fidelity = replace(fidelity, kinds=("random words", fidelity.kinds[1]))
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
        answers=difference.answers,
        exhaustive=difference.exhaustive,
        unseen=found.unseen,
        front=found.front,
        method=found.method,
        steps=found.steps,
        queries=oracle.queries + len(context.words),
        model=model,
    )


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
    """The cheapest method that fits the network, then active learning."""
    model, symbols = context.model, len(context.model.alphabet.symbols)
    if has_states(model):
        yield check(context, METHODS[str(model.readable_by)](context))
    if symbols > MAX_SYMBOLS:
        steps.append(f"L* was not tried: {symbols:,} symbols are too many for it")
        if not has_states(model):
            yield check(context, _by_most_common_label(context))
        return
    if has_states(model):
        steps.append("fell back on L*")
    yield check(context, by_lstar(context))

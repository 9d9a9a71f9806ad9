"""One extraction in progress: the model, the words to look at, and the passes made so far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kleene.automata import DFA, PFA
from kleene.data.alphabet import Ids
from kleene.extraction.front import Front
from kleene.extraction.target import Oracle
from kleene.extraction.transitions.partition import Argmax, StatePaths, follow
from kleene.extraction.transitions.prefixes import Prefixes, read_prefixes
from kleene.extraction.words import all_words, encode_words, random_words, usual_length
from kleene.machine import Symbol
from kleene.model import Model

MAX_STEPS = 100_000
"""Symbols of given words to look at."""
SHORT_WORDS, RANDOM_WORDS = 300, 500  # words to draw if none are given


@dataclass(frozen=True, kw_only=True, eq=False)
class ExtractionContext:
    """The input of every method."""

    model: Model
    words: Sequence[Ids]
    """The words to look at, the empty word first."""
    given: Sequence[Ids]
    """The same words without that addition: as the user gave them, or as they were drawn."""
    is_random: bool = False
    """Whether the words were drawn, because none were given."""
    note: str
    """Where the words come from."""
    seed: int
    oracle: Oracle
    centres: int | None = None
    """Number of centres of k-means; None finds a number."""
    seconds: float = 10.0
    """Time limit of active learning."""
    max_queries: int = 200_000
    """Maximum number of words that active learning asks about."""

    @cached_property
    def prefixes(self) -> Prefixes:
        """One pass of the network over the words; the oracle remembers its answers."""
        prefixes = read_prefixes(self.model, self.words)
        self.oracle.learn(self.words, prefixes.labels[prefixes.ends])
        return prefixes

    @cached_property
    def paths(self) -> StatePaths:
        """The most probable states along the words."""
        return follow(self.prefixes, Argmax(self.prefixes.sizes))


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
    model: Model,
    words: Iterable[Any] | None,
    *,
    seed: int,
    seconds: float = 10.0,
    max_queries: int = 200_000,
    centres: int | None = None,
) -> ExtractionContext:
    """Encode the words, or draw some; sample them if they are too many."""
    random = np.random.default_rng(seed)
    given = encode_words(model, () if words is None else words)
    if given:
        chosen, note = _sample(given, random)
    else:
        symbols = len(model.alphabet.symbols)
        longest = usual_length(model)
        short, length = all_words(symbols, SHORT_WORDS)
        chosen = [*short, *random_words(random, symbols, RANDOM_WORDS, longest)]
        note = f"drew {len(chosen):,} words: all up to length {length}, random ones to {longest}"
    context = make_context(model, chosen, note=note, seed=seed)
    return replace(
        context, is_random=not given, centres=centres, seconds=seconds, max_queries=max_queries
    )


def make_context(model: Model, words: Iterable[Ids], *, note: str, seed: int) -> ExtractionContext:
    """A context of encoded words."""
    empty, given = np.zeros(0, np.int64), list(words)
    return ExtractionContext(
        model=model,
        words=[empty, *(word for word in given if len(word))],
        given=given,
        note=note,
        seed=seed,
        oracle=Oracle.of(model),
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

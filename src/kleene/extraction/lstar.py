"""Active learning: AALpy asks the network about words until its automaton agrees with it.

Kearns and Vazirani's discrimination tree, the economical form of Angluin's L*, for two classes and
for more (a Moore machine). Membership queries come in batches and are never put twice; an
equivalence query is a search for a word on which the two differ. Bounded by words and by time: when
a bound is reached, the last automaton that was complete is the answer, and the note says so.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from aalpy.base import SUL
from aalpy.base import Oracle as AalpyOracle
from aalpy.learning_algs import run_KV

from kleene.automata import DFA
from kleene.data.alphabet import Ids
from kleene.errors import ReadingError
from kleene.extraction.context import MOST_SYMBOLS, ExtractionContext
from kleene.extraction.disagreement import search
from kleene.extraction.fidelity import draw_checks
from kleene.extraction.words import all_words, encode_words
from kleene.machine import Label, Symbol

_AHEAD = 7  # words by which an unknown word is extended, since those are asked for next
_FRESH = 4  # sets of words drawn for each equivalence query


class _Spent(Exception):  # noqa: N818 - a signal, not an error
    """A bound is reached in the middle of a round."""


def learn(context: ExtractionContext) -> tuple[DFA, str]:
    """The automaton that the learner ends with, and what it did in words."""
    symbols = context.model.alphabet.symbols
    if len(symbols) > MOST_SYMBOLS:
        raise ReadingError(
            f"the alphabet has {len(symbols):,} symbols, and L* asks about each in every state; "
            f"it is for at most {MOST_SYMBOLS}: use the method counts or mean"
        )
    network = _Network(context)
    equivalence = _Equivalence(context, network)
    # Truth values make a Dfa; any other labels, a Moore machine.
    kind = "dfa" if all(isinstance(label, bool) for label in context.model.classes) else "moore"
    note = "no difference found"
    try:
        run_KV(
            list(symbols),
            network,
            equivalence,
            automaton_type=kind,
            cache_and_non_det_check=False,
            print_level=0,
        )
    except _Spent:
        equivalence.stopped = True
    if equivalence.stopped:
        note = "stopped at the bound on words or time, so the automaton may be wrong"
    message = (
        f"L*: {equivalence.rounds} automata proposed, {context.oracle.queries:,} words run; {note}"
    )
    return equivalence.last, message


class _Network(SUL):  # type: ignore[misc]
    """The network as AALpy's system under learning."""

    def __init__(self, context: ExtractionContext) -> None:
        super().__init__()
        self._context = context
        self._most = context.oracle.queries + context.max_queries
        self._deadline = time.monotonic() + context.seconds
        self._ahead = all_words(len(context.model.alphabet.symbols), _AHEAD)[0]
        self._asked: set[tuple[Symbol, ...]] = set()

    def query(self, word: tuple[Symbol, ...]) -> list[Label]:
        """The labels of the prefixes of a word, the empty one only for the empty word."""
        context = self._context
        ids = encode_words(context.model, [word])[0]
        prefixes = [ids[: t + 1] for t in range(len(ids))] or [ids]
        if word not in self._asked:
            if self.spent():
                raise _Spent
            context.oracle([*prefixes, *(np.concatenate([ids, more]) for more in self._ahead)])
            self._asked.add(word)
            self.num_queries += 1
        return [context.model.classes[i] for i in context.oracle(prefixes)]

    def spent(self) -> bool:
        """Whether a bound is reached."""
        return self._context.oracle.queries >= self._most or time.monotonic() > self._deadline

    def pre(self) -> None:
        """Nothing to prepare: `query` answers for whole words."""

    def post(self) -> None:
        """Nothing to clean up."""

    def step(self, letter: Any) -> Any:
        """Never called, since `query` is complete."""
        raise NotImplementedError


class _Equivalence(AalpyOracle):  # type: ignore[misc]
    """Looks for a word on which the network and a proposed automaton differ."""

    def __init__(self, context: ExtractionContext, network: _Network) -> None:
        super().__init__(list(context.model.alphabet.symbols), network)
        self._context = context
        self.rounds = 0
        self.stopped = False
        first = context.model.classes[int(context.oracle([np.zeros(0, np.int64)])[0])]
        width = len(context.model.alphabet.symbols)
        self.last = DFA(
            alphabet=context.model.alphabet.symbols,
            transitions=np.zeros((1, width), dtype=np.int32),
            outputs=(first,),
        )

    def find_cex(self, hypothesis: Any) -> tuple[Symbol, ...] | None:
        """A word that tells them apart, as short as it was found, or None."""
        context = self._context
        self.last = DFA.from_aalpy(hypothesis)
        self.rounds += 1
        if self.sul.spent():
            self.stopped = True
            return None
        found = search(
            context.model,
            self.last,
            context.oracle,
            self._candidates(),
            prefixes=context.prefixes,
            spent=self.sul.spent,
        )
        if found.word is None:
            self.stopped = self.sul.spent()
            return None
        return tuple(found.word)

    def _candidates(self) -> list[Ids]:
        """The given words, and words drawn from the proposed automaton."""
        context = self._context
        seeds = [context.seed + self.rounds * _FRESH + i for i in range(_FRESH)]
        drawn = (draw_checks(context.model, self.last, context.words, seed) for seed in seeds)
        return [*context.words, *(word for words in drawn for word in words)]

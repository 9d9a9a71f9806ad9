"""Active learning: AALpy asks the network about words until its automaton agrees with it.

Kearns and Vazirani's discrimination tree, the economical form of Angluin's L*, for two classes and
for more (a Moore machine). Membership queries come in batches and are never repeated; an
equivalence query is a search for a word on which the two differ. When the limit on words or time is
reached, the answer is the last complete automaton, and the message says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.errors import ExtractionError, extra
from kleene.extraction.target import MAX_SYMBOLS, Oracle, Target
from kleene.extraction.words import all_words, constant_dfa, encode_words
from kleene.machine import Label, Symbol, Word

FindDifference = Callable[[DFA], Word | None]
"""An equivalence query: a word that the network and a proposed automaton label differently."""

LOOKAHEAD = 7  # extensions asked about with each new word, because the learner needs them next


class _SpentError(Exception):
    """A limit is reached in the middle of a round."""


class QueryBudget:
    """Limits on the number of queries and on their time."""

    def __init__(self, oracle: Oracle, *, seconds: float, max_queries: int) -> None:
        self.oracle = oracle
        self._deadline = time.monotonic() + seconds
        self._max = oracle.queries + max_queries

    def spent(self) -> bool:
        """Whether a limit is reached."""
        return self.oracle.queries >= self._max or time.monotonic() > self._deadline


def learn(
    target: Target, budget: QueryBudget, find_difference: FindDifference
) -> tuple[DFA, bool, str]:
    """The last automaton, whether no difference was found, and a message."""
    symbols = target.alphabet.symbols
    if len(symbols) > MAX_SYMBOLS:
        raise ExtractionError(
            f"the alphabet has {len(symbols):,} symbols, and L* asks about each in every state; "
            f"the maximum is {MAX_SYMBOLS}: use the method counts or mean"
        )
    with extra("peers"):
        from aalpy.learning_algs import run_KV
    network = _Network(target, budget)
    equivalence = _Equivalence(target, network, find_difference)
    # Truth values make a Dfa; any other labels, a Moore machine.
    kind = "dfa" if all(isinstance(label, bool) for label in target.classes) else "moore"
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
    except _SpentError:
        equivalence.stopped = True
    if equivalence.stopped:
        note = "stopped at the limit on words or time, so the automaton may be wrong"
    done = f"{equivalence.rounds} automata proposed, {budget.oracle.queries:,} words run"
    return equivalence.last, not equivalence.stopped, f"L*: {done}; {note}"


class _Network:
    """The network as AALpy's system under learning, of which AALpy calls `query` alone."""

    num_queries = num_steps = num_cached_queries = 0

    def __init__(self, target: Target, budget: QueryBudget) -> None:
        self.target, self.budget = target, budget
        self._ahead = all_words(len(target.alphabet.symbols), LOOKAHEAD)[0]
        self._asked: set[tuple[Symbol, ...]] = set()

    def query(self, word: tuple[Symbol, ...]) -> list[Label]:
        """The labels of the prefixes of a word, the empty one only for the empty word."""
        oracle = self.budget.oracle
        ids = encode_words(self.target, [word])[0]
        prefixes = [ids[: t + 1] for t in range(len(ids))] or [ids]
        if word not in self._asked:
            if self.budget.spent():
                raise _SpentError
            oracle([*prefixes, *(np.concatenate([ids, more]) for more in self._ahead)])
            self._asked.add(word)
            self.num_queries += 1
        return [self.target.classes[i] for i in oracle(prefixes)]


class _Equivalence:
    """AALpy's equivalence oracle: looks for a word on which network and automaton differ."""

    num_queries = num_steps = 0

    def __init__(
        self,
        target: Target,
        network: _Network,
        find_difference: FindDifference,
    ) -> None:
        symbols = target.alphabet.symbols
        self.sul = network
        self._find = find_difference
        self.rounds = 0
        self.stopped = False
        first = int(network.budget.oracle([np.zeros(0, np.int64)])[0])
        self.last = constant_dfa(symbols, target.classes[first])

    def find_cex(self, hypothesis: Any) -> tuple[Symbol, ...] | None:
        """A word that tells them apart, as short as it was found, or None."""
        self.last = DFA.from_aalpy(hypothesis)
        self.rounds += 1
        spent = self.sul.budget.spent
        word = None if spent() else self._find(self.last)
        self.stopped = word is None and spent()
        return None if word is None else tuple(word)

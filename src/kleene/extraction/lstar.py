"""Active learning: AALpy asks any network about words until its automaton agrees with it.

Kearns and Vazirani's discrimination tree, the economical form of Angluin's L*, for two classes and
for more (a Moore machine). Membership queries come in batches and are never repeated; an
equivalence query is a search for a word on which the two differ. When the limit on words or time is
reached, the answer is the last complete automaton, and the message says so.

Equivalence queries use the given words, their edits and prefixes, and random words: a noisy network
does arbitrary things on words that nobody feeds it, so the words that decide are like the given
ones. (The W-method of `extraction.disagreement` chases such noise.)
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.errors import ExtractionError, extra
from kleene.extraction.fidelity import measure_fidelity, run_ids
from kleene.extraction.front import Front, FrontPoint
from kleene.extraction.words import (
    EMPTY_WORD,
    MAX_SYMBOLS,
    Oracle,
    Target,
    all_words,
    constant_dfa,
    draw_from,
    encode_words,
    random_words,
    spell_ids,
)
from kleene.machine import Label, Symbol

MAX_HELD_OUT = 3_000
RANDOM_WORDS = 2_000
QUERY_WORDS = 1_000  # random words of an equivalence query
DRAWN_WORDS = 400  # words drawn from the automaton, for an equivalence query
MAX_QUERY_SYMBOLS = 80_000  # symbols of the given words in an equivalence query
LOOKAHEAD = 7  # extensions asked about with each new word, because the learner needs them next


class _SpentError(Exception):
    """A limit is reached in the middle of a round."""


class FrontSearch:
    """One search in progress: half of the given words guide it, half measure it.

    To AALpy it is both the system under learning (`query`) and the equivalence oracle (`find_cex`).
    """

    num_queries = num_steps = num_cached_queries = 0  # AALpy reads these

    def __init__(
        self, target: Target, oracle: Oracle, given: Sequence[Ids], *, seed: int, longest: int
    ) -> None:
        random = np.random.default_rng(seed)
        order = random.permutation(len(given))
        half = min(MAX_HELD_OUT, len(given) // 2)
        self.target, self.oracle, self.longest = target, oracle, longest
        self.held_out = [given[i] for i in order[:half]]
        self.given = [given[i] for i in order[half:]]
        self.random = self._random_like(RANDOM_WORDS, random)
        self.front = Front()
        self.steps = [f"{len(self.given):,} given words, {half:,} more held out"]
        self.samples = self._query_words(random)
        self._drawing = np.random.default_rng(seed)
        self._ahead = all_words(len(target.alphabet.symbols), LOOKAHEAD)[0]
        self._asked: set[tuple[Symbol, ...]] = set()

    def propose(self, dfa: DFA, origin: str) -> None:
        """Put an automaton on the front if it belongs there."""
        found = measure_fidelity(self.target, dfa, self.oracle, self.held_out, self.random)
        fidelity = replace(found, kinds=("held-out words", "random words"))
        self.front.add(FrontPoint(dfa=dfa.minimize(), origin=origin, fidelity=fidelity))

    def propose_constant(self) -> None:
        """The automaton of one state."""
        common = int(np.bincount(self.oracle([*self.given, *self.random])).argmax())
        constant = constant_dfa(self.target.alphabet.symbols, self.target.classes[common])
        self.propose(constant, "the most common label")

    def learn_actively(self, seconds: float, max_queries: int) -> DFA | None:
        """Kearns and Vazirani's learner; every automaton that it proposes is a point.

        Returns the last automaton if no difference was found within the limits.
        """
        symbols = self.target.alphabet.symbols
        if len(symbols) > MAX_SYMBOLS:
            raise ExtractionError(
                f"the alphabet has {len(symbols):,} symbols, and L* asks about each in every "
                f"state; the maximum is {MAX_SYMBOLS}: train with states, and use the method "
                "counts or mean"
            )
        with extra("peers"):
            from aalpy.learning_algs import run_KV
        self._deadline = time.monotonic() + seconds
        self._max_queries = self.oracle.queries + max_queries
        first = int(self.oracle([EMPTY_WORD])[0])
        self._last, self._rounds = constant_dfa(symbols, self.target.classes[first]), 0
        self._stopped = False
        # Truth values make a Dfa; any other labels, a Moore machine.
        kind = "dfa" if all(isinstance(label, bool) for label in self.target.classes) else "moore"
        settings = {"automaton_type": kind, "cache_and_non_det_check": False, "print_level": 0}
        try:
            run_KV(list(symbols), self, self, **settings)
        except _SpentError:
            self._stopped = True
        self.propose(self._last, "active learning")
        note = "no difference found"
        if self._stopped:
            note = "stopped at the limit on words or time, so the automaton may be wrong"
        done = f"{self._rounds} automata proposed, {self.oracle.queries:,} words run"
        self.steps.append(f"L*: {done}; {note}")
        return None if self._stopped else self._last

    def query(self, word: tuple[Symbol, ...]) -> list[Label]:
        """The labels of the prefixes of a word, the empty one only for the empty word."""
        ids = encode_words(self.target, [word])[0]
        prefixes = [ids[: t + 1] for t in range(len(ids))] or [ids]
        if word not in self._asked:
            if self._is_spent():
                raise _SpentError
            self.oracle([*prefixes, *(np.concatenate([ids, more]) for more in self._ahead)])
            self._asked.add(word)
        return [self.target.classes[i] for i in self.oracle(prefixes)]

    def find_cex(self, hypothesis: Any) -> tuple[Symbol, ...] | None:
        """The shortest differing word of the first sample that has one.

        The last sample is drawn from the automaton, with as many words of each label as possible:
        random words may all have one label.
        """
        self._last = dfa = DFA.from_aalpy(hypothesis)
        self._rounds += 1
        if not self._is_spent():
            self.propose(dfa, "active learning")
            symbols = self.target.alphabet.symbols
            drawn = draw_from(dfa, self._drawing, DRAWN_WORDS, self.longest, symbols)
            for words in (*self.samples, drawn):
                differ = np.flatnonzero(self.oracle(words) != run_ids(self.target, dfa, words))
                if len(differ):
                    shortest = min((words[i] for i in differ.tolist()), key=len)
                    return tuple(spell_ids(self.target, shortest))
                if self._is_spent():
                    break
        self._stopped = self._is_spent()
        return None

    def _is_spent(self) -> bool:
        return self.oracle.queries >= self._max_queries or time.monotonic() > self._deadline

    def _random_like(self, n: int, random: np.random.Generator) -> list[Ids]:
        """Random symbols in the lengths of the given words, or in all lengths without words."""
        symbols = len(self.target.alphabet.symbols)
        if not self.given:
            return random_words(random, symbols, n, self.longest)
        lengths = random.choice([len(word) for word in self.given], n)
        return [Alphabet.ids(random.integers(0, symbols, length)) for length in lengths]

    def _query_words(self, random: np.random.Generator) -> list[list[Ids]]:
        """Given words, an edit of each, random words, and a prefix of each: most alike first."""
        symbols = len(self.target.alphabet.symbols)
        most = MAX_QUERY_SYMBOLS // max(1, self.longest)
        given = [self.given[i] for i in random.permutation(len(self.given))[:most]]
        edits = [_edited(word, symbols, random) for word in given[: most // 3]]
        prefixes = [word[: random.integers(len(word) + 1)] for word in given[: most // 3]]
        return [given, edits, self._random_like(QUERY_WORDS, random), prefixes]


def _edited(word: Ids, symbols: int, random: np.random.Generator) -> Ids:
    """The word with one symbol replaced, inserted or deleted."""
    at = int(random.integers(len(word) + 1))
    new = Alphabet.ids(random.integers(symbols, size=1))
    kind = int(random.integers(3))
    return np.concatenate([word[:at], new[: kind != 2], word[at + (kind != 1) :]])

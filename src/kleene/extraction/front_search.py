"""A front of automata of any network, by active learning.

Equivalence queries use the given words, their edits and prefixes, and random words: a noisy network
does arbitrary things on words that nobody feeds it, so the words that decide are like the given
ones. (The W-method of `extraction.checks.disagreement` chases such noise.)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.checks.fidelity import run_ids
from kleene.extraction.front import Front, FrontPoint
from kleene.extraction.lstar import QueryBudget, learn
from kleene.extraction.target import Oracle, Target
from kleene.extraction.words import constant_dfa, draw_from, random_words, spell_ids
from kleene.machine import Word

MAX_HELD_OUT = 3_000
RANDOM_WORDS = 2_000
QUERY_WORDS = 1_000  # random words of an equivalence query
DRAWN_WORDS = 400  # words drawn from the automaton, for an equivalence query
MAX_QUERY_SYMBOLS = 80_000  # symbols of the given words in an equivalence query


class FrontSearch:
    """One search in progress: half of the given words guide it, half measure it."""

    def __init__(
        self, target: Target, oracle: Oracle, given: Sequence[Ids], *, seed: int, longest: int
    ) -> None:
        random = np.random.default_rng(seed)
        order = random.permutation(len(given))
        half = min(MAX_HELD_OUT, len(given) // 2)
        self.target, self.oracle, self.seed, self.longest = target, oracle, seed, longest
        self.held_out = [given[i] for i in order[:half]]
        self.given = [given[i] for i in order[half:]]
        self.random = self._random_like(RANDOM_WORDS, random)
        self.front = Front()
        self.steps = [f"{len(self.given):,} given words, {half:,} more held out"]
        self.samples = self._query_words(random)

    def propose(self, dfa: DFA, origin: str) -> None:
        """Put an automaton on the front if it belongs there."""
        errors = [
            int((self.oracle(words) != run_ids(self.target, dfa, words)).sum())
            for words in (self.held_out, self.random)
        ]
        point = FrontPoint(
            dfa=dfa.minimize(),
            origin=origin,
            held_out_errors=errors[0],
            held_out_words=len(self.held_out),
            random_errors=errors[1],
            random_words=len(self.random),
        )
        self.front.add(point)

    def propose_constant(self) -> None:
        """The automaton of one state."""
        common = int(np.bincount(self.oracle([*self.given, *self.random])).argmax())
        constant = constant_dfa(self.target.alphabet.symbols, self.target.classes[common])
        self.propose(constant, "the most common label")

    def learn_actively(self, seconds: float, max_queries: int) -> DFA | None:
        """Kearns and Vazirani's learner; every automaton that it proposes is a point.

        Returns the last automaton if no difference was found within the limits.
        """
        budget = QueryBudget(self.oracle, seconds=seconds, max_queries=max_queries)
        random = np.random.default_rng(self.seed)
        last, converged, message = learn(
            self.target, budget, lambda dfa: self._difference(dfa, budget, random)
        )
        self.propose(last, "active learning")
        self.steps.append(message)
        return last if converged else None

    def _difference(
        self, dfa: DFA, budget: QueryBudget, random: np.random.Generator
    ) -> Word | None:
        """The shortest differing word of the first sample that has one.

        The last sample is drawn from the automaton, with as many words of each label as possible:
        random words may all have one label.
        """
        self.propose(dfa, "active learning")
        drawn = draw_from(dfa, random, DRAWN_WORDS, self.longest, self.target.alphabet.symbols)
        for words in (*self.samples, drawn):
            differ = np.flatnonzero(self.oracle(words) != run_ids(self.target, dfa, words))
            if len(differ):
                return spell_ids(self.target, min((words[i] for i in differ.tolist()), key=len))
            if budget.spent():
                break
        return None

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

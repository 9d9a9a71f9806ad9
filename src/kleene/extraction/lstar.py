"""Active learning: AALpy asks the network about words until its automaton cannot be told apart.

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
from kleene.extraction.context import MOST_SYMBOLS, Study
from kleene.extraction.disagreement import search
from kleene.extraction.fidelity import draw_checks
from kleene.extraction.words import all_words, encode_words
from kleene.machine import Label, Symbol

_AHEAD = 7  # words by which an unknown word is extended, since those are asked for next
_FRESH = 4  # sets of words drawn for each equivalence query


class _Spent(Exception):  # noqa: N818 - a signal, not an error
    """A bound is reached in the middle of a round."""


def learn(study: Study) -> tuple[DFA, str]:
    """The automaton that the learner ends with, and what it did in words."""
    symbols = study.model.alphabet.symbols
    if len(symbols) > MOST_SYMBOLS:
        raise ReadingError(
            f"the alphabet has {len(symbols):,} symbols, and L* asks about each in every state; "
            f"it is for at most {MOST_SYMBOLS}: use the method counts or mean"
        )
    network = _Network(study)
    equivalence = _Equivalence(study, network)
    # Truth values make a Dfa; any other labels, a Moore machine.
    kind = "dfa" if all(isinstance(label, bool) for label in study.model.classes) else "moore"
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
    told = f"L*: {equivalence.rounds} automata proposed, {study.oracle.queries:,} words run; {note}"
    return equivalence.last, told


class _Network(SUL):  # type: ignore[misc]
    """The network as AALpy's system under learning."""

    def __init__(self, study: Study) -> None:
        super().__init__()
        self._study = study
        self._most = study.oracle.queries + study.max_queries
        self._deadline = time.monotonic() + study.seconds
        self._ahead = all_words(len(study.model.alphabet.symbols), _AHEAD)[0]
        self._asked: set[tuple[Symbol, ...]] = set()

    def query(self, word: tuple[Symbol, ...]) -> list[Label]:
        """The labels of the prefixes of a word, the empty one only for the empty word."""
        study = self._study
        ids = encode_words(study.model, [word])[0]
        prefixes = [ids[: t + 1] for t in range(len(ids))] or [ids]
        if word not in self._asked:
            if self.spent():
                raise _Spent
            study.oracle([*prefixes, *(np.concatenate([ids, more]) for more in self._ahead)])
            self._asked.add(word)
            self.num_queries += 1
        return [study.model.classes[i] for i in study.oracle(prefixes)]

    def spent(self) -> bool:
        """Whether a bound is reached."""
        return self._study.oracle.queries >= self._most or time.monotonic() > self._deadline

    def pre(self) -> None:
        """Nothing to prepare: `query` answers for whole words."""

    def post(self) -> None:
        """Nothing to clean up."""

    def step(self, letter: Any) -> Any:
        """Never called, since `query` is complete."""
        raise NotImplementedError


class _Equivalence(AalpyOracle):  # type: ignore[misc]
    """Looks for a word on which the network and a proposed automaton differ."""

    def __init__(self, study: Study, network: _Network) -> None:
        super().__init__(list(study.model.alphabet.symbols), network)
        self._study = study
        self.rounds = 0
        self.stopped = False
        first = study.model.classes[int(study.oracle([np.zeros(0, np.int64)])[0])]
        width = len(study.model.alphabet.symbols)
        self.last = DFA(
            alphabet=study.model.alphabet.symbols,
            transitions=np.zeros((1, width), dtype=np.int32),
            outputs=(first,),
        )

    def find_cex(self, hypothesis: Any) -> tuple[Symbol, ...] | None:
        """A word that tells them apart, as short as it was found, or None."""
        study = self._study
        self.last = DFA.from_aalpy(hypothesis)
        self.rounds += 1
        if self.sul.spent():
            self.stopped = True
            return None
        found = search(
            study.model,
            self.last,
            study.oracle,
            self._candidates(),
            record=study.record,
            spent=self.sul.spent,
        )
        if found.word is None:
            self.stopped = self.sul.spent()
            return None
        return tuple(found.word)

    def _candidates(self) -> list[Ids]:
        """The given words, and words drawn from the proposed automaton."""
        study = self._study
        seeds = [study.seed + self.rounds * _FRESH + i for i in range(_FRESH)]
        drawn = (draw_checks(study.model, self.last, study.words, seed) for seed in seeds)
        return [*study.words, *(word for words in drawn for word in words)]

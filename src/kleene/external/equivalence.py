"""Equivalence queries for a network from elsewhere: given words, their prefixes and edits.

The W-method of `extraction.disagreement` chases what a noisy network does on words that nobody
feeds it; here the words that decide are like the given ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.external.network import ExternalNetwork
from kleene.extraction.checks.fidelity import run_ids
from kleene.extraction.lstar import Budget, FindDifference
from kleene.extraction.words import draw_from, random_words
from kleene.machine import Word

_RANDOM = 1_000
_DRAWN = 400
_SYMBOLS = 80_000  # symbols of given words in all, so that long ones do not take long


def sampled_words(
    network: ExternalNetwork, words: Sequence[Ids], random: np.random.Generator
) -> list[list[Ids]]:
    """The given words, an edit and a prefix of each, and random words: most alike first."""
    symbols = len(network.alphabet.symbols)
    most = _SYMBOLS // max(1, network.longest)
    given = [words[i] for i in random.permutation(len(words))[:most]]
    edits = [edited(word, symbols, random) for word in given[: most // 3]]
    prefixes = [word[: random.integers(len(word) + 1)] for word in given[: most // 3]]
    return [given, edits, random_like(network, words, _RANDOM, random), prefixes]


def random_like(
    network: ExternalNetwork, words: Sequence[Ids], n: int, random: np.random.Generator
) -> list[Ids]:
    """Random symbols in the lengths of the given words; in all lengths where there are none."""
    symbols = len(network.alphabet.symbols)
    if not words:
        return random_words(random, symbols, n, network.longest)
    lengths = random.choice([len(word) for word in words], n)
    return [Alphabet.ids(random.integers(0, symbols, length)) for length in lengths]


def edited(word: Ids, symbols: int, random: np.random.Generator) -> Ids:
    """The word with one symbol replaced, inserted or left out."""
    at = int(random.integers(len(word) + 1))
    new = Alphabet.ids(random.integers(symbols, size=1))
    kind = int(random.integers(3))
    return np.concatenate([word[:at], new[: kind != 2], word[at + (kind != 1) :]])


def by_samples(
    network: ExternalNetwork, budget: Budget, samples: Sequence[Sequence[Ids]], *, seed: int
) -> FindDifference:
    """A word that tells them apart, of the first sample that has one, the shortest there.

    The last sample is drawn from the automaton, as many words of each label as can be: random
    words may all have one.
    """
    random = np.random.default_rng(seed)
    symbols, longest = network.alphabet.symbols, network.longest

    def find(dfa: DFA) -> Word | None:
        for words in (*samples, draw_from(dfa, random, _DRAWN, longest, symbols)):
            differ = np.flatnonzero(budget.oracle(words) != run_ids(network, dfa, words))
            if len(differ):
                return network.symbols(min((words[i] for i in differ.tolist()), key=len))
            if budget.spent():
                break
        return None

    return find

"""Words as ids: encoded, drawn at random, run through an automaton, or asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.automata.symbols import show, spell
from kleene.data.alphabet import UNKNOWN, Alphabet, Ids
from kleene.errors import AlphabetError, ExtractionError
from kleene.evaluation.metrics import predict
from kleene.extraction.adapters import ExternalNetwork
from kleene.languages.paths import Paths
from kleene.machine import Word
from kleene.model import Model

MAX_SYMBOLS = 256
"""The largest alphabet for active learning, which asks about each symbol in every state."""
EMPTY_WORD: Ids = np.zeros(0, np.int64)
MAX_PATH_COUNTS = 20_000_000  # for larger tables, symbols are drawn uniformly

Target: TypeAlias = Model | ExternalNetwork


def encode_words(model: Target, words: Iterable[Any]) -> list[Ids]:
    """The ids of words, or an error that names the symbols which the model does not know."""
    if isinstance(words, str):
        raise AlphabetError(f"expected a list of words, got one string {words!r:.60}; pass [word]")
    if not model.reads_symbols:
        raise ExtractionError(
            "this network reads vectors, not symbols, so its automaton has no alphabet; "
            "train on symbols, for instance on levels of grey"
        )
    texts = model.words(list(words))
    encoded = model.alphabet.encode_many(texts)
    unknown = [i for i, ids in enumerate(encoded) if (ids == UNKNOWN).any()]
    if unknown:
        symbols = dict.fromkeys(s for i in unknown for s in model.alphabet.unknown(texts[i]))
        raise AlphabetError(
            f"{len(unknown)} of {len(encoded)} words have symbols that the model does not know: "
            f"{show(symbols)}; it knows {show(model.alphabet.symbols)}; leave those words out"
        )
    return encoded


def spell_ids(model: Target, ids: Ids) -> Word:
    """A word as a user writes it."""
    return spell(model.alphabet.decode(ids), model.alphabet.symbols)


def usual_length(model: Target, encoded: Sequence[Ids] = ()) -> int:
    """The length of the longest training word, else of the longest given word, else 20."""
    return model.longest or max((len(word) for word in encoded), default=0) or 20


def all_words(symbols: int, most: int) -> tuple[list[Ids], int]:
    """Every word up to some length, at most `most` words, and that length."""
    words, longest = [EMPTY_WORD], 0
    layer = np.zeros((1, 0), np.int64)
    while len(words) + len(layer) * symbols <= most:
        column = np.tile(Alphabet.ids(np.arange(symbols)), len(layer))
        layer = np.concatenate([np.repeat(layer, symbols, axis=0), column[:, None]], axis=1)
        words.extend(layer)
        longest += 1
    return words, longest


def random_words(random: np.random.Generator, symbols: int, n: int, longest: int) -> list[Ids]:
    """Words of random lengths from 1 to `longest`, every symbol as probable as any other."""
    lengths = random.integers(1, longest + 1, n)
    return [Alphabet.ids(random.integers(0, symbols, length)) for length in lengths]


def draw_from(
    dfa: DFA, random: np.random.Generator, n: int, longest: int, symbols: Sequence[Any]
) -> list[Ids]:
    """About `n` words of lengths up to `longest`, as many of each output label as possible.

    Within a label and a length, words are uniform, by counting the paths of the automaton; a
    uniform draw of symbols would seldom leave the sink of many languages.
    """
    table = table_of(dfa, symbols)
    if table.size * longest > MAX_PATH_COUNTS:
        return random_words(random, len(symbols), n, longest)
    outputs = np.array([dfa.outputs.index(label) for label in dfa.outputs])
    drawn: list[Ids] = []
    kinds = np.unique(outputs)
    for kind in kinds:
        paths = Paths(table, outputs == kind, dfa.initial)
        lengths = random.integers(0, longest + 1, -(-n // len(kinds)))
        lengths = lengths[[paths.count(int(length)) > 0 for length in lengths]]
        drawn.extend(map(Alphabet.ids, paths.draw(random, lengths)))
    return drawn


def table_of(dfa: DFA, symbols: Sequence[Any]) -> Ints:
    """The transitions of an automaton, columns in the order of `symbols`."""
    if set(dfa.alphabet) != set(symbols):
        raise AlphabetError(
            f"the automaton reads {show(dfa.alphabet)}, the model {show(symbols)}; "
            "compare machines over the same symbols"
        )
    return dfa.transitions[:, [dfa.columns[symbol] for symbol in symbols]].astype(np.int64)


def constant_dfa(symbols: Sequence[Any], label: Any) -> DFA:
    """The automaton of one state."""
    transitions = np.zeros((1, len(symbols)), dtype=np.int32)
    return DFA(alphabet=tuple(symbols), transitions=transitions, outputs=(label,))


def run_table(table: Ints, initial: int, words: Sequence[Ids]) -> Ints:
    """The states that each word passes through, (word, time); the last one repeats to the end."""
    states, symbols = table.shape
    stay = np.concatenate([table, np.arange(states)[:, None]], axis=1)
    lengths = np.fromiter((len(word) for word in words), np.int64, len(words))
    columns = np.full((len(words), int(lengths.max(initial=0))), symbols, dtype=np.int64)
    if len(words):
        flat = Alphabet.columns(np.concatenate([EMPTY_WORD, *words]))
        columns[np.arange(columns.shape[1]) < lengths[:, None]] = flat
    states_after = np.empty((len(words), columns.shape[1] + 1), dtype=np.int64)
    states_after[:, 0] = initial
    for t in range(columns.shape[1]):
        states_after[:, t + 1] = stay[states_after[:, t], columns[:, t]]
    return states_after


class Oracle:
    """Membership queries in batches: the network's class of each word, never asked twice."""

    def __init__(self, classify: Callable[[Sequence[Ids]], Ints]) -> None:
        self.queries = 0
        """How many words the network was run on."""
        self._classify = classify
        self._known: dict[bytes, int] = {}

    @classmethod
    def of(cls, model: Model) -> Oracle:
        """The oracle of a model's soft network."""
        return cls(lambda words: predict(model.network, words, batch_size=512).predicted)

    def __call__(self, words: Sequence[Ids]) -> Ints:
        """The class of every word."""
        keys = [word.tobytes() for word in words]
        new = {key: word for key, word in zip(keys, words, strict=True) if key not in self._known}
        if new:
            self.queries += len(new)
            self.learn(list(new.values()), self._classify(list(new.values())))
        return np.fromiter((self._known[key] for key in keys), np.int64, len(keys))

    def learn(self, words: Sequence[Ids], labels: Ints) -> None:
        """Store answers that another pass of the network gave."""
        for word, label in zip(words, labels.tolist(), strict=True):
            self._known[word.tobytes()] = label

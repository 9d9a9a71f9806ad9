"""Runs of symbols that speak for a class.

For a network that moves like an automaton: the shortest sequences that decide the label wherever
they occur, at the start, or at the end. For any other: n-grams by their mean weight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.automata.table import known_words
from kleene.data.alphabet import UNKNOWN
from kleene.errors import SettingError
from kleene.evaluation.metrics import predict
from kleene.explain.markup import Rendered, Table, as_json, as_text, joint
from kleene.explain.methods import METHODS, predicting_states, require_method
from kleene.explain.traces import batched_traces, encode, require_symbols
from kleene.extraction.table import transition_table
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.nn.state_weights import adds_up

N = 2
MAX_ALPHABET = 100  # symbols of an alphabet whose deciding sequences are searched
MAX_SEQUENCES = 1_000  # that the search tries, for each of `WHERE`
WHERE = ("anywhere", "at the start", "at the end")


@dataclass(frozen=True, kw_only=True)
class Phrase:
    """Some symbols in a row."""

    symbols: tuple[Symbol, ...]
    weight: float
    """The mean over the window and over all occurrences; 1 for a phrase that decides the label."""
    count: int
    """Occurrences, or words in which a deciding phrase occurs."""
    where: str = ""
    """Where a deciding phrase must occur, one of `WHERE`."""
    between: str = " "
    """What stands between two symbols where the phrase is shown."""

    def __str__(self) -> str:
        text = self.between.join(map(as_text, self.symbols))
        return f"{text} ({self.where or format(self.weight, '.2f')})"


@dataclass(frozen=True, kw_only=True)
class Phrases(Rendered):
    """For each class its phrases, the strongest first."""

    n: int | None
    """Symbols in a phrase; None for phrases that decide the label."""
    classes: dict[Label, tuple[Phrase, ...]]

    def tables(self) -> list[Table]:
        """A class a row."""
        header = ("class", "sequences that decide" if self.n is None else f"{self.n}-grams")
        rows = [
            [as_text(label), ", ".join(map(str, found)) or "none"]
            for label, found in self.classes.items()
        ]
        return [(header, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        classes = {label: list(map(asdict, found)) for label, found in self.classes.items()}
        plain: dict[str, Any] = as_json({"n": self.n, "classes": classes})
        return plain


def phrases(
    model: Model,
    words: Sequence[Word],
    *,
    n: int | None = None,
    top: int = 10,
    min_count: int = 1,
    method: str | None = None,
) -> Phrases:
    """The phrases of each class.

    Without `n` and `method`, a network that gives the label of its automaton to all `words` has the
    sequences that decide the label (`deciding_phrases`). Otherwise they are the n-grams (default:
    2) of highest mean weight; each stands for the class in whose words it is most frequent.
    `method` None is "lean" where states have weights, else the paper's "level". Windows with a
    symbol outside the alphabet do not count, nor, in prose, with a punctuation mark.
    """
    if n is not None and n < 1:
        raise SettingError(f"n must be at least 1, got {n}")
    require_symbols(model, "phrases")
    if n is None and method is None and (dfa := _automaton(model, words)) is not None:
        return deciding_phrases(dfa, model.classes, words, top=top)
    return _ngrams(model, words, n or N, top, min_count, method)


def deciding_phrases(
    dfa: DFA, classes: Sequence[Label], words: Sequence[Word] = (), *, top: int = 10
) -> Phrases:
    """The shortest sequences that decide the label, for each class.

    A sequence decides anywhere, or at the start, if no continuation changes the label any more. It
    decides at the end if every word that ends so has the label. Sequences that contain a shorter
    one of the list are left out.
    """
    known = known_words(dfa, words)
    between = joint(words[0] if len(words) else "")
    found: dict[Label, list[Phrase]] = {label: [] for label in classes}
    for where, symbols, label in _deciding(dfa):
        mine = found.setdefault(label, [])
        if len(mine) < top and not any(_covers(p, where, symbols) for p in mine):
            count = sum(_occurs(tuple(word), where, symbols) for word in known)
            mine.append(
                Phrase(symbols=symbols, weight=1.0, count=count, where=where, between=between)
            )
    return Phrases(n=None, classes={label: tuple(mine) for label, mine in found.items()})


def _automaton(model: Model, words: Sequence[Word]) -> DFA | None:
    """The automaton of a network that answers like it on all words."""
    if not model.is_finite_state or len(model.alphabet.symbols) > MAX_ALPHABET:
        return None
    dfa = transition_table(model).dfa
    known = known_words(dfa, words)
    labels = predict(model.network, encode(model, known)).predicted.tolist()
    same = all(dfa.run(word) == model.classes[i] for word, i in zip(known, labels, strict=True))
    return dfa.minimize() if same else None


def _deciding(dfa: DFA) -> Iterator[tuple[str, tuple[Symbol, ...], Label]]:
    """Where, sequence and label, the shortest sequences of each kind first."""
    settled, every = _settled(dfa), frozenset(range(dfa.num_states))
    kinds = (settled, every), (settled, frozenset([dfa.initial])), (list(dfa.outputs), every)
    for where, (labels, start) in zip(WHERE, kinds, strict=True):
        waiting: deque[tuple[tuple[Symbol, ...], frozenset[int]]] = deque([((), start)])
        for _ in range(MAX_SEQUENCES):
            if not waiting:
                break
            symbols, states = waiting.popleft()
            label, *others = {labels[state] for state in states}
            decides = not others and label is not None
            if decides and symbols:
                yield where, symbols, label
            if decides and (labels is settled or not symbols):
                continue
            for column, symbol in enumerate(dfa.alphabet):
                after = frozenset(dfa.rows[state][column] for state in states)
                waiting.append(((*symbols, symbol), after))


def _settled(dfa: DFA) -> list[Label | None]:
    """The label of each state that no continuation changes; None for the other states."""
    labels: list[Label | None] = list(dfa.outputs)
    changed = True
    while changed:
        changed = False
        for state, label in enumerate(labels):
            if label is not None and any(labels[after] != label for after in dfa.rows[state]):
                labels[state], changed = None, True
    return labels


def _covers(phrase: Phrase, where: str, symbols: tuple[Symbol, ...]) -> bool:
    """Whether a phrase decides already what a longer sequence would."""
    return phrase.where in (where, WHERE[0]) and _occurs(symbols, phrase.where, phrase.symbols)


def _occurs(word: tuple[Symbol, ...], where: str, symbols: tuple[Symbol, ...]) -> bool:
    n = len(symbols)
    if where == WHERE[1]:
        return word[:n] == symbols
    if where == WHERE[2]:
        return word[len(word) - n :] == symbols
    return any(word[i : i + n] == symbols for i in range(len(word) - n + 1))


def _ngrams(
    model: Model, words: Sequence[Word], n: int, top: int, min_count: int, method: str | None
) -> Phrases:
    network = model.network
    weigh = METHODS[require_method(method or ("lean" if adds_up(network) else "level"))]
    counts = _counted(model)
    grams, of, weights = [np.zeros((0, n), np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for traced in batched_traces(network, encode(model, words)):
        found = weigh(network, traced, predicting_states(network, traced))[traced.mask]
        ids, row = traced.ids, np.nonzero(traced.mask)[0]
        if len(ids) < n:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(ids, n)
        inside = (row[: len(windows)] == row[n - 1 :]) & counts[windows].all(1)
        means = np.lib.stride_tricks.sliding_window_view(found, n).mean(1)
        grams.append(windows[inside])
        of.append(traced.predicted[row[: len(windows)][inside]])
        weights.append(means[inside])
    every, classes, weight = np.concatenate(grams), np.concatenate(of), np.concatenate(weights)
    codes = np.zeros(len(every), np.int64)
    for column in every.T:  # number the distinct prefixes, one symbol longer each time
        codes = np.unique(codes * len(model.alphabet) + column, return_inverse=True)[1]
    between = joint(words[0]) if len(words) else " "
    found_phrases: dict[Label, tuple[Phrase, ...]] = {}
    own = _own_class(codes, classes, len(model.classes))
    for i, label in enumerate(model.classes):
        mine = np.flatnonzero((classes == i) & (own[codes] == i))
        pairs, first, place, often = np.unique(
            codes[mine], return_index=True, return_inverse=True, return_counts=True
        )
        mean = np.bincount(place, weight[mine], len(pairs)) / np.maximum(often, 1)
        enough = np.flatnonzero(often >= max(min_count, 1))
        best = enough[np.lexsort((-often[enough], -mean[enough]))[:top]]
        found_phrases[label] = tuple(
            Phrase(
                symbols=model.alphabet.decode(every[mine[first[b]]]),
                weight=float(mean[b]),
                count=int(often[b]),
                between=between,
            )
            for b in best
        )
    return Phrases(n=n, classes=found_phrases)


def _own_class(codes: Ints, classes: Ints, count: int) -> Ints:
    """For each n-gram the class in whose words its share of all n-grams is greatest."""
    sizes = np.maximum(np.bincount(classes, minlength=count), 1)
    pairs, often = np.unique(codes * count + classes, return_counts=True)
    order = np.lexsort((often / sizes[pairs % count], pairs // count))  # the greatest comes last
    own = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
    own[pairs[order] // count] = pairs[order] % count
    return own


def _counted(model: Model) -> NDArray[np.bool_]:
    """Which symbols phrases may have, by their numbers."""
    found = np.arange(len(model.alphabet)) > UNKNOWN
    if model.tokens == "text":
        marks = [s for s in model.alphabet.symbols if not any(c.isalnum() for c in str(s))]
        found[model.alphabet.encode(tuple(marks))] = False
    return found

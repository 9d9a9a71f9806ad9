"""Automata of many states, for networks without a small automaton: clusters of prefixes.

Two prefixes may share a state if the network labels them alike whatever follows. An encoder learns
to predict, from the network's vector of a prefix, the labels of the prefix with some suffixes; the
clusters of its predictions are the states, so vectors are near each other only as far as it
matters. (A network without vectors is asked for these labels themselves.) The successor of a state
on a symbol is found by asking: the central prefixes of the state, one symbol longer. Rounding to
clusters adds up along a word, so the automaton then runs over the words, and means along its own
paths correct its successors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from kleene.arrays import Floats, Ints
from kleene.automata import DFA
from kleene.data.alphabet import Alphabet, Ids
from kleene.extraction.lstar import FrontSearch
from kleene.extraction.prefixes import entries
from kleene.extraction.words import run_table

MAX_STATES = 1_500
"""The largest automaton that is tried unless the user sets a limit."""
SIZES = tuple(2**i for i in range(4, 20))  # numbers of clusters: 16, 32, 64, ...
MAX_PREFIXES, MAX_ASKED_PREFIXES = 40_000, 4_000  # of words; fewer if there are no vectors
MAX_PROBED, PROBED_AT_ONCE = 12_000, 1_000  # prefixes that the encoder learns from
SUFFIXES, LENGTHS = 48, (0, 1, 2, 3, 5, 8, 12, 20)  # suffixes, and their lengths in turn
MAX_SUCCESSORS = 200_000  # states x symbols
CLUSTERED = 12_000  # prefixes that k-means looks at
WIDTH, CODE, EPOCHS, BATCH, RATE = 128, 8, 40, 256, 5e-3  # of the encoder
ROUNDS = 3  # corrections of the successors
CENTRE_WEIGHT, SUCCESSOR_WEIGHT = 5, 2  # steps that a first estimate counts for

Embed: TypeAlias = Callable[[Sequence[Ids]], Floats]
"""From words to vectors, (word, size)."""


def propose_clusters(
    search: FrontSearch, vectors: Embed | None, seconds: float, max_states: int | None = None
) -> None:
    """Put automata of 16, 32, 64, ... states on the front, until `seconds` are over."""
    deadline = time.monotonic() + seconds
    random = np.random.default_rng(search.seed)
    words = search.given or search.random
    limit = MAX_ASKED_PREFIXES if vectors is None else MAX_PREFIXES
    lengths = np.cumsum([len(word) + 1 for word in words])
    words = words[: max(1, int((lengths <= limit).sum()))]
    suffixes = _infixes(words, random)
    prefixes = [word[:t] for word in words for t in range(len(word) + 1)]
    labels = search.oracle(prefixes)
    embed = _by_labels(search, suffixes)
    if vectors is not None:
        embed = _encoder(search, vectors, prefixes, suffixes, random, 0.4 * seconds)
    clusters = _Clusters(search, words, prefixes, labels, embed(prefixes), embed)
    symbols, tried = len(search.target.alphabet.symbols), []
    for size in SIZES:
        fits = size <= (max_states or MAX_STATES) and size * symbols <= MAX_SUCCESSORS
        if not fits or size > len(prefixes) or time.monotonic() > deadline:
            break
        search.propose(clusters.automaton(size), f"{size} clusters")
        tried.append(str(size))
    search.steps.append(
        f"clusters of {len(prefixes):,} prefixes: {', '.join(tried) or 'no'} states"
    )


def _infixes(words: Sequence[Ids], random: np.random.Generator) -> list[Ids]:
    """Parts of the words, to be read after a prefix."""
    found = []
    for i, which in enumerate(random.integers(len(words), size=SUFFIXES).tolist()):
        length = min(LENGTHS[i % len(LENGTHS)], len(words[which]))
        start = int(random.integers(len(words[which]) - length + 1))
        found.append(words[which][start : start + length])
    return found


def _ask(search: FrontSearch, words: Sequence[Ids], suffixes: Sequence[Ids]) -> Ints:
    """The class of every word with every suffix, (word, suffix)."""
    asked = [np.concatenate([word, suffix]) for word in words for suffix in suffixes]
    return search.oracle.ask(asked).reshape(len(words), len(suffixes))


def _by_labels(search: FrontSearch, suffixes: Sequence[Ids]) -> Embed:
    one_hot = np.eye(len(search.target.classes), dtype=np.float32)

    def embed(words: Sequence[Ids]) -> Floats:
        classes = np.minimum(_ask(search, words, suffixes), len(one_hot) - 1)
        return one_hot[classes].reshape(len(words), -1)

    return embed


def _encoder(
    search: FrontSearch,
    vectors_of: Embed,
    prefixes: Sequence[Ids],
    suffixes: Sequence[Ids],
    random: np.random.Generator,
    seconds: float,
) -> Embed:
    """Vectors as predictions of the labels after each suffix, on a scale from -1 to 1."""
    deadline = time.monotonic() + seconds
    order, asked = random.permutation(len(prefixes))[:MAX_PROBED], []
    for part in np.split(order, range(PROBED_AT_ONCE, len(order), PROBED_AT_ONCE)):
        asked.append(_ask(search, [prefixes[i] for i in part], suffixes))
        if time.monotonic() > deadline:
            break
    targets = torch.from_numpy(np.concatenate(asked))
    vectors = vectors_of([prefixes[i] for i in order[: len(targets)]])
    mean, scale = vectors.mean(0), vectors.std(0) + 1e-3
    inputs = torch.from_numpy((vectors - mean) / scale)
    classes = max(2, int(targets.max()) + 1)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(search.seed)
        encoder = nn.Sequential(
            nn.Linear(inputs.shape[1], WIDTH),
            nn.Tanh(),
            nn.Linear(WIDTH, CODE),
            nn.Linear(CODE, WIDTH),
            nn.Tanh(),
            nn.Linear(WIDTH, len(suffixes) * classes),
            nn.Unflatten(1, (classes, len(suffixes))),
        )
        optimizer = torch.optim.Adam(encoder.parameters())
        steps = EPOCHS * -(-len(inputs) // BATCH)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
        for _ in range(EPOCHS):
            for some in torch.split(torch.randperm(len(inputs)), BATCH):
                loss = nn.functional.cross_entropy(encoder(inputs[some]), targets[some])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()

    def predict(inputs: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            scores: torch.Tensor = encoder(inputs)
            return (scores[:, 1:] - scores[:, :1]).flatten(1)  # against the first class

    usual = float(predict(inputs).abs().mean())

    def embed(words: Sequence[Ids]) -> Floats:
        inputs = torch.from_numpy((vectors_of(words) - mean) / scale)
        return (predict(inputs) / usual).tanh().numpy()

    return embed


class _Clusters:
    """The prefixes of some words, embedded, and automata of their clusters."""

    def __init__(
        self,
        search: FrontSearch,
        words: Sequence[Ids],
        prefixes: Sequence[Ids],
        labels: Ints,
        points: Floats,
        embed: Embed,
    ) -> None:
        self.target, self.seed, self.words, self.prefixes = (
            search.target,
            search.seed,
            words,
            prefixes,
        )
        self.labels, self.points, self.embed = labels, points, embed
        self.word, self.time, self.column = entries(words)
        self.steps = np.flatnonzero(self.time > 0)

    def automaton(self, size: int) -> DFA:
        """The automaton of at most `size` clusters, the best of `ROUNDS` corrections."""
        symbols = self.target.alphabet.symbols
        centres = self._centres(size)
        states = _nearest(self.points, centres)
        start, k = int(states[0]), len(centres)
        first = successors = self._successors(states, centres)
        best, found = -1.0, None
        for _ in range(ROUNDS + 1):
            table = _nearest(successors, centres).reshape(k, len(symbols))
            own = run_table(table, start, self.words)[self.word, self.time]
            votes = self._votes(own, k) + 0.01 * self._votes(states, k)
            outputs = votes.argmax(1)
            same = float((outputs[own] == self.labels).mean())
            if same > best:
                best, found = same, (table, outputs)
            sums, count = _sums(own, self.points, k)
            centres = (sums + CENTRE_WEIGHT * centres) / (count + CENTRE_WEIGHT)
            pairs = own[self.steps - 1] * len(symbols) + self.column[self.steps]
            sums, count = _sums(pairs, self.points[self.steps], len(first))
            successors = (sums + SUCCESSOR_WEIGHT * first) / (count + SUCCESSOR_WEIGHT)
        assert found is not None
        return DFA(
            alphabet=symbols,
            transitions=found[0].astype(np.int32),
            outputs=tuple(self.target.classes[i] for i in found[1]),
            initial=start,
        )

    def _centres(self, size: int) -> Floats:
        from sklearn.cluster import MiniBatchKMeans
        from threadpoolctl import threadpool_limits

        random = np.random.default_rng(self.seed)
        some = self.points[random.permutation(len(self.points))[:CLUSTERED]]
        distinct = len(np.unique(some.round(4), axis=0))
        means = MiniBatchKMeans(
            min(size, distinct), random_state=self.seed % 2**31, n_init=1, batch_size=4096
        )
        with threadpool_limits(1):
            centres: Floats = means.fit(some).cluster_centers_.astype(np.float32)
        return centres

    def _successors(self, states: Ints, centres: Floats) -> Floats:
        """The point after the central prefix of each state and each symbol, (state x symbol, size).

        A state that no prefix is nearest to has the start's.
        """
        far = ((self.points - centres[states]) ** 2).sum(1)
        order = np.lexsort((far, states))
        occurs, first = np.unique(states[order], return_index=True)
        central = np.zeros(len(centres), dtype=np.int64)
        central[occurs] = order[first]
        symbols = Alphabet.ids(np.arange(len(self.target.alphabet.symbols)))
        return self.embed(
            [np.append(self.prefixes[i], x) for i in central.tolist() for x in symbols]
        )

    def _votes(self, states: Ints, size: int) -> Floats:
        votes = np.zeros((size, len(self.target.classes)), dtype=np.float32)
        np.add.at(votes, (states, self.labels), 1)
        return votes


def _nearest(points: Floats, centres: Floats) -> Ints:
    """The index of the nearest centre of each point, a block of points at a time."""
    lengths = (centres**2).sum(1) / 2
    parts = np.array_split(points, max(1, len(points) * len(centres) // 10**7))
    return np.concatenate([(part @ centres.T - lengths).argmax(1) for part in parts])


def _sums(keys: Ints, points: Floats, size: int) -> tuple[Floats, Floats]:
    """The sum and the number of the points of each key."""
    sums = np.zeros((size, points.shape[1]), dtype=np.float32)
    np.add.at(sums, keys, points)
    return sums, np.bincount(keys, minlength=size).astype(np.float32)[:, None]

"""Extractors of the benchmark behind one protocol: a name, and one method `extract`.

Every extractor gets a `Query`, which answers batches of words with the labels of a network and
counts distinct words; the alphabet; words like those of the training, without labels; and a
`Budget`. It returns a DFA. The best automaton so far can be handed in with `query.offer(dfa)`: it
counts when the budget is spent. Extractors that look inside the network ask for `query.states`.
"""

from __future__ import annotations

import signal
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from aalpy.base import SUL
from aalpy.learning_algs import run_KV, run_Lstar
from aalpy.oracles import RandomWordEqOracle, StatePrefixEqOracle
from extraction_benchmark.networks import Network
from merging import merge_states
from sklearn.cluster import KMeans
from sklearn.svm import SVC

import kleene as kl
from kleene.automata import DFA

Words = Sequence[str]
Ints = np.ndarray


class OutOfBudget(BaseException):
    """The time or the queries of an extraction are spent; not an error that anybody handles."""


class NeedsStatesError(Exception):
    """An extractor looks at states, and the network has none from left to right."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The limits of one extraction."""

    seconds: float
    """CPU seconds, the network's own included."""
    queries: int


@dataclass
class Query:
    """One network, as an extractor sees it."""

    network: Network
    budget: Budget
    answers: dict[str, bool] = field(default_factory=dict)
    offered: DFA | None = None

    def __call__(self, words: Words) -> list[bool]:
        """The label of each word; a word that was asked before costs nothing."""
        new = [word for word in dict.fromkeys(words) if word not in self.answers]
        if len(self.answers) + len(new) > self.budget.queries:
            raise OutOfBudget
        if new:
            self.answers |= dict(zip(new, self.network(new), strict=True))
        return [self.answers[word] for word in words]

    def states(self, words: Words) -> list[np.ndarray]:
        """The states after each prefix of each word, (1 + length, size); each word is a query."""
        if not self.network.has_states:
            raise NeedsStatesError
        self(words)
        return self.network.states(words)

    def offer(self, dfa: DFA) -> None:
        """Hand in the best automaton so far."""
        self.offered = dfa


class Extractor(Protocol):
    """What takes part in the benchmark."""

    name: str

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """An automaton of the network's language."""
        ...


@dataclass(frozen=True, kw_only=True)
class Extracted:
    """The result of one extraction."""

    dfa: DFA
    queries: int
    seconds: float
    stopped: bool


def extract(
    extractor: Extractor, network: Network, words: Words, budget: Budget
) -> Extracted | None:
    """Run an extractor within its budget; None if it needs states that the network has not."""
    query, alphabet = Query(network, budget), "".join(map(str, network.task.language.alphabet))
    started, stopped = time.process_time(), False
    try:
        with _limit(budget.seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of missing moves, or fewer clusters than asked for
            dfa = extractor.extract(query, alphabet, words, budget)
    except NeedsStatesError:
        return None
    except OutOfBudget:
        stopped = True
        dfa = query.offered or _constant(query, alphabet)
    seconds = time.process_time() - started
    return Extracted(
        dfa=dfa.minimize(), queries=len(query.answers), seconds=seconds, stopped=stopped
    )


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfBudget` after so many CPU seconds."""

    def stop(*_: object) -> None:
        raise OutOfBudget

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _constant(query: Query, alphabet: str) -> DFA:
    """One state with the most frequent answer so far."""
    label = Counter(query.answers.values()).most_common(1)[0][0] if query.answers else False
    return _dfa(alphabet, [[0] * len(alphabet)], [label])


def _dfa(alphabet: str, table: Any, outputs: Sequence[Any]) -> DFA:
    labels = tuple(bool(output) for output in outputs)
    return DFA(alphabet=tuple(alphabet), transitions=np.array(table), outputs=labels)


class Kleene:
    """`kl.extract` of a function from words to labels."""

    name = "Kleene"

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """Active learning with batches, within its own share of the time."""
        return kl.extract(query, words, alphabet=alphabet, seconds=0.8 * budget.seconds).dfa


class AALpy:
    """AALpy's L* or KV with an equivalence oracle of its own; a query for every prefix."""

    def __init__(self, algorithm: str) -> None:
        self.name, self.algorithm = f"AALpy {algorithm}", algorithm

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """As AALpy's documentation shows it."""
        sul, letters = _OneWordAtATime(query), list(alphabet)
        if self.algorithm == "L*":
            oracle = StatePrefixEqOracle(letters, sul, walks_per_state=50, walk_len=20)
        else:
            oracle = RandomWordEqOracle(letters, sul, num_walks=1000, max_walk_len=20)
        find = oracle.find_cex

        def offered(hypothesis: Any) -> Any:
            query.offer(DFA.from_aalpy(hypothesis))
            return find(hypothesis)

        oracle.find_cex = offered
        learn = run_Lstar if self.algorithm == "L*" else run_KV
        return DFA.from_aalpy(learn(letters, sul, oracle, automaton_type="dfa", print_level=0))


class _OneWordAtATime(SUL):  # type: ignore[misc]
    """A network as a system under learning."""

    def __init__(self, query: Query) -> None:
        super().__init__()
        self.ask, self.word = query, ""

    def pre(self) -> None:
        """Begin a word."""
        self.word = ""

    def post(self) -> None:
        """Nothing to clean up."""

    def step(self, letter: str | None) -> bool:
        """The label after one more symbol."""
        self.word += letter or ""
        return self.ask([self.word])[0]


class Merging:
    """State merging (AALpy's RPNI or EDSM) on words with the network's labels."""

    def __init__(self, algorithm: str, rows: int) -> None:
        self.name, self.algorithm, self.rows = algorithm.upper(), algorithm, rows

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """The words, and one symbol each so that no symbol is missing."""
        given = [*words[: self.rows], *alphabet]
        return merge_states(given, query(given), self.algorithm, alphabet)


class Clusters:
    """Clusters of hidden states by k-means; each goes where most of its members go."""

    name = "k-means table"

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """The number of clusters that agrees best with the network on half of the words."""
        half = len(words) // 2
        shown, checked = words[:half], words[half:]
        states, right = query.states(shown), query(checked)
        prefixes = [word[:n] for word in shown for n in range(len(word) + 1)]
        labels = np.array(query(prefixes))
        vectors = np.concatenate(states)
        following = np.array([i for i, p in enumerate(prefixes) if p])  # a word after its prefix
        symbols = np.array([alphabet.index(prefixes[i][-1]) for i in following])
        best = -1
        for count in (4, 8, 16, 32, 64):
            clusters = KMeans(count, n_init=1, random_state=0).fit_predict(vectors)
            moves = np.zeros((count, len(alphabet), count))
            np.add.at(moves, (clusters[following - 1], symbols, clusters[following]), 1)
            votes = np.zeros((count, 2))
            np.add.at(votes, (clusters, labels.astype(int)), 1)
            dfa = _dfa(alphabet, moves.argmax(-1), votes.argmax(-1))
            dfa = DFA(**{**_fields(dfa), "initial": int(clusters[0])})
            agree = int((dfa.run_many(checked) == right).sum())
            if agree > best:
                best = agree
                query.offer(dfa)
        assert query.offered is not None
        return query.offered


def _fields(dfa: DFA) -> dict[str, Any]:
    return {"alphabet": dfa.alphabet, "transitions": dfa.transitions, "outputs": dfa.outputs}


class Partition:
    """L* whose equivalence queries compare the hypothesis with a partition of the states.

    The idea of Weiss, Goldberg and Yahav (2018). The partition begins with one part. A search from
    the start follows one network state for each part. Two words that reach one part but different
    states of the hypothesis are a conflict: a suffix that tells these states apart shows that the
    hypothesis is wrong about one of the words, or the part is split by a support vector machine.
    Where they agree, the shortest of the given words that the hypothesis labels wrongly goes on.
    """

    name = "L* with a partition"
    MAX_PARTS = 200

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """Learn until the hypothesis and the partition agree."""
        learner, self.splits = _Table(query, alphabet), []
        while True:
            dfa = learner.hypothesis()
            query.offer(dfa)
            counterexample = self._difference(query, dfa, alphabet)
            if counterexample is None:
                labels = zip(words, query(words), strict=True)
                wrong = [word for word, label in labels if dfa.run(word) != label]
                if not wrong:
                    return dfa
                counterexample = min(wrong, key=len)
            learner.add(counterexample)

    def _difference(self, query: Query, dfa: DFA, alphabet: str) -> str | None:
        """A word that the hypothesis labels wrongly; None if the partition agrees with it."""
        while (found := self._search(query, dfa, alphabet)) is not None:
            one, other = found
            if one == other:
                return one  # the label of the word itself is wrong
            suffix = _telling(dfa, dfa.trace(one)[-1], dfa.trace(other)[-1])
            for word in (one + suffix, other + suffix):
                if query([word])[0] != dfa.run(word):
                    return word
            if len(self.splits) >= self.MAX_PARTS:
                return None
            self._split(query, one, other)
        return None

    def _search(self, query: Query, dfa: DFA, alphabet: str) -> tuple[str, str] | None:
        met: dict[tuple[bool, ...], str] = {}
        layer = [""]
        while layer:
            vectors = np.stack([rows[-1] for rows in query.states(layer)])
            following = []
            for word, part, label in zip(layer, self._parts(vectors), query(layer), strict=True):
                if dfa.run(word) != label:
                    return word, word
                known = met.setdefault(part, word)
                if known == word:
                    following += [word + symbol for symbol in alphabet]
                elif dfa.trace(known)[-1] != dfa.trace(word)[-1]:
                    return known, word
            layer = following
        return None

    def _parts(self, vectors: np.ndarray) -> list[tuple[bool, ...]]:
        sides = [split.predict(vectors).astype(bool) for split in self.splits]
        return list(zip(*sides, strict=True)) if sides else [()] * len(vectors)

    def _split(self, query: Query, one: str, other: str) -> None:
        vectors = np.stack([rows[-1] for rows in query.states([one, other])])
        self.splits.append(SVC(kernel="linear", C=1e6).fit(vectors, [0, 1]))


def _telling(dfa: DFA, one: int, other: int) -> str:
    """A shortest word on which two states of an automaton differ."""
    first, second = (DFA(**{**_fields(dfa), "initial": state}) for state in (one, other))
    word = first.difference(second)
    return "" if word is None else str(word)


class _Table:
    """Angluin's observation table, with all suffixes of a counterexample as columns."""

    def __init__(self, query: Query, alphabet: str) -> None:
        self.query, self.alphabet = query, alphabet
        self.rows, self.columns = [""], [""]

    def add(self, counterexample: str) -> None:
        """Make the table tell what the counterexample shows."""
        suffixes = [counterexample[i:] for i in range(len(counterexample))]
        self.columns = list(dict.fromkeys([*self.columns, *suffixes]))

    def hypothesis(self) -> DFA:
        """Close the table; every row with answers of its own is a state."""
        while True:
            words = [*self.rows, *(row + a for row in self.rows for a in self.alphabet)]
            asked = self.query([word + column for word in words for column in self.columns])
            size = len(self.columns)
            answers = {w: tuple(asked[i * size : (i + 1) * size]) for i, w in enumerate(words)}
            state = {answers[row]: number for number, row in enumerate(self.rows)}
            new = {answers[word]: word for word in reversed(words) if answers[word] not in state}
            if not new:
                break
            self.rows += new.values()
        table = [[state[answers[row + a]] for a in self.alphabet] for row in self.rows]
        return _dfa(self.alphabet, table, [answers[row][0] for row in self.rows])


class Differentiable:
    """An automaton with soft transitions, fitted to the network's labels by gradient.

    The idea of DeepDFA (Umili and Capobianco, 2024): a matrix of transition probabilities for each
    symbol, whose temperature falls until they are choices.
    """

    name = "differentiable DFA"
    STATES, RATE, ROUNDS, COOLING = 30, 0.05, 60, 0.93

    def extract(self, query: Query, alphabet: str, words: Words, budget: Budget) -> DFA:
        """The best of the rounded automata by the words that it was not fitted to."""
        torch.manual_seed(0)
        held, shown = words[: len(words) // 5], words[len(words) // 5 :]
        checked, labels = query(held), torch.tensor(query(shown), dtype=torch.float32)
        size, width = self.STATES, len(alphabet)
        moves = torch.randn(width, size, size, requires_grad=True)
        accepts = torch.randn(size, requires_grad=True)
        optimizer = torch.optim.Adam([moves, accepts], lr=self.RATE)
        ids = torch.full((len(shown), max(map(len, shown))), width)
        for row, word in zip(ids, shown, strict=True):
            row[: len(word)] = torch.tensor([alphabet.index(a) for a in word], dtype=torch.long)
        best, temperature = -1, 1.0
        for _ in range(self.ROUNDS):
            for part in torch.randperm(len(ids)).split(128):
                chances = torch.softmax(moves / temperature, -1)
                chances = torch.cat([chances, torch.eye(size)[None]])  # past the end: stay
                state = torch.eye(size)[:1].expand(len(part), -1)
                for symbol in ids[part].T:
                    state = torch.einsum("bi,bij->bj", state, chances[symbol])
                accepted = (state * torch.sigmoid(accepts / temperature)).sum(-1)
                loss = torch.nn.functional.binary_cross_entropy(
                    accepted.clamp(1e-6, 1 - 1e-6), labels[part]
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            temperature = max(temperature * self.COOLING, 0.05)
            table = moves.detach().argmax(-1).T
            dfa = _dfa(alphabet, table.numpy(), (accepts.detach() > 0).tolist())
            agree = int((dfa.run_many(held) == np.array(checked)).sum())
            if agree > best:
                best = agree
                query.offer(dfa)
            if agree == len(held) and loss < 1e-3:
                break
        assert query.offered is not None
        return query.offered


EXTRACTORS: tuple[Extractor, ...] = (
    Kleene(),
    AALpy("L*"),
    AALpy("KV"),
    Partition(),
    Clusters(),
    Merging("rpni", 1_000),
    Merging("edsm", 300),
    Differentiable(),
)

"""`kleene.read`: from anybody's network to a front of automata, tested and never claimed proved."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kleene.adapt.protocol import Classify, WhiteBox
from kleene.automata import DFA
from kleene.data.alphabet import Ids
from kleene.errors import SettingError
from kleene.external.clusters import cluster_automata
from kleene.external.equivalence import by_samples, random_like, sampled_words
from kleene.external.front import Front, ReadingPoint
from kleene.external.network import ExternalNetwork
from kleene.extraction.checks.disagreement import search
from kleene.extraction.checks.fidelity import run_ids
from kleene.extraction.lstar import Budget, learn
from kleene.extraction.oracle import Oracle
from kleene.extraction.target import MOST_SYMBOLS
from kleene.extraction.words import encode_words
from kleene.machine import Label, Symbol, Word

if TYPE_CHECKING:
    from kleene.external.distil import Distillation

_HELD_OUT = 3_000
_RANDOM = 2_000
_USUAL = 20  # the length of random words where none are given


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkReading:
    """What was read off a network from elsewhere; everything in it is tested, nothing proved."""

    front: Front
    """Size against error, the smallest automaton first."""
    chosen: ReadingPoint
    """The knee: the smallest automaton within one standard error of the best."""
    disagreement: Word | None
    """A shortest word found on which the network and the chosen automaton differ."""
    answers: tuple[Label, Label] | None
    """On that word, the label of the network and that of the automaton."""
    exhaustive: int
    """The length up to which every word was compared."""
    steps: tuple[str, ...]
    queries: int
    seconds: float
    network: ExternalNetwork = field(repr=False)
    held_out: Sequence[Ids] = field(repr=False)
    """The words that the errors were measured on, as ids."""

    @property
    def dfa(self) -> DFA:
        """The chosen automaton, minimal."""
        return self.chosen.dfa

    def distil(self, *, seed: int = 0) -> Distillation:
        """A state-regularised network that is the chosen automaton, with its certificate."""
        from kleene.external.distil import distil

        labels = self.network.classify(self.held_out).tolist()
        return distil(self.network, self.dfa, self.held_out, labels, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        word = self.disagreement
        return {
            "states": self.dfa.num_states,
            "held_out_error": self.chosen.held_out_error,
            "random_error": self.chosen.random_error,
            "origin": self.chosen.origin,
            "disagreement": word if word is None or isinstance(word, str) else list(word),
            "exhaustive": self.exhaustive,
            "front": [point.to_dict() for point in self.front],
            "steps": list(self.steps),
            "queries": self.queries,
            "seconds": self.seconds,
            "dfa": json.loads(self.dfa.to_json()),
        }

    def __str__(self) -> str:
        found = f"none found; all words up to length {self.exhaustive} compared"
        if self.disagreement is not None and self.answers is not None:
            network, automaton = self.answers
            found = f"{self.disagreement!r}: network {network}, automaton {automaton}"
        rows = {
            "automaton": f"{self.dfa.num_states} states, {self.chosen.origin}",
            "held-out error": _share(self.chosen.held_out_errors, self.chosen.held_out_words),
            "random error": _share(self.chosen.random_errors, self.chosen.random_words),
            "disagreement": found,
            "effort": f"{self.queries:,} words run, {self.seconds:.1f} s",
            "done": "; ".join(self.steps),
        }
        return "\n".join(f"{name:<15} {text}" for name, text in rows.items())


def read(
    classify: Classify,
    alphabet: Iterable[Symbol],
    words: Iterable[Sequence[Symbol]] | None = None,
    max_states: int | None = None,
    seconds: float = 30.0,
    seed: int = 0,
) -> NetworkReading:
    """Read an automaton from any network that labels sequences.

    `classify` takes a batch of sequences over `alphabet` and returns one label for each; see
    `kleene.adapt` for torch modules, ONNX files and others. `words` are sequences like those the
    network is for: half of them guide the search, half are kept back to measure it. The result
    has a front of automata by size; `dfa` is the smallest within one standard error of the best,
    or of those with at most `max_states`.
    """
    if not seconds > 0:
        raise SettingError(f"seconds must be > 0, got {seconds}")
    if max_states is not None and max_states < 1:
        raise SettingError(f"max_states must be >= 1, got {max_states}")
    started = time.monotonic()
    network = ExternalNetwork(classify, alphabet)
    given = encode_words(network, [] if words is None else words)
    network.longest = max(map(len, given), default=0) or _USUAL
    reader = _Reader(network, given, seed)
    reader.learn_actively(seconds * (0.5 if isinstance(classify, WhiteBox) else 0.8))
    if isinstance(classify, WhiteBox) and reader.front.knee().error > 0:
        reader.cluster(classify, seconds - (time.monotonic() - started))
    chosen = reader.front.knee(max_states)
    found = search(network, chosen.dfa, reader.oracle, reader.held_out)
    answers = None
    if found.word is not None:
        ids = encode_words(network, [found.word])
        label = network.classes[int(reader.oracle(ids)[0])]
        answers = (label, chosen.dfa.run(found.word))
    return NetworkReading(
        front=reader.front,
        chosen=chosen,
        disagreement=found.word,
        answers=answers,
        exhaustive=found.exhaustive,
        steps=tuple(reader.steps),
        queries=reader.oracle.queries,
        seconds=time.monotonic() - started,
        network=network,
        held_out=[*reader.held_out, *reader.random],
    )


class _Reader:
    """One reading in progress."""

    def __init__(self, network: ExternalNetwork, given: list[Ids], seed: int) -> None:
        random = np.random.default_rng(seed)
        order = random.permutation(len(given))
        half = min(_HELD_OUT, len(given) // 2)
        self.network, self.seed = network, seed
        self.held_out = [given[i] for i in order[:half]]
        self.given = [given[i] for i in order[half:]]
        self.random = random_like(network, self.given, _RANDOM, random)
        self.oracle = Oracle(network.classify)
        self.front = Front()
        self.steps = [f"{len(self.given):,} given words, {half:,} more held out"]
        network.require_repeatable([*self.held_out, *self.random])
        self.samples = sampled_words(network, self.given, random)

    def propose(self, dfa: DFA, origin: str) -> None:
        """Put an automaton on the front if it belongs there."""
        errors = [
            int((self.oracle(words) != run_ids(self.network, dfa, words)).sum())
            for words in (self.held_out, self.random)
        ]
        point = ReadingPoint(
            dfa=dfa.minimize(),
            origin=origin,
            held_out_errors=errors[0],
            held_out_words=len(self.held_out),
            random_errors=errors[1],
            random_words=len(self.random),
        )
        self.front.add(point)

    def learn_actively(self, seconds: float) -> None:
        """Kearns and Vazirani's learner; every automaton that it proposes is a point."""
        symbols = len(self.network.alphabet.symbols)
        if symbols > MOST_SYMBOLS:
            self.steps.append(f"L* was not tried: {symbols:,} symbols are too many for it")
            self.propose(self._constant(), "the most common label")
            return
        budget = Budget(oracle=self.oracle, seconds=seconds, max_queries=10_000_000)
        find = by_samples(self.network, budget, self.samples, seed=self.seed)
        last, message = learn(
            self.network, budget, find, proposed=lambda dfa: self.propose(dfa, "active learning")
        )
        self.propose(last, "active learning")
        self.steps.append(message)

    def _constant(self) -> DFA:
        """The automaton of one state, which always gives the network's most common label."""
        common = int(np.bincount(self.oracle([*self.given, *self.random])).argmax())
        symbols = self.network.alphabet.symbols
        return DFA(
            alphabet=symbols,
            transitions=np.zeros((1, len(symbols)), dtype=np.int32),
            outputs=(self.network.classes[common],),
        )

    def cluster(self, box: WhiteBox, seconds: float) -> None:
        """Automata from clusters of the hidden vectors."""
        deadline = time.monotonic() + seconds
        tried = []
        words = [word for sample in self.samples for word in sample]
        for k, dfa in cluster_automata(
            self.network, box, words, seed=self.seed, spent=lambda: time.monotonic() > deadline
        ):
            self.propose(dfa, f"{k} clusters of hidden vectors")
            tried.append(str(k))
        self.steps.append(f"k-means of hidden vectors with {', '.join(tried) or 'no'} clusters")


def _share(errors: int, words: int) -> str:
    return f"{errors:,} of {words:,} words ({errors / words:.2%})" if words else "no words"

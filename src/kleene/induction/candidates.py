"""Machines that a trained cell suggests, before it has states of its own.

The hidden vectors are clustered with several numbers of clusters; each clustering gives a table;
each table is mended against the words. The machine of the shortest description wins. Where the
cell has learned nothing, small machines are searched for from random tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.examples import Examples
from kleene.extraction.table import read_table
from kleene.induction.refine import Evidence, Mended, judge, mend
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.training.centroids import cluster, hidden_vectors

CLUSTERS = (8, 16, 32, 64)
MOST_SYMBOLS = 30
"""The largest alphabet over which small machines are searched for from random tables."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A machine, how well it explains the words, and where it comes from."""

    mended: Mended
    origin: str

    @property
    def dfa(self) -> DFA:
        """The machine."""
        return self.mended.dfa

    @property
    def accuracy(self) -> float:
        """The share of the words that it gets right."""
        return 1 - self.mended.errors / max(self.mended.words, 1)


def candidates(
    model: Model,
    examples: Examples,
    words: Sequence[Word],
    labels: Sequence[Label],
    *,
    clusters: Sequence[int] = CLUSTERS,
    seed: int = 0,
    enough: Callable[[Candidate], bool] = lambda candidate: False,
) -> list[Candidate]:
    """Machines suggested by a network, the shortest description first.

    More clusters are tried only as long as no machine gets every word right, and no machine that is
    good enough is found twice.
    """
    vectors = hidden_vectors(model.network, examples, seed=seed)
    found: list[Candidate] = []
    before: Candidate | None = None
    for count in clusters:
        network = with_centroids(model.network, cluster(vectors, count, seed))
        raw = read_table(replace(model, network=network)).dfa.minimize()
        evidence = Evidence.of(words, labels, raw, model.classes)
        plain = judge(raw.transitions, raw.initial, evidence)
        found.append(Candidate(mended=plain, origin=f"{count} clusters"))
        mended = mend(raw, evidence, seed=seed)
        if mended.bits < plain.bits:
            found.append(Candidate(mended=mended, origin=f"{count} clusters, mended"))
        best = found[-1]
        if best.mended.errors == 0:
            break
        if before is not None and best.dfa == before.dfa and enough(best):
            break
        before = best
    return sorted(found, key=lambda candidate: candidate.mended.bits)


def small_machines(
    words: Sequence[Word],
    labels: Sequence[Label],
    alphabet: Sequence[object],
    classes: Sequence[Label],
    *,
    sizes: Sequence[int] = (2, 3, 4, 5, 6),
    tries: int = 30,
    seed: int = 0,
) -> Candidate | None:
    """The best machine found from random small tables; None where that would take too long."""
    if len(alphabet) > MOST_SYMBOLS:
        return None
    random = np.random.default_rng(seed)
    best: Mended | None = None
    for size in sizes:
        for _ in range(tries):
            table = random.integers(0, size, (size, len(alphabet)), dtype=np.int32)
            outputs = tuple(classes[i % len(classes)] for i in range(size))
            start = DFA(alphabet=tuple(alphabet), transitions=table, outputs=outputs)
            evidence = Evidence.of(words, labels, start, classes)
            found = mend(start, evidence, seed=int(random.integers(2**31)), rounds=2)
            if best is None or found.bits < best.bits:
                best = found
            if best.errors == 0:
                return Candidate(mended=best, origin=f"search among machines of {size} states")
    return None if best is None else Candidate(mended=best, origin="search among small machines")


def with_centroids(network: Classifier, centroids: NDArray[np.float32]) -> Classifier:
    """A copy of a one-layer network that has the given centroids, the component on."""
    copy = Classifier(replace(network.config, num_states=len(centroids)))
    weights = network.state_dict()
    weights = {name: w for name, w in weights.items() if not name.startswith("rnn.centroids")}
    copy.load_state_dict(weights, strict=False)
    with torch.no_grad():
        copy.rnn.centroids(0).copy_(torch.from_numpy(centroids))
    copy.rnn.temperature = network.rnn.temperature
    return copy.to(network.device).eval()

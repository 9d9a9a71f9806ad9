"""Why states cost accuracy where a cell counts positions, and what helps.

One GRU and one LSTM are trained on motifs at a fixed place. Copies of them are given states in
several ways and trained on. "position" is how well a linear probe tells the position in the
sequence from the hidden vector (R^2), before the training with states. A machine that counts the
letters that match at the place shows how many states an automaton needs.

Run: python experiments/motif_states.py [--rows 1500] [--length 30]
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from copy import deepcopy
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np
import torch
from ledger import Ledger
from motifs import LETTERS, MOTIFS, fixed_motifs
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, softmax

from kleene.automata import DFA

HIDDEN, NEW = 64, 1_000
WAYS = ("mixture", "straight-through", "straight-through, metric of the gradients")
CLASSES = ("donor", "acceptor", "neither")


class Network(nn.Module):
    """A cell whose hidden vector is replaced by centroids, by a mixture or straight through."""

    def __init__(self, cell: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), 16)
        self.memory = cell == "lstm"
        self.cell = nn.LSTMCell(16, HIDDEN) if self.memory else nn.GRUCell(16, HIDDEN)
        self.head = nn.Linear(HIDDEN * (1 + self.memory), len(CLASSES))
        self.mode = "off"
        self.metric = torch.eye(HIDDEN)

    def forward(self, ids: Tensor) -> tuple[Tensor, list[Tensor], Tensor]:
        """Scores, hidden vectors of all steps, and the distance to the centroids."""
        h = c = torch.zeros(len(ids), HIDDEN)
        hidden, distance = [], torch.zeros(())
        for x in self.embedding(ids).unbind(1):
            if self.memory:
                u, c = self.cell(x, (h, c))
            else:
                u = self.cell(x, h)
            h, gap = self.states(u)
            hidden.append(h)
            distance = distance + gap / ids.shape[1]
        return self.head(torch.cat([h, c], 1) if self.memory else h), hidden, distance

    def states(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """The next hidden vector, and the distance of u to its centroid."""
        if self.mode == "off":
            return u, torch.zeros(())
        gaps = torch.cdist(u @ self.metric, self.centroids @ self.metric) ** 2
        if self.mode == "mixture":
            return softmax(-gaps / 0.3, 1) @ self.centroids, torch.zeros(())
        nearest = self.centroids[gaps.argmin(1)]
        gap = ((u - nearest.detach()) ** 2 + (u.detach() - nearest) ** 2).sum(1).mean()
        return u + (nearest - u).detach(), gap  # straight through: the gradient of u


def train(network: Network, ids: Tensor, labels: Tensor, *, epochs: int, rate: float) -> None:
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    for _ in range(epochs):
        for batch in torch.randperm(len(ids)).split(32):
            optimizer.zero_grad()
            scores, _, distance = network(ids[batch])
            (cross_entropy(scores, labels[batch]) + 0.25 * distance).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()


def with_states(cell: Network, ids: Tensor, count: int, way: str) -> Network:
    """A copy with k-means centroids; the third way clusters in the metric of the gradients.

    The metric is the mean of g g^T over all steps and classes, g = d score / d h_t: directions
    that no score depends on do not count.
    """
    scores, hidden, _ = cell(ids[:400])
    metric = torch.eye(HIDDEN)
    if way == WAYS[2]:
        total = torch.zeros(HIDDEN, HIDDEN)
        for column in scores.sum(0):
            for g in torch.autograd.grad(column, hidden, retain_graph=True):
                total += g.T @ g
        values, vectors = torch.linalg.eigh(total)
        metric = vectors * (values.clamp_min(0) / values.max()) ** 0.25
    vectors = torch.cat(hidden).detach()
    vectors = vectors[torch.from_numpy(np.random.default_rng(0).permutation(len(vectors))[:8000])]
    found = KMeans(count, n_init=1, random_state=0).fit((vectors @ metric).numpy())
    means = [vectors[found.labels_ == i].mean(0) for i in range(count)]
    copy = deepcopy(cell)
    copy.mode, copy.metric = way.split(",")[0], metric
    copy.centroids = nn.Parameter(torch.stack(means))
    return copy


@torch.no_grad()
def figures(network: Network, ids: Tensor, labels: Tensor) -> dict[str, float]:
    scores, hidden, _ = network(ids)
    vectors, length = torch.stack(hidden, 1).numpy(), ids.shape[1]
    half = len(ids) // 2
    position = np.tile(np.arange(length), half)
    probe = Ridge(1e-2).fit(vectors[:half].reshape(-1, HIDDEN), position)
    known = probe.score(vectors[half : 2 * half].reshape(-1, HIDDEN), position)
    accuracy = (scores.argmax(1) == labels).float().mean()
    return {"accuracy": round(float(accuracy), 4), "position": round(float(known), 3)}


@dataclass(frozen=True)
class Counting:
    """Reads the place of the motif, counts the letters that match each motif, ignores the rest."""

    length: int
    outputs: dict[tuple[int, int], str]
    alphabet: tuple[str, ...] = tuple(LETTERS)

    def start(self) -> tuple[int, int, int]:
        """The position, and how many letters match each motif."""
        return 0, 0, 0

    def step(self, state: tuple[int, int, int], letter: str) -> tuple[int, int, int]:
        """One letter further."""
        at, *matches = state
        place = at - self.length // 2
        size = len(MOTIFS["donor"])
        if 0 <= place < size:
            matches = [
                n + (MOTIFS[name][place] == letter) for n, name in zip(matches, MOTIFS, strict=True)
            ]
        return min(at + 1, self.length // 2 + size), matches[0], matches[1]

    def output(self, state: tuple[int, int, int]) -> str:
        """The class."""
        return self.outputs.get(state[1:], "neither")


def counting(rows: int, length: int) -> dict[str, float]:
    """States and accuracy of the minimal automaton that counts matching letters at the place."""
    texts, labels = fixed_motifs(rows + NEW, length=length, seed=0)
    votes: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    machine = Counting(length, {})
    for text, label in zip(texts[:rows], labels[:rows], strict=True):
        votes[reduce(machine.step, text, machine.start())[1:]][label] += 1
    best = {matches: votes[matches].most_common(1)[0][0] for matches in votes}
    dfa = DFA.from_machine(Counting(length, best)).minimize()
    right = dfa.run_many(texts[rows:]) == np.array(labels[rows:])
    return {"states": dfa.num_states, "accuracy": round(float(right.mean()), 4)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_500)
    parser.add_argument("--length", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts, names = fixed_motifs(options.rows + NEW, length=options.length, seed=0)
    ids = torch.tensor([[LETTERS.index(letter) for letter in text] for text in texts])
    labels = torch.tensor([CLASSES.index(name) for name in names])
    seen, new = (ids[: options.rows], labels[: options.rows]), (ids[-NEW:], labels[-NEW:])
    ledger = Ledger("motif_states")
    key = {"rows": options.rows, "length": options.length}
    work = partial(counting, options.rows, options.length)
    print(ledger.run(work, cell="none", states=0, way="counting automaton", **key), flush=True)
    for kind, counts in (("gru", (20, 64, 256)), ("lstm", (20,))):
        torch.manual_seed(0)
        cell = Network(kind)
        train(cell, *seen, epochs=40, rate=3e-3)
        ledger.run(lambda c=cell: figures(c, *new), cell=kind, states=0, way="plain cell", **key)
        for count in counts:
            for way in WAYS[: 2 if kind == "lstm" else 3]:
                work = partial(trained_states, cell, count, way, seen, new)
                print(ledger.run(work, cell=kind, states=count, way=way, **key), flush=True)


def trained_states(
    cell: Network, count: int, way: str, seen: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]
) -> dict[str, float]:
    torch.manual_seed(1)
    network = with_states(cell, seen[0], count, way)
    before = figures(network, *new)
    train(network, *seen, epochs=10, rate=1e-3)
    return {**figures(network, *new), "start": before["accuracy"], "position": before["position"]}


if __name__ == "__main__":
    main()

"""How far zonotopes go towards proving a plain `torch.nn.GRU` to be an automaton: a study.

For each state of the automaton (and the last symbols read) a box is laid around the hidden vectors
that long random words lead to, in the coordinates of their principal components. From every box all
words of m symbols are followed as zonotopes (Singh et al., 2018, for the gates; products by their
centres, with a new generator for the rest), in float64 without rounding. The box of the target
grows until nothing leaves it, which would be a proof, or until a class is not certain.

Run: python experiments/plain_gru_boxes.py
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.languages import tomita

Array = NDArray[np.float64]
GRAMMARS, WIDTHS = (1, 2, 4, 7), (8, 16, 32)
TRIED = ((1, 0), (3, 0), (1, 6), (3, 6), (5, 6))  # symbols followed, last symbols in the key
ROUNDS, GROWTH = 12, 1.1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=list(WIDTHS))
    parser.add_argument("--grammars", type=int, nargs="+", default=list(GRAMMARS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("plain_gru_boxes")
    for width in options.widths:
        for grammar in options.grammars:
            row = ledger.run(lambda g=grammar, w=width: run(g, w), grammar=grammar, width=width)
            print(row["key"], row["result"], flush=True)


def run(grammar: int, width: int) -> dict[str, Any]:
    language = tomita(grammar)
    gru, accuracy = train(language, width)
    tried = [{"steps": m, "last_symbols": k, **closes(gru, language.dfa, m, k)} for m, k in TRIED]
    return {"accuracy": accuracy, "tried": tried, "closed": any(t["closed"] for t in tried)}


# -- the network -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gru:
    """Weights in float64; the input of a symbol is a row of the identity."""

    W: Array
    R: Array
    b: Array
    c: Array
    head: Array
    bias: float

    def step(self, h: Array, symbols: Array) -> Array:
        """The next hidden vectors, one for each row."""
        x, q = self.W.T[symbols] + self.b, h @ self.R.T + self.c
        size = len(self.head)
        r = _sigmoid(x[:, :size] + q[:, :size])
        z = _sigmoid(x[:, size : 2 * size] + q[:, size : 2 * size])
        n = np.tanh(x[:, 2 * size :] + r * q[:, 2 * size :])
        return (1 - z) * n + z * h


def train(language: Any, width: int) -> tuple[Gru, float]:
    """A plain GRU that classifies its last hidden vector; accuracy on fresh words up to 60."""
    torch.manual_seed(0)
    gru, head = torch.nn.GRU(2, width, batch_first=True), torch.nn.Linear(width, 1)
    columns = {symbol: i for i, symbol in enumerate(language.alphabet)}
    words, labels = language.sample(2_000, range(1, 21), seed=0)
    x = torch.zeros(len(words), 20, 2)
    for row, word in enumerate(words):
        for at, symbol in enumerate(word):
            x[row, at, columns[symbol]] = 1
    ends = torch.tensor([len(word) - 1 for word in words])
    y = torch.tensor(labels).float()
    optimizer = torch.optim.Adam([*gru.parameters(), *head.parameters()], lr=1e-2)
    for epoch in range(60):
        for at in torch.randperm(len(words)).split(100):
            scores = head(gru(x[at])[0][torch.arange(len(at)), ends[at]])[:, 0]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(scores, y[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch > 20 and loss.item() < 1e-4:
            break
    weights = [
        getattr(gru, f"{name}_l0").detach().double().numpy()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    ]
    found = Gru(*weights, head.weight[0].detach().double().numpy(), head.bias.item())
    fresh, truth = language.sample(1_000, range(21, 61), seed=1)
    right = []
    for word, label in zip(fresh, truth, strict=True):
        h = np.zeros((1, width))
        for symbol in word:
            h = found.step(h, np.array([columns[symbol]]))
        right.append((h[0] @ found.head + found.bias > 0) == label)
    return found, float(np.mean(right))


# -- zonotopes ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Zonotope:
    """All c + e G with |e| <= 1; generators are rows."""

    c: Array
    G: Array

    @property
    def radius(self) -> Array:
        """Half the range of each coordinate."""
        return np.abs(self.G).sum(0)

    def with_rest(self, rest: Array, block: int) -> Zonotope:
        """The same with an own generator for each coordinate, in a block of rows nobody uses."""
        G = self.G.copy()
        at = len(G) - (block + 1) * len(rest)
        G[at : at + len(rest)] = np.diag(np.maximum(rest, 0))
        return Zonotope(self.c, G)


BLOCKS = 5  # of new generators in a step, so that all of its zonotopes have the same rows


def stepped(gru: Gru, h: Zonotope, symbol: int) -> Zonotope:
    """A zonotope that holds the next hidden vectors."""
    size = len(gru.head)
    h = Zonotope(h.c, np.concatenate([h.G, np.zeros((BLOCKS * size, size))]))
    x = gru.W[:, symbol] + gru.b
    q = [
        Zonotope(h.c @ rows.T + c, h.G @ rows.T)
        for rows, c in zip(np.split(gru.R, 3), np.split(gru.c, 3), strict=True)
    ]
    x_r, x_z, x_n = np.split(x, 3)
    r = smooth(Zonotope(x_r + q[0].c, q[0].G), _sigmoid, lambda s: s * (1 - s), 0)
    z = smooth(Zonotope(x_z + q[1].c, q[1].G), _sigmoid, lambda s: s * (1 - s), 1)
    inner = product(r, q[2], 2)
    n = smooth(Zonotope(x_n + inner.c, inner.G), np.tanh, lambda t: 1 - t * t, 3)
    mixed = product(z, Zonotope(h.c - n.c, h.G - n.G), 4)
    return Zonotope(n.c + mixed.c, n.G + mixed.G)


def smooth(a: Zonotope, function: Any, slope: Any, block: int) -> Zonotope:
    """The image under an S-shaped function: its least slope, and new generators for the rest."""
    low, high = function(a.c - a.radius), function(a.c + a.radius)
    lam = np.minimum(slope(low), slope(high))
    rest = (high - low) / 2 - lam * a.radius
    return Zonotope((low + high) / 2, a.G * lam).with_rest(rest, block)


def product(a: Zonotope, b: Zonotope, block: int) -> Zonotope:
    """The image under a product, coordinate by coordinate."""
    return Zonotope(a.c * b.c, a.G * b.c + b.G * a.c).with_rest(a.radius * b.radius, block)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


# -- the search --------------------------------------------------------------------------------


def closes(gru: Gru, dfa: DFA, m: int, k: int) -> dict[str, Any]:
    """Whether boxes by state and last k symbols close under all words of m symbols."""
    started = time.process_time()
    boxes = boxes_around(gru, dfa, k)
    spread = max(float(width.max()) for _, _, width in boxes.values())
    ratio, reason = 0.0, f"still growing after {ROUNDS} rounds"
    for number in range(ROUNDS):
        wider = {key: width.copy() for key, (_, _, width) in boxes.items()}
        starts = [(key, Zonotope(c, V.T * w[:, None])) for key, (c, V, w) in boxes.items()]
        starts.append(
            ((dfa.initial, ()), Zonotope(np.zeros(len(gru.head)), np.zeros((0, len(gru.head)))))
        )
        wrong = any(
            not follow(gru, dfa, key, zonotope, m, k, boxes, wider) for key, zonotope in starts
        )
        growth = max(float((wider[key] / boxes[key][2]).max()) for key in boxes)
        ratio = ratio or growth
        if wrong:
            reason = f"a class is not certain in round {number + 1}"
            break
        if growth <= 1:
            return _outcome(True, "closed", number, ratio, spread, len(boxes), started)
        boxes = {
            key: (c, V, np.where(wider[key] > w, wider[key] * GROWTH, w))
            for key, (c, V, w) in boxes.items()
        }
    return _outcome(False, reason, number, ratio, spread, len(boxes), started)


def _outcome(
    closed: bool, reason: str, rounds: int, ratio: float, spread: float, boxes: int, started: float
) -> dict[str, Any]:
    return {
        "closed": closed,
        "reason": reason,
        "rounds": rounds + 1,
        "first_growth": round(ratio, 3),
        "largest_half_width": round(spread, 3),
        "boxes": boxes,
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def follow(
    gru: Gru,
    dfa: DFA,
    key: Any,
    zonotope: Zonotope,
    m: int,
    k: int,
    boxes: dict[Any, tuple[Array, Array, Array]],
    wider: dict[Any, Array],
) -> bool:
    """Follow all words of m symbols and widen the boxes they end in; False: a class is open."""
    state, last = key
    if not m:
        if key not in boxes:
            return True  # shorter than k symbols: only from the start, and its classes are checked
        c, V, _ = boxes[key]
        reached = np.abs((zonotope.c - c) @ V) + np.abs(zonotope.G @ V).sum(0)
        wider[key] = np.maximum(wider[key], reached)
        return True
    for symbol in range(2):
        after = stepped(gru, zonotope, symbol)
        target = int(dfa.transitions[state][symbol])
        score = after.c @ gru.head + gru.bias
        sure = abs(score) > np.abs(after.G @ gru.head).sum()
        if not sure or (score > 0) != dfa.outputs[target]:
            return False
        recent = (*last, symbol)[-k:] if k else ()
        if not follow(gru, dfa, (target, recent), after, m - 1, k, boxes, wider):
            return False
    return True


def boxes_around(gru: Gru, dfa: DFA, k: int) -> dict[Any, tuple[Array, Array, Array]]:
    """Centre, principal axes and half-widths of the hidden vectors of random words, by key."""
    random = np.random.default_rng(0)
    words = random.integers(0, 2, (3_000, 40))
    words[1_000:] = random.random((2_000, 40)) < random.random((2_000, 1))  # runs of one symbol
    h, states = np.zeros((len(words), len(gru.head))), np.full(len(words), dfa.initial)
    found: dict[Any, list[Array]] = defaultdict(list)
    table = np.array(dfa.transitions)
    for t in range(words.shape[1]):
        h, states = gru.step(h, words[:, t]), table[states, words[:, t]]
        if t + 1 >= max(k, 3):
            recent = words[:, t + 1 - k : t + 1]
            for row in range(len(words)):
                found[int(states[row]), tuple(recent[row].tolist())].append(h[row])
    boxes = {}
    for key, points in found.items():
        sample = np.array(points)
        c = (sample.max(0) + sample.min(0)) / 2
        V = (
            np.linalg.svd(sample - c, full_matrices=True)[2].T
            if len(sample) <= 2_000
            else (np.linalg.eigh(np.cov(sample.T))[1])
        )
        boxes[key] = c, V, np.abs((sample - c) @ V).max(0) + 1e-6
    return boxes


if __name__ == "__main__":
    main()

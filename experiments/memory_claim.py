"""Does state regularisation move the memory from h to c? Claim (b) of the paper, measured.

The measures were fixed before the first run. Balanced parentheses, the small set, 10 units and 5
centroids as in the paper's figure, one attempt of the paper chapter's recipe without sharpening:

    probe    ridge regression of the depth from h and from c after each symbol, on fresh words of
             depth at most 5; R^2 on words that the regression has not seen
    swap     two prefixes of depths i != j are read; the suffix closes i. The share of pairs that
             are still accepted after h was replaced by that of the other prefix ("c decides"), and
             after c was ("h decides"), among pairs that the network answers right without a swap
    ablate   accuracy on prefix and suffix after h, or c, was replaced by its mean over all steps

If the claim holds, "c decides" is near 1 and "h decides" near 0 with states, and not so without.

Run: python experiments/memory_claim.py [--seeds 10]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.memory_runs import MODELS, Recipe, make_task, train
from paper.parentheses import longer
from paper.sets import parentheses_set
from sklearn.linear_model import RidgeCV
from torch import Tensor

from kleene.data.alphabet import START
from kleene.nn.classifier import Classifier
from kleene.nn.fused import load_kernels

HIDDEN, STATES, MAX_DEPTH = 10, 5, 5
RECIPE = Recipe(
    batch_size=32, epochs=100, patience=40, rmsprop_epochs=40, round_epochs=5, rounds=0, attempts=1
)
WORDS, PROBED, LENGTH, PAIRS = 300, 200, 24, 500
"""Words of the probe, those it is fitted on, symbols of a prefix, and pairs of prefixes."""
PICTURE = Path(__file__).parents[1] / "docs" / "img" / "memory-claim.png"
Carry = tuple[Tensor, Tensor]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    load_kernels()
    ledger = Ledger("memory_claim")
    recipe = {"hidden": HIDDEN, "states": STATES, "epochs": RECIPE.epochs, "pairs": PAIRS}
    for seed in range(options.seeds):
        for name in MODELS:
            row = ledger.run(partial(measure, name, seed), recipe=recipe, model=name, seed=seed)
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)
    draw(ledger.rows)


def draw(rows: list[dict[str, Any]]) -> None:
    """One dot for each network, one panel for each pair of measures: h below, c above."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    panels = {
        "depth, linear probe (R²)": ("R2 from h", "R2 from c"),
        "who decides after a swap": ("h decides", "c decides"),
        "accuracy without it": ("accuracy without h", "accuracy without c"),
    }
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2), sharey=True, layout="constrained")
    for axis, (title, names) in zip(axes, panels.items(), strict=True):
        for place, model in enumerate(MODELS):
            found = [row["result"] for row in rows if row["key"]["model"] == model]
            for shift, name, colour in zip(
                (-0.12, 0.12), names, ("#c2410c", "#1d4ed8"), strict=True
            ):
                values = [max(one[name], 0.0) for one in found]
                axis.plot([place + shift] * len(values), values, "o", ms=4, alpha=0.6, color=colour)
                axis.plot(place + shift, np.mean(values), "_", ms=18, color=colour)
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(MODELS)), list(MODELS), fontsize=8)
        axis.set_ylim(-0.03, 1.03)
    axes[0].plot([], [], "o", color="#c2410c", label="h")
    axes[0].plot([], [], "o", color="#1d4ed8", label="c")
    axes[0].legend(frameon=False, loc="lower left")
    figure.savefig(PICTURE, dpi=150)


def measure(name: str, seed: int) -> dict[str, Any]:
    """Train one network and measure where it keeps the depth."""
    data = parentheses_set("small", seed=seed)
    task = make_task(data, longer(data, seed))
    model, trained = train(
        task, name, states=STATES, hidden=HIDDEN, seed=seed, recipe=RECIPE, reporter=None
    )
    network, random = model.network.eval(), np.random.default_rng([seed, 5])
    reader = Reader(network, model.alphabet)
    with torch.no_grad():
        return {
            "error at depth 5": trained["errors"]["soft"]["d 5, l <= 200"],
            **probe(reader, random),
            **swap(reader, random),
        }


class Reader:
    """A network that can be stopped, changed and continued."""

    def __init__(self, network: Classifier, alphabet: Any) -> None:
        self.network, self.alphabet = network, alphabet

    def start(self, count: int) -> Carry:
        """Hidden vectors and memories after the start token."""
        zeros = self.network.rnn.zeros(count)
        return self._step(torch.full((count,), START), (zeros, zeros))

    def read(self, words: list[str], carry: Carry) -> list[Carry]:
        """The carries after each symbol of words of equal length."""
        ids = torch.from_numpy(np.array(self.alphabet.encode_many(words)))
        found = []
        for column in ids.T:
            carry = self._step(column, carry)
            found.append(carry)
        return found

    def accepts(self, suffixes: list[str], carry: Carry) -> np.ndarray:
        """Answers to suffixes of any length, one by one of equal length."""
        answers = np.zeros(len(suffixes), dtype=bool)
        for size in sorted({len(suffix) for suffix in suffixes}):
            rows = [i for i, suffix in enumerate(suffixes) if len(suffix) == size]
            h, c = carry[0][rows], carry[1][rows]
            if size:
                h, c = self.read([suffixes[i] for i in rows], (h, c))[-1]
            answers[rows] = self.network.classify([h], [c]).argmax(-1).numpy() == 1
        return answers

    def _step(self, ids: Tensor, carry: Carry) -> Carry:
        rnn = self.network.rnn
        gates = rnn.project(self.network.embedding(ids.long()))
        (scan,) = rnn.scan_layers(gates, [len(ids)], [carry[0]], [carry[1]])
        assert scan.last_memory is not None
        return scan.last_hidden, scan.last_memory


def prefixes(count: int, random: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Random prefixes of balanced words, and the depth after each symbol."""
    words, depths = [], np.zeros((count, LENGTH), dtype=np.int64)
    for row in range(count):
        word, depth = "", 0
        for time in range(LENGTH):
            choices = ["x"] + ["("] * (depth < MAX_DEPTH) + [")"] * (depth > 0)
            symbol = choices[int(random.integers(len(choices)))]
            symbol = chr(97 + int(random.integers(26))) if symbol == "x" else symbol
            depth += (symbol == "(") - (symbol == ")")
            word, depths[row, time] = word + symbol, depth
        words.append(word)
    return words, depths


def probe(reader: Reader, random: np.random.Generator) -> dict[str, float]:
    """R^2 of the depth from h and from c, on words that were not fitted."""
    words, depths = prefixes(WORDS, random)
    steps = reader.read(words, reader.start(WORDS))
    found = {}
    for name, place in (("h", 0), ("c", 1)):
        values = np.stack([step[place].numpy() for step in steps], 1)  # word time unit
        flat = values[:PROBED].reshape(-1, values.shape[-1])
        fitted = RidgeCV(np.logspace(-4, 2, 7)).fit(flat, depths[:PROBED].ravel())
        unseen = values[PROBED:].reshape(-1, values.shape[-1])
        found[f"R2 from {name}"] = float(fitted.score(unseen, depths[PROBED:].ravel()))
    return found


def swap(reader: Reader, random: np.random.Generator) -> dict[str, float]:
    """Who decides after h or c was exchanged, and what is left without either."""
    words, depths = prefixes(20 * PAIRS, random)
    by_depth = [np.flatnonzero(depths[:, -1] == depth).tolist() for depth in range(MAX_DEPTH + 1)]
    first, second = [], []
    while len(first) < PAIRS:
        i, j = random.permutation(np.arange(1, MAX_DEPTH + 1))[:2].tolist()
        first.append(int(random.choice(by_depth[i])))
        second.append(int(random.choice(by_depth[j])))
    closing = [")" * int(depths[row, -1]) for row in first]
    h, c = reader.read(words, reader.start(len(words)))[-1]
    own, other = (h[first], c[first]), (h[second], c[second])
    right = reader.accepts(closing, own) & ~reader.accepts(closing, other)
    by_c, by_h = (other[0], own[1]), (own[0], other[1])
    count = max(int(right.sum()), 1)
    wrong_end = [suffix + ")" for suffix in closing]
    mean_h, mean_c = h.mean(0).expand_as(own[0]), c.mean(0).expand_as(own[1])
    found = {
        "pairs answered right": float(right.mean()),
        "c decides": float((reader.accepts(closing, by_c) & right).sum() / count),
        "h decides": float((reader.accepts(closing, by_h) & right).sum() / count),
    }
    for name, carry in (("none", own), ("h", (mean_h, own[1])), ("c", (own[0], mean_c))):
        accepted = reader.accepts(closing, carry), reader.accepts(wrong_end, carry)
        found[f"accuracy without {name}"] = float((accepted[0].mean() + (~accepted[1]).mean()) / 2)
    return found


if __name__ == "__main__":
    main()

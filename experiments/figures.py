"""The paper's figures, redrawn from our own models.

- transition probabilities of an SR-GRU (k = 10) on Tomita 1 for a range of temperatures,
- the automata of Tomita 1-7,
- states in use against the number of centroids,
- parentheses: trajectories, the counter machine, validation curves by the number of centroids.

Run: python experiments/figures.py [--memory MODELS], the --models of `experiments/reproduce.py bp`
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import torch
from ledger import Ledger
from page import chosen, load
from paper.sets import parentheses_set

import kleene as kl
from kleene.data.batch import make_batch
from kleene.extraction.counter.extract import extract_counter
from kleene.model import Model
from kleene.passes.table import transition_table
from kleene.report.plots import COLORS, save, trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

matplotlib.use("Agg")
WORD = "(ab(c(d)e)(f)())g((h)(("
LENGTHS = [*range(16), 20, 25, 30]
IMAGES = Path(__file__).parents[1] / "docs" / "img"
TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0, 20.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", type=Path, help="only parentheses, from this folder of models")
    folder = parser.parse_args().memory
    torch.set_num_threads(1)
    if folder is not None:
        memory(folder)
        return
    temperatures()
    automata()
    states_in_use()


def learn(grammar: int, **settings: Any) -> kl.SequenceClassifier:
    words, labels = kl.languages.tomita(grammar).sample(2000, lengths=LENGTHS, seed=0)
    return kl.SequenceClassifier(random_state=0, **settings).fit(words, labels)


def temperatures() -> None:
    """Probabilities of the ten states along `[10]`; up to which temperature it is an automaton."""
    import matplotlib.pyplot as plt

    classifier = learn(1, states=10)
    network, running = classifier.network_, classifier.network_.rnn.temperature
    batch = make_batch(classifier.alphabet_.encode_many(["10"]))
    figure, axes = plt.subplots(3, len(TEMPERATURES), figsize=(12, 4.5), sharey=True)
    for column, temperature in enumerate(TEMPERATURES):
        network.rnn.temperature = temperature
        with torch.no_grad():
            probs = network.trace(batch).probs[0].numpy()
        for row, symbol in enumerate(["start", "1", "0"]):
            axes[row, column].bar(np.arange(10), probs[row], color="#0072B2")
            axes[row, column].set_ylim(0, 1)
            axes[row, column].set_xticks([])
            if column == 0:
                axes[row, column].set_ylabel(symbol)
        mark = " (running)" if np.isclose(temperature, running) else ""
        axes[0, column].set_title(f"temperature {temperature:g}{mark}", fontsize=9)
        axes[2, column].set_xlabel("state")
    network.rnn.temperature = running
    figure.suptitle(f"Tomita 1, SR-GRU with 10 states, trained at temperature {running:.1f}")
    figure.tight_layout()
    figure.savefig(IMAGES / "tomita1_temperatures.png", dpi=110)


def automata() -> None:
    """The machine of every Tomita language, from a network with default settings."""
    for grammar in range(1, 8):
        reading = learn(grammar).extract()
        reading.dfa.draw(IMAGES / f"tomita{grammar}.svg")


def states_in_use() -> None:
    """How many of k states a network uses, and how many the minimal automaton has."""
    import matplotlib.pyplot as plt

    ledger = Ledger("states_in_use")
    counts, grammars = (5, 10, 20, 50), (1, 2, 4, 7)
    figure, axis = plt.subplots(figsize=(6, 4))
    for grammar in grammars:
        rows = [
            ledger.run(lambda g=grammar, k=k: used(g, k), grammar=grammar, k=k)["result"]
            for k in counts
        ]
        axis.plot(counts, [row["in_use"] for row in rows], marker="o", label=f"Tomita {grammar}")
    axis.plot(counts, counts, color="grey", linestyle=":", label="all of them")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xticks(counts, map(str, counts))
    axis.set_yticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
    axis.minorticks_off()
    axis.set_xlabel("states offered (k)")
    axis.set_ylabel("states in use")
    axis.legend()
    figure.tight_layout()
    figure.savefig(IMAGES / "states_in_use.png", dpi=110)


def used(grammar: int, states: int) -> dict[str, Any]:
    classifier = learn(grammar, states=states)
    table = transition_table(classifier.model)
    return {
        "in_use": table.dfa.num_states,
        "minimal": table.dfa.minimize().num_states,
        "exact": bool(table.dfa == kl.languages.tomita(grammar).dfa),
    }


def memory(folder: Path) -> None:
    """The figures of parentheses."""
    names = {"LSTM": "large-LSTM-0-0", "SR-LSTM-P": "large-SR-LSTM-P-5-0"}
    models = {n: Model.load(folder / p) for n, p in names.items() if (folder / p).is_dir()}
    if models:
        save(trajectories(models, WORD), IMAGES / "trajectories.svg")
    if "SR-LSTM-P" in models:
        words = parentheses_set("small", seed=0).train.words
        extract_counter(models["SR-LSTM-P"], words).machine.minimize().draw(IMAGES / "counter.svg")
    save(curves(), IMAGES / "parentheses-states.svg")


def curves() -> Figure:
    """Validation error by epoch on the small set, a line per number of centroids."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.2), layout="constrained")
    axes = figure.subplots()
    rows = load("parentheses")
    for color, states in zip(COLORS, (2, 5, 10, 50), strict=False):
        found = chosen(rows, size="small", model="SR-LSTM-P", states=states)
        series = [row["result"]["validation_error"] for row in found]
        if series:
            longest = max(map(len, series))
            padded = np.array([s + s[-1:] * (longest - len(s)) for s in series], dtype=float)
            axes.plot(np.median(padded, axis=0), color=color, label=f"k = {states}", lw=1.6)
    axes.set(xlabel="epoch", ylabel="validation error (median)")
    axes.grid(alpha=0.25)
    if axes.lines:
        axes.legend(frameon=False)
    return figure


if __name__ == "__main__":
    main()

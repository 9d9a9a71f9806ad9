"""The paper's figures, redrawn from our own models.

- transition probabilities of an SR-GRU on Tomita 1 for a range of temperatures, at the paper's
  setting: dot product, temperature 1, 10 centroids, trained by the paper's recipe,
- the automata of Tomita 1-7, read from networks trained by gradient,
- parentheses: trajectories, the counter machine, validation curves by the number of centroids.

Run: python experiments/figures.py [--memory MODELS], the --models of `experiments/reproduce.py bp`
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import process_time
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
from kleene.report.plots import COLORS, save, trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

matplotlib.use("Agg")
WORD = "(ab(c(d)e)(f)())g((h)(("
IMAGES = Path(__file__).parents[1] / "docs" / "img"
PAPER = {"learn": "paper", "states": 10}
SEED = 200
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


def learn(grammar: int, **settings: Any) -> tuple[kl.SequenceClassifier, float]:
    """A network that learned a Tomita language by gradient, and the CPU seconds it took."""
    words, labels = kl.languages.tomita(grammar).sample(2000, seed=1_000 * SEED + grammar)
    started = process_time()
    classifier = kl.SequenceClassifier(random_state=SEED, **settings).fit(words, labels)
    return classifier, round(process_time() - started, 1)


def temperatures() -> None:
    """The paper's figure: alpha along `[10]` for some temperatures, dot product, ten states."""
    Ledger("figures").run(draw_temperatures, recipe=PAPER, figure="temperatures", seed=SEED)


def draw_temperatures() -> dict[str, Any]:
    import matplotlib.pyplot as plt

    classifier, seconds = learn(1, **PAPER)
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
        mark = " (trained)" if np.isclose(temperature, running) else ""
        axes[0, column].set_title(f"temperature {temperature:g}{mark}", fontsize=9)
        axes[2, column].set_xlabel("centroid")
    network.rnn.temperature = running
    figure.suptitle(
        "Tomita 1, SR-GRU with 10 centroids and the dot product: alpha after each symbol"
    )
    figure.tight_layout()
    figure.savefig(IMAGES / "tomita1_temperatures.png", dpi=110)
    reading = classifier.extract()
    return {
        "fit_seconds": seconds,
        "temperature": float(running),
        "similarity": network.config.similarity,
        "states": network.config.num_states,
        "states_in_use": reading.states_in_use,
        "exact": bool(reading.dfa == kl.languages.tomita(1).dfa),
    }


def automata() -> None:
    """The table of a network trained on each Tomita language; states are numbers of centroids."""
    for grammar in range(1, 8):
        work = partial(draw_automaton, grammar)
        row = Ledger("figures").run(
            work, recipe={"learn": "network"}, figure="automaton", language=grammar, seed=SEED
        )
        print(row["key"], row["result"], flush=True)


def draw_automaton(grammar: int) -> dict[str, Any]:
    classifier, seconds = learn(grammar, learn="network")
    reading = classifier.extract(method="table")
    reading.raw.draw(IMAGES / f"tomita{grammar}.svg")
    return {
        "fit_seconds": seconds,
        "origin": classifier.origin_,
        "centroids": classifier.network_.config.num_states,
        "states_in_use": reading.raw.num_states,
        "minimal": reading.dfa.num_states,
        "exact": bool(reading.dfa == kl.languages.tomita(grammar).dfa),
        "proved": reading.certificate is not None,
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

"""Pictures of memory at work: trajectories, the counter machine, validation curves over k.

Run: python experiments/memory_figures.py MODELS, the --models of `experiments/reproduce.py bp`
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from memory_tables import chosen, load
from paper.sets import parentheses_set

from kleene.extraction.counter.extract import extract_counter
from kleene.model import Model
from kleene.report.plots import COLORS, save
from kleene.report.trajectories import trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

IMAGES = Path(__file__).parents[1] / "docs" / "img"
WORD = "(ab(c(d)e)(f)())g((h)(("


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    folder = parser.parse_args().models
    IMAGES.mkdir(parents=True, exist_ok=True)
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

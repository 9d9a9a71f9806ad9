"""Pictures of what networks do, as matplotlib figures: no window, no global state.

`save(figure, path)` writes any of them; the ending of the path tells the format.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from kleene.arrays import Floats
from kleene.errors import DataError, SettingError, extra
from kleene.explain.markup import as_text
from kleene.files import write_atomically
from kleene.machine import Label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kleene.extraction.front import FrontPoint

FORMATS = ("png", "svg", "pdf")
# Okabe and Ito's colours, which readers of any colour vision can tell apart, then more.
COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#999933",
    "#882255",
    "#44AA99",
)
MAX_TICKS = 60  # symbols written below an axis


def save(figure: Figure, path: str | Path, dpi: int = 150) -> Path:
    """Write a figure; a reader never sees half of it."""
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in FORMATS:
        raise SettingError(f"cannot draw as {ending!r}; choose one of {', '.join(FORMATS)}")
    content = io.BytesIO()
    with warnings.catch_warnings():  # symbols of scripts that the font lacks show as boxes
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(content, format=ending, dpi=dpi)
    return write_atomically(path, content.getvalue())


def transition_maps(
    maps: ArrayLike, classes: Sequence[Label], names: Sequence[int | str] | None = None
) -> Figure:
    """A grid of mean transition probabilities over the pixels, (class, state, row, column).

    `names` are the names of the columns, where some states are left out.
    """
    grid = np.asarray(maps)
    if grid.ndim != 4 or len(grid) != len(classes):
        raise DataError(
            f"maps must have the shape (class, state, row, column) with {len(classes)} classes, "
            f"got {grid.shape}"
        )
    with extra("draw"):
        from matplotlib.figure import Figure

    rows, columns = grid.shape[:2]
    figure = Figure(figsize=(1.2 + 0.85 * columns, 0.6 + 0.85 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    low, high = grid.min((0, 2, 3)), grid.max((0, 2, 3))  # each state has its own scale
    for r in range(rows):
        for c in range(columns):
            axes[r, c].imshow(grid[r, c], cmap="magma", vmin=low[c], vmax=high[c])
            axes[r, c].set(xticks=[], yticks=[])
            if r == 0:
                axes[r, c].set_title(str(c if names is None else names[c]), fontsize=8, pad=2)
        axes[r, 0].set_ylabel(as_text(classes[r]), rotation=0, ha="right", va="center", fontsize=9)
    figure.suptitle("mean probability of moving to each state (columns), by class (rows)", size=10)
    return figure


def size_against_error(front: Iterable[FrontPoint]) -> Figure:
    """The front of a reading: how often automata of each size differ from the network."""
    with extra("draw"):
        from matplotlib.figure import Figure

    points = list(front)
    figure = Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    states = [point.states for point in points]
    for name, values, marker in (
        ("held-out sequences", [point.held_out_error for point in points], "o"),
        ("random sequences", [point.random_error for point in points], "x"),
    ):
        axes.plot(states, [100 * value for value in values], marker=marker, label=name)
    axes.set_xscale("log")
    axes.set_xlabel("states of the automaton")
    axes.set_ylabel("% labelled unlike the network")
    axes.grid(alpha=0.25)
    axes.legend(frameon=False)
    return figure


def tsne(features: ArrayLike, labels: Sequence[Label], *, seed: int = 0) -> Figure:
    """Transition features, (word, state), laid out in the plane by t-SNE, coloured by label."""
    with extra("draw"):
        from matplotlib import colormaps
        from matplotlib.figure import Figure

    values = np.asarray(features, dtype=np.float32)
    if len(values) < 4 or len(values) != len(labels):
        raise DataError(
            f"t-SNE needs at least 4 rows with a label each, got {len(values)} rows and "
            f"{len(labels)} labels"
        )
    places, names = tsne_layout(values, seed), sorted(set(labels), key=str)
    few = len(names) <= len(COLORS)
    palette = COLORS if few else colormaps["tab20"](np.linspace(0, 1, 20))
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        x, y = places[[label == name for label in labels]].T
        color = palette[i % len(palette)]
        axes.scatter(x, y, s=7, color=color, alpha=0.7, lw=0, label=as_text(name))
    axes.set(xticks=[], yticks=[])
    axes.set_title("t-SNE of transition features", fontsize=10)
    axes.legend(
        markerscale=2.5, fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return figure


def tsne_layout(features: Floats, seed: int) -> Floats:
    """Points of the plane, (row, 2), near each other where the features are."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    jitter = np.random.default_rng(seed).normal(0, 1e-4, features.shape)  # equal rows stay apart
    if features.shape[1] < 2:  # one state: nothing to lay out
        features = np.pad(features, ((0, 0), (0, 1)))
    model = TSNE(perplexity=min(30.0, (len(features) - 1) / 3), init="pca", random_state=seed)
    with threadpool_limits(1):  # more threads are slower on a busy machine
        layout: Floats = model.fit_transform(np.round(features, 3) + jitter)
    return layout

"""Pictures of what networks do, as matplotlib figures: no window, no global state.

`save(figure, path)` writes any of them; the ending of the path tells the format.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kleene.errors import DataError, SettingError
from kleene.explain.explain import Explanation
from kleene.explain.faithfulness import Faithfulness
from kleene.explain.markup import as_text
from kleene.files import write_atomically
from kleene.machine import Label, Symbol

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kleene.external.front import ReadingPoint

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
MOST_TICKS = 60  # symbols written below an axis


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

    `names` are those of the columns where they are not all the states.
    """
    grid = np.asarray(maps)
    if grid.ndim != 4 or len(grid) != len(classes):
        raise DataError(
            f"maps must have the shape (class, state, row, column) with {len(classes)} classes, "
            f"got {grid.shape}"
        )
    rows, columns = grid.shape[:2]
    figure, axes = _grid(rows, columns)
    low, high = grid.min((0, 2, 3)), grid.max((0, 2, 3))  # each state has its own scale
    for r in range(rows):
        for c in range(columns):
            axes[r, c].imshow(grid[r, c], cmap="magma", vmin=low[c], vmax=high[c])
            if r == 0:
                axes[r, c].set_title(str(c if names is None else names[c]), fontsize=8, pad=2)
        axes[r, 0].set_ylabel(as_text(classes[r]), rotation=0, ha="right", va="center", fontsize=9)
    figure.suptitle("mean probability of moving to each state (columns), by class (rows)", size=10)
    return figure


def image_explanations(
    images: ArrayLike, explanations: Sequence[Explanation], states: Sequence[int]
) -> Figure:
    """Images (image, row, column) on top, and below each its maps for some states.

    Each state has its own scale, from 0 to its highest probability.
    """
    pictures = np.asarray(images)
    if len(pictures) != len(explanations):
        raise DataError(
            f"each image must have one explanation, got {len(pictures)} images and "
            f"{len(explanations)} explanations"
        )
    figure, axes = _grid(1 + len(states), len(pictures))
    size = (pictures.shape[1], pictures.shape[2])
    maps = np.stack([explanation.maps(size)[list(states)] for explanation in explanations])
    highest = maps.max((0, 2, 3))
    for c, (picture, explanation) in enumerate(zip(pictures, explanations, strict=True)):
        axes[0, c].imshow(picture, cmap="gray_r")
        axes[0, c].set_title(as_text(explanation.prediction), fontsize=9, pad=2)
        for r, state in enumerate(states, start=1):
            axes[r, c].imshow(maps[c, r - 1], cmap="magma", vmin=0, vmax=highest[r - 1])
            axes[r, 0].set_ylabel(f"state {state}", rotation=0, ha="right", va="center", fontsize=8)
    return figure


def state_map(explanation: Explanation) -> Figure:
    """P of one word: a column a symbol, a row a state."""
    from matplotlib.figure import Figure

    time, states = explanation.probs.shape
    figure = Figure(figsize=(min(2 + 0.22 * time, 16), 1.2 + 0.22 * states), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(explanation.probs.T, aspect="auto", cmap="magma", vmin=0, vmax=1)
    names = [f"{i} {as_text(label)}" for i, label in enumerate(explanation.state_labels)]
    axes.set_yticks(range(states), names, fontsize=8)
    _symbols_below(axes, explanation.word)
    figure.colorbar(image, ax=axes, label="probability")
    axes.set_title(f"predicted: {as_text(explanation.prediction)}", fontsize=10)
    return figure


def scatter(points: ArrayLike, labels: Sequence[Label], title: str = "") -> Figure:
    """Points of the plane, (point, 2), coloured by label."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    places = np.asarray(points)
    names = sorted(set(labels), key=str)
    few = len(names) <= len(COLORS)
    palette = COLORS if few else colormaps["tab20"](np.linspace(0, 1, 20))
    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        mine = np.array([label == name for label in labels])
        color = palette[i % len(palette)]
        axes.scatter(
            places[mine, 0], places[mine, 1], s=7, color=color, alpha=0.7, lw=0, label=as_text(name)
        )
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_title(title, fontsize=10)
    axes.legend(
        markerscale=2.5, fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return figure


def size_against_error(front: Iterable[ReadingPoint]) -> Figure:
    """The front of a reading: how often automata of each size differ from the network."""
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


def tsne(features: ArrayLike, labels: Sequence[Label], *, seed: int = 0, title: str = "") -> Figure:
    """Transition features, (word, state), laid out in the plane by t-SNE, coloured by label."""
    from sklearn.manifold import TSNE

    values = np.asarray(features, dtype=np.float32)
    if len(values) < 4 or len(values) != len(labels):
        raise DataError(
            f"t-SNE needs at least 4 rows with a label each, got {len(values)} rows and "
            f"{len(labels)} labels"
        )
    perplexity = min(30.0, (len(values) - 1) / 3)
    layout = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(values)
    return scatter(layout, labels, title or "t-SNE of transition features")


def faithfulness_curves(measured: Faithfulness) -> Figure:
    """Mean deletion and insertion curves of all methods."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for i, curves in enumerate(measured.curves):
        color, style = COLORS[i % len(COLORS)], "--" if curves.method == "random" else "-"
        for axes, values, area in (
            (left, curves.deletion, curves.deletion_area),
            (right, curves.insertion, curves.insertion_area),
        ):
            label = f"{curves.method} ({area:.3f})"
            axes.plot(curves.fractions, values.mean(0), style, color=color, label=label, lw=1.6)
    left.set(xlabel="share of symbols deleted", ylabel="probability of the prediction")
    right.set(xlabel="share of symbols inserted")
    for axes, best in ((left, "low is good"), (right, "high is good")):
        axes.set_title(best, fontsize=9)
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8, frameon=False)
    return figure


def _grid(rows: int, columns: int) -> tuple[Figure, Any]:
    """A figure full of small pictures without axes, (row, column)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + 0.85 * columns, 0.6 + 0.85 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for one in axes.flat:
        one.set_xticks([])
        one.set_yticks([])
    return figure, axes


def _symbols_below(axes: Any, symbols: Sequence[Symbol]) -> None:
    """Name the steps of the time axis by their symbols, where there is room."""
    if len(symbols) > MOST_TICKS:
        axes.set_xlabel("step")
        return
    texts = [as_text(symbol).replace("$", r"\$") for symbol in symbols]
    turned = 90 if max(map(len, texts), default=0) > 2 else 0
    axes.set_xticks(range(len(texts)), texts, rotation=turned, fontsize=8)

"""Pictures of what networks do, as matplotlib figures: no window, no global state.

`save(figure, path)` writes any of them; the ending of the path tells the format.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kleene.arrays import Floats
from kleene.errors import DataError, SettingError, extra
from kleene.explain.markup import as_text
from kleene.extraction.words import encode_words
from kleene.files import write_atomically
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.passes.memory import counting_units, record_memory
from kleene.passes.prefixes import Prefixes

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
THIN, BOLD = 1.0, 2.8  # lines; the unit that counts is bold
COUNTING = COLORS[3]


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


def trajectories(models: Model | Mapping[str, Model], word: Word, *, units: int = 10) -> Figure:
    """One column per model (several by their names): h_t, c_t and the states along a word.

    The unit of the memory that counts is bold, and the same unit of the hidden vector, so that a
    network that counts in its memory looks unlike one that counts in its hidden vector.

    At most `units` units are shown: the unit that counts, and the units that move most.
    """
    with extra("draw"):
        from matplotlib.figure import Figure

    named = {"": models} if isinstance(models, Model) else dict(models)
    if units < 1 or not named:
        raise SettingError(
            f"models and units must be at least 1, got {len(named)} models and units={units}"
        )
    if not len(word):
        raise DataError("the sequence must have at least one symbol, got an empty one")
    width = min(3.5 + 0.13 * len(word), 12 if len(named) == 1 else 7)
    figure = Figure(figsize=(width * len(named), 5.4), layout="constrained")
    rows = figure.subplots(
        3, len(named), squeeze=False, sharex=True, height_ratios=[1, 1, 0.16], sharey="row"
    )
    for column, (name, model) in zip(rows.T, named.items(), strict=True):
        _draw(column, model, word, units)
        column[0].set_title(name or str(model.network.rnn.cell.name), fontsize=10)
    rows[0, 0].set_ylabel("hidden $h_t$")
    rows[1, 0].set_ylabel("memory $c_t$")
    rows[2, 0].set_ylabel("state", rotation=0, ha="right", va="center", fontsize=8)
    return figure


def _draw(axes: Any, model: Model, word: Word, units: int) -> None:
    record = record_memory(model, encode_words(model, [word]))
    counting = _counting(record)
    shown = _shown(record, counting, units)
    others = [color for color in COLORS if color != COUNTING]
    for axis, values in ((axes[0], record.hidden), (axes[1], record.memory)):
        for number, unit in enumerate(shown):
            style = {"lw": THIN, "alpha": 0.8, "zorder": 2.0}
            if unit == counting:
                style = {"lw": BOLD, "alpha": 1.0, "zorder": 3.0}
            color = COUNTING if unit == counting else others[number % len(others)]
            axis.plot(values[:, unit], color=color, label=f"unit {unit}", **style)
        axis.grid(alpha=0.25)
    if counting is not None:
        axes[1].annotate(
            f"unit {counting} counts",
            (0.01, 0.95),
            xycoords="axes fraction",
            color=COUNTING,
            fontsize=8,
            va="top",
        )
    _ribbon(axes[2], model, record)
    _symbols(axes[2], [model.alphabet.decode([i])[0] for i in record.words[0]])


def _counting(record: Prefixes) -> int | None:
    """The unit of the memory that counts most cleanly on this word, if one does."""
    found = counting_units(record) if record.memory.shape[1] else []
    return found[0].unit if found else None


def _shown(record: Prefixes, counting: int | None, units: int) -> list[int]:
    """The units to draw, in their order."""
    moves: Floats = np.abs(np.diff(record.memory, axis=0)).sum(0)
    order = [unit for unit in np.argsort(-moves).tolist() if unit != counting]
    first = [] if counting is None else [counting]
    return sorted([*first, *order][:units])


def _ribbon(axis: Any, model: Model, record: Prefixes) -> None:
    """A coloured cell for the state after each step."""
    axis.set_yticks([])
    if not model.network.rnn.num_states:
        axis.text(0.5, 0.5, "no states", transform=axis.transAxes, ha="center", va="center", size=8)
        return
    states = record.states
    names = {state: i for i, state in enumerate(dict.fromkeys(states.tolist()))}
    for time, state in enumerate(states.tolist()):
        color = COLORS[names[state] % len(COLORS)]
        axis.axvspan(time - 0.5, time + 0.5, color=color, alpha=0.55, lw=0)
        if len(states) <= MAX_TICKS:
            axis.text(time, 0.5, str(state), ha="center", va="center", fontsize=7)
    axis.set_ylim(0, 1)


def _symbols(axis: Any, symbols: list[Symbol]) -> None:
    """The word below the axis, the start token as a dot."""
    if len(symbols) > MAX_TICKS:
        axis.set_xlabel("step")
        return
    texts = ["·", *(as_text(symbol).replace("$", r"\$") for symbol in symbols)]
    axis.set_xticks(range(len(texts)), texts, fontsize=8)

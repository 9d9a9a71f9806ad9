"""Where in an image each state is entered: the figure of docs/results/states.md.

Run: python experiments/digit_maps.py MODEL t10k-images-idx3-ubyte.gz --out maps.png

The mean probability of each state by class and pixel, for the states that tell the classes apart
most. The first column is the picture that all states make together, each as bright as fits the
pixels best. Classes are the network's answers. `--tsne FILE` also lays the images out by their
transition features.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from kleene.arrays import Floats, Ints
from kleene.data.batch import Encoded
from kleene.datasets.mnist import Images, read_idx
from kleene.errors import DataError
from kleene.evaluation.metrics import predict
from kleene.explain.features import features
from kleene.explain.markup import as_text
from kleene.explain.traces import batched_traces
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.report import plots

MAX_STATES = 10
MAX_WORDS = 500  # words from which the brightness of the states is taken


def read_images(path: str, model: Model) -> list[Encoded]:
    """The images of an IDX file, pooled to as many pixels as the model was trained on."""
    pixels = read_idx(path)
    images = Images(pixels=pixels, labels=np.zeros(len(pixels), np.int64))
    rows, columns = images.shape
    for size in range(1, rows + 1):
        if rows * columns == model.longest * size**2 and rows % size == columns % size == 0:
            return list(images.pooled(size).vectors())
    raise DataError(f"images must have {model.longest} pixels, or a multiple, got {images.shape}")


def transition_maps(
    network: Classifier, encoded: Sequence[Encoded], labels: Ints | None = None
) -> Floats:
    """Mean transition probabilities by class, state and place in the word, (class, state, time).

    For images read pixel by pixel these are the paper's prototypes of the digits, once the last
    axis is given the shape of the images. All words must be of one length. Classes are those of
    `labels`, else the predicted ones; a class without words has zeros.
    """
    lengths = sorted({len(word) for word in encoded})
    if len(lengths) != 1:
        got = f"{len(lengths)}, from {lengths[0]} to {lengths[-1]}" if lengths else "no words"
        raise DataError(f"words must have one length, got {got}; give images of one size")
    sums = np.zeros((network.config.num_classes, lengths[0], network.config.num_states))
    counts = np.zeros(network.config.num_classes, np.int64)
    for traced in batched_traces(network, encoded):
        of = traced.predicted if labels is None else np.asarray(labels)[traced.batch.order]
        for label in np.unique(of):
            sums[label] += traced.probs[of == label, 1:].sum(0)
        counts += np.bincount(of, minlength=len(counts))
    means: Floats = (sums / np.maximum(counts, 1)[:, None, None]).astype(np.float32)
    return means.transpose(0, 2, 1)


def states_picture(network: Classifier, encoded: Sequence[Encoded], maps: Floats) -> Floats:
    """The picture that all states make together, (class, time), for words of single numbers.

    `maps` are the transition maps. Each state is as bright as makes the sum of alpha_i level_i
    closest to the input (least squares over some words).
    """
    states = network.config.num_states
    gram, moments = np.zeros((states, states)), np.zeros(states)
    for traced in batched_traces(network, encoded[:MAX_WORDS]):
        for row, word in enumerate(traced.batch.order):
            probs = traced.probs[row, 1 : 1 + len(encoded[word])].astype(np.float64)
            gram += probs.T @ probs
            moments += encoded[word][:, 0] @ probs
    levels = np.linalg.lstsq(gram, moments, rcond=1e-6)[0].astype(np.float32)
    picture: Floats = np.einsum("cst,s->ct", maps, levels)
    return picture


def telling_states(maps: Floats) -> Ints:
    """States in the order in which their maps, (class, state, time), tell the classes apart."""
    order: Ints = np.argsort(-maps.std(0).mean(-1), kind="stable")
    return order


def maps_figure(
    maps: ArrayLike, classes: Sequence[Label], names: Sequence[int | str] | None = None
) -> Figure:
    """A grid of mean transition probabilities over the pixels, (class, state, row, column).

    `names` are the names of the columns, where some states are left out.
    """
    grid = np.asarray(maps)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("images")
    parser.add_argument("--out", type=Path, default=Path("maps.png"))
    parser.add_argument("--tsne", type=Path)
    parser.add_argument("--number", type=int, default=2000)
    given = parser.parse_args()
    model = Model.load(given.model)
    encoded = read_images(given.images, model)[: given.number]
    found = transition_maps(model.network, encoded)
    chosen = sorted(telling_states(found)[:MAX_STATES].tolist())
    picture = states_picture(model.network, encoded, found)
    drawn = np.concatenate([picture[:, None], found[:, chosen]], 1)
    size = round(drawn.shape[-1] ** 0.5)
    maps = drawn.reshape(*drawn.shape[:2], size, size)
    print(plots.save(maps_figure(maps, model.classes, ["all", *chosen]), given.out))
    if given.tsne is not None:
        labels = [model.classes[i] for i in predict(model.network, encoded).predicted]
        print(plots.save(plots.tsne(features(model.network, encoded), labels), given.tsne))


if __name__ == "__main__":
    main()

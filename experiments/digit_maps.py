"""Where in an image each state is entered: the figure of docs/results/states.md.

Run: python experiments/digit_maps.py MODEL t10k-images-idx3-ubyte.gz --out maps.png

The mean probability of each state by class and pixel, for the states that tell the classes apart
most. The first column is the picture that all states make together, each as bright as fits the
pixels best. Classes are the network's answers. `--tsne FILE` also lays the images out by their
transition features.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from kleene.data.batch import Encoded
from kleene.datasets.mnist import Images, read_idx
from kleene.errors import DataError
from kleene.evaluation.metrics import predict
from kleene.explain.features import features, states_picture, telling_states, transition_maps
from kleene.model import Model
from kleene.report import plots

MAX_STATES = 10


def read_images(path: str, model: Model) -> list[Encoded]:
    """The images of an IDX file, pooled to as many pixels as the model was trained on."""
    pixels = read_idx(path)
    images = Images(pixels=pixels, labels=np.zeros(len(pixels), np.int64))
    rows, columns = images.shape
    for size in range(1, rows + 1):
        if rows * columns == model.longest * size**2 and rows % size == columns % size == 0:
            return list(images.pooled(size).vectors())
    raise DataError(f"images must have {model.longest} pixels, or a multiple, got {images.shape}")


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
    print(plots.save(plots.transition_maps(maps, model.classes, ["all", *chosen]), given.out))
    if given.tsne is not None:
        labels = [model.classes[i] for i in predict(model.network, encoded).predicted]
        print(plots.save(plots.tsne(features(model.network, encoded), labels), given.tsne))


if __name__ == "__main__":
    main()

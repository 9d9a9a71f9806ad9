"""`kleene plot`: pictures of what a network does, as PNG, SVG or PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    MaxLength,
    ModelFolder,
    Seed,
    reads_data,
)
from kleene.errors import DataError, SettingError

if TYPE_CHECKING:
    from kleene.data.batch import Encoded
    from kleene.data.layout import Layout
    from kleene.machine import Label
    from kleene.model import Model

plot = typer.Typer(
    help="Draw trajectories, transition maps of images, or t-SNE maps.",
    no_args_is_help=False,
    rich_markup_mode=None,
)
Picture = Annotated[
    Path, typer.Option(metavar="FILE", help="The picture to write: .png, .svg or .pdf.")
]


@plot.command()
def trajectories(
    model: ModelFolder,
    word: Annotated[str, typer.Argument(metavar="SEQUENCE", help="The sequence.")],
    out: Picture = Path("trajectories.png"),
    beside: Annotated[
        list[Path] | None,
        typer.Option(metavar="MODEL", help="Another model in a column of its own; repeatable."),
    ] = None,
    units: Annotated[int, typer.Option(metavar="N", help="At most this many lines.", min=1)] = 10,
) -> None:
    """Draw the hidden vector and memory along a sequence.

    The states are a ribbon below.

    The unit of the memory that counts, if there is one, is drawn bold.

    \b
    Example:
      kleene plot trajectories model "((a)(b))" --out memory.svg
      kleene plot trajectories sr-lstm-p "(()())" --beside lstm
    """
    from kleene.model import Model
    from kleene.report.plots import save
    from kleene.report.trajectories import trajectories as draw

    loaded = {path.resolve().name: Model.load(path) for path in [model, *(beside or [])]}
    first = next(iter(loaded.values()))
    answer(str(save(draw(loaded, first.words([word], typed=True)[0], units=units), out)))


@plot.command()
@reads_data
def maps(
    model: ModelFolder,
    data: DataFile,
    out: Picture = Path("maps.png"),
    shape: Annotated[
        str | None,
        typer.Option(metavar="ROWSxCOLUMNS", help="Of the images. [default: they are square]"),
    ] = None,
    states: Annotated[
        int, typer.Option(metavar="N", help="Only the N that tell the classes apart most.", min=1)
    ] = 10,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
) -> None:
    """Draw where in an image each state is entered.

    The mean probability of each state by class and pixel. The first column is the picture that all
    states make together, each as bright as fits the pixels best.

    DATA is JSONL with the pixels of an image as its sequence, or an IDX file of images as those of
    MNIST, which is pooled to the size that the model was trained on. Classes are the labels where
    there are any, else the predicted ones.

    \b
    Example:
      kleene plot maps digits t10k-images-idx3-ubyte.gz --out maps.png
      kleene plot maps digits images.jsonl --shape 14x14
    """
    import numpy as np

    from kleene.explain.features import states_picture, telling_states, transition_maps
    from kleene.explain.prototypes import class_numbers
    from kleene.model import Model
    from kleene.report.plots import save
    from kleene.report.plots import transition_maps as draw

    trained = Model.load(model)
    encoded, labels = _encoded(trained, data, layout, max_length)
    numbers = class_numbers(trained, labels or None, len(encoded))
    found = transition_maps(trained.network, encoded, numbers)
    rows, columns = _size(shape, found.shape[-1])
    chosen = sorted(telling_states(found)[:states].tolist())
    names: list[int | str] = [*chosen]
    drawn = found[:, chosen]
    if not trained.reads_symbols and trained.network.config.input_size == 1:
        picture = states_picture(trained.network, encoded, found)
        names, drawn = ["all", *names], np.concatenate([picture[:, None], drawn], 1)
    shaped = drawn.reshape(*drawn.shape[:2], rows, columns)
    answer(str(save(draw(shaped, trained.classes, names), out)))


@plot.command()
@reads_data
def tsne(
    model: ModelFolder,
    data: DataFile,
    out: Picture = Path("tsne.png"),
    seed: Seed = 0,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
) -> None:
    """Lay out examples in the plane by transition features.

    DATA is as for the other commands, or an IDX file of images. Colours are the labels; where there
    are none, those of the predicted classes.

    \b
    Example:
      kleene plot tsne model data.tsv --out tsne.svg
    """
    from kleene.evaluation.metrics import predict
    from kleene.explain.features import features
    from kleene.model import Model
    from kleene.report.plots import save
    from kleene.report.plots import tsne as draw

    trained = Model.load(model)
    encoded, labels = _encoded(trained, data, layout, max_length)
    if not labels:
        labels = [trained.classes[i] for i in predict(trained.network, encoded).predicted]
    answer(str(save(draw(features(trained.network, encoded), labels, seed=seed), out)))


def _encoded(
    model: Model, path: str, layout: Layout, max_length: int
) -> tuple[list[Encoded], list[Label]]:
    """The words of a file as numbers, and their labels if there are any."""
    from kleene.cli.input import DataSource
    from kleene.explain.batched_traces import encode

    if "-ubyte" in Path(path).name:
        return _images(model, path), []
    source = DataSource(path=path, layout=layout, max_length=max_length)
    words, labels = source.words(model)
    return encode(model, words), labels


def _images(model: Model, path: str) -> list[Encoded]:
    """The images of an IDX file, pooled to as many pixels as the model was trained on."""
    import numpy as np

    from kleene.datasets.mnist import Images, read_idx

    pixels = read_idx(path)
    images = Images(pixels=pixels, labels=np.zeros(len(pixels), np.int64))
    rows, columns = images.shape
    for size in range(1, rows + 1):
        if rows * columns == model.longest * size**2 and rows % size == columns % size == 0:
            return list(images.pooled(size).vectors())
    raise DataError(
        f"images must have {model.longest} pixels, as in training, or a multiple, "
        f"got {rows} x {columns}"
    )


def _size(given: str | None, pixels: int) -> tuple[int, int]:
    """Rows and columns, which together make up all pixels."""
    try:
        rows, columns = (int(n) for n in given.split("x")) if given else (round(pixels**0.5),) * 2
    except ValueError:
        raise SettingError(f"--shape must be like 14x14, got {given!r:.40}") from None
    if rows * columns != pixels or rows < 1:
        raise SettingError(f"images have {pixels} pixels, not {rows} x {columns}; give --shape")
    return rows, columns

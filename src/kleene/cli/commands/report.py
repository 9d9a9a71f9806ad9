"""`kleene report`: a web page about a model, or one picture of what it does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import answer, say
from kleene.cli.options import FROM_OPTIONS, ModelFolder, OptionalDataFile, Seed, option, reads_data
from kleene.errors import DataError, SettingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kleene.cli.input import DataSource, OpenData
    from kleene.data.batch import Encoded
    from kleene.machine import Label
    from kleene.model import Model

PICTURES = "Pictures"


class Plot(StrEnum):
    """Which picture."""

    TRAJECTORIES = "trajectories"
    MAPS = "maps"
    TSNE = "tsne"


@reads_data
def report(
    model: ModelFolder,
    data: OptionalDataFile = None,
    out: Annotated[
        Path | None, option("FILE", "The file to write. [default: report.html, or NAME.png]")
    ] = None,
    name: Annotated[str | None, option("TEXT", "The title. [default: the model's folder]")] = None,
    seed: Seed = 0,
    plot: Annotated[
        Plot | None,
        typer.Option(
            help="Write one picture instead: the hidden vector and memory along --sequence, where "
            "in an image each state is entered, or examples laid out by transition features.",
            rich_help_panel=PICTURES,
        ),
    ] = None,
    sequence: Annotated[
        str | None, option("TEXT", "trajectories: the sequence.", group=PICTURES)
    ] = None,
    compare: Annotated[
        list[Path] | None,
        option(
            "MODEL",
            "trajectories: another model in its own column; may be repeated.",
            group=PICTURES,
        ),
    ] = None,
    shape: Annotated[
        str | None,
        option("ROWSxCOLUMNS", "maps: the shape of the images. [default: square]", group=PICTURES),
    ] = None,
    top: Annotated[
        int,
        option(
            "N",
            "Maximum number of units (trajectories) or of states (maps).",
            min=1,
            group=PICTURES,
        ),
    ] = 10,
    open_data: OpenData = FROM_OPTIONS,
) -> None:
    """Write a web page about a model and how far to trust it.

    The page shows the automaton and runs texts through it. It is one file for any browser and loads
    nothing from anywhere; DATA needs no labels.

    With --plot, the answer is one picture: .png, .svg or .pdf. For maps and tsne, DATA may also be
    an IDX file of images like MNIST's, which is pooled to the size that the model was trained on.
    Classes are the labels if there are any, else the predictions.

    \b
    Example:
      kleene report model data.tsv --out report.html
      kleene report model data.tsv --plot tsne --out tsne.svg
      kleene report sr-lstm-p --plot trajectories --sequence "(()())" --compare lstm
      kleene report digits t10k-images-idx3-ubyte.gz --plot maps --out maps.png
    """
    if (data is None) != (plot is Plot.TRAJECTORIES):
        raise SettingError("give DATA, or --plot trajectories with --sequence")
    if plot is Plot.TRAJECTORIES and sequence is None:
        raise SettingError("--plot trajectories needs --sequence")
    _refuse("--sequence and --compare", sequence or compare, plot, Plot.TRAJECTORIES)
    _refuse("--shape", shape, plot, Plot.MAPS)
    from kleene.model import Model

    trained = Model.load(model)
    if plot is None:
        _write_page(trained, open_data(str(data)), out, name or model.resolve().name, seed)
        return
    from kleene.report.plots import save

    if plot is Plot.TRAJECTORIES:
        models = {path.resolve().name: Model.load(path) for path in compare or []}
        figure = _trajectories({model.resolve().name: trained} | models, str(sequence), top)
    elif plot is Plot.MAPS:
        figure = _maps(trained, open_data(str(data)), shape, top)
    else:
        figure = _tsne(trained, open_data(str(data)), seed)
    answer(str(save(figure, out or Path(f"{plot}.png"))))


def _refuse(options: str, given: object, plot: Plot | None, only: Plot) -> None:
    if given and plot is not only:
        raise SettingError(f"leave out {options}, which --plot {only} alone has")


def _write_page(model: Model, source: DataSource, out: Path | None, name: str, seed: int) -> None:
    from kleene.automata.formats.drawing import load_graphviz
    from kleene.report.html import write_report

    load_graphviz()  # says what is missing before any work is done
    words, labels = source.words(model)
    path = out or Path("report.html")
    with _bar() as progress:
        written = write_report(model, words, labels, path, name=name, seed=seed, progress=progress)
    answer(str(written))
    say(f"{written.stat().st_size / 1e6:.2f} MB; open it in a browser")


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar at a terminal, which is removed at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from kleene.training.progress import bar_console

    shown = TextColumn("reading the model"), BarColumn(bar_width=24), TimeElapsedColumn()
    with Progress(*shown, console=bar_console(), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _trajectories(models: dict[str, Model], text: str, units: int) -> Figure:
    from kleene.report.trajectories import trajectories

    first = next(iter(models.values()))
    return trajectories(models, first.words([text], typed=True)[0], units=units)


def _maps(model: Model, source: DataSource, shape: str | None, states: int) -> Figure:
    """The mean probability of each state by class and pixel.

    The first column is the picture that all states make together, each as bright as fits the
    pixels best.
    """
    import numpy as np

    from kleene.explain.features import states_picture, telling_states, transition_maps
    from kleene.explain.prototypes import class_numbers
    from kleene.report.plots import transition_maps as draw

    encoded, labels = _encoded(model, source)
    numbers = class_numbers(model, labels or None, len(encoded))
    found = transition_maps(model.network, encoded, numbers)
    rows, columns = _size(shape, found.shape[-1])
    chosen = sorted(telling_states(found)[:states].tolist())
    names: list[int | str] = [*chosen]
    drawn = found[:, chosen]
    if not model.reads_symbols and model.network.config.input_size == 1:
        picture = states_picture(model.network, encoded, found)
        names, drawn = ["all", *names], np.concatenate([picture[:, None], drawn], 1)
    return draw(drawn.reshape(*drawn.shape[:2], rows, columns), model.classes, names)


def _tsne(model: Model, source: DataSource, seed: int) -> Figure:
    from kleene.evaluation.metrics import predict
    from kleene.explain.features import features
    from kleene.report.plots import tsne

    encoded, labels = _encoded(model, source)
    if not labels:
        labels = [model.classes[i] for i in predict(model.network, encoded).predicted]
    return tsne(features(model.network, encoded), labels, seed=seed)


def _encoded(model: Model, source: DataSource) -> tuple[list[Encoded], list[Label]]:
    """The words of a file as numbers, and their labels if there are any."""
    from kleene.explain.traces import encode

    if "-ubyte" in Path(source.path).name:
        return _images(model, source.path), []
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

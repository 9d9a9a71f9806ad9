"""`kleene report`: a web page about a model, or one picture of what it does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kleene.cli.console import answer, say
from kleene.cli.options import MODEL, OPTIONAL_DATA, SEED, OpenData, option, reads_data
from kleene.cli.progress import progress
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.cli.data import DataSource
    from kleene.model import Model


@reads_data
def report(
    model: Path = MODEL,
    data: str | None = OPTIONAL_DATA,
    out: Path | None = option(None, "FILE", "The file. [default: report.html, or NAME.png]"),
    seed: int = SEED,
    plot: Literal["trajectories", "tsne"] | None = option(
        None, None, "Draw hidden vector and memory along --sequence, or the examples by features."
    ),
    sequence: str | None = option(None, "TEXT", "The sequence of --plot trajectories."),
    *,
    open_data: OpenData,
) -> None:
    """Write a web page about a model and how far to trust it.

    The page shows the automaton and runs texts through it. It is one file for any browser and loads
    nothing from anywhere; DATA needs no labels. With --plot, the answer is one picture: .png, .svg
    or .pdf. Classes are the labels if there are any, else the predictions.

    \b
    Example:
      kleene report model data.tsv --out report.html
      kleene report model data.tsv --plot tsne --out tsne.svg
      kleene report model --plot trajectories --sequence "(()())"
    """
    if (data is None) != (plot == "trajectories"):
        raise SettingError("give DATA, or --plot trajectories with --sequence")
    if (sequence is None) == (plot == "trajectories"):
        raise SettingError("--plot trajectories and --sequence belong together; give both or none")
    from kleene.model import Model
    from kleene.report.plots import save, trajectories

    trained = Model.load(model)
    if plot is None:
        path = out or Path("report.html")
        _write_page(trained, open_data(str(data)), path, model.resolve().name, seed)
        say(f"{path.stat().st_size / 1e6:.2f} MB; open it in a browser")
    else:
        path = out or Path(f"{plot}.png")
        with progress("drawing"):
            if sequence is not None:
                figure = trajectories(trained, trained.words([sequence], typed=True)[0])
            else:
                figure = _tsne(trained, open_data(str(data)), seed)
            save(figure, path)
    answer(str(path))


def _write_page(model: Model, source: DataSource, path: Path, name: str, seed: int) -> None:
    from kleene.automata.formats.drawing import load_graphviz
    from kleene.report.html import write_report

    load_graphviz()  # says what is missing before any work is done
    words, labels = source.words_and_labels(model)
    with progress("reading the model", "parts") as shown:

        def step(done: int, total: int) -> None:
            shown(done, done / total)

        write_report(model, words, labels, path, name=name, seed=seed, progress=step)


def _tsne(model: Model, source: DataSource, seed: int) -> Any:
    from kleene.evaluation.metrics import predict
    from kleene.explain.features import features
    from kleene.explain.traces import encode
    from kleene.report.plots import tsne

    words, labels = source.words_and_labels(model)
    encoded = encode(model, words)
    if not labels:
        labels = [model.classes[i] for i in predict(model.network, encoded).predicted]
    return tsne(features(model.network, encoded), labels, seed=seed)

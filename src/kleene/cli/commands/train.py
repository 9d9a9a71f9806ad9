"""`kleene train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.console import answer_json, say
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    DataFile,
    Json,
    MaxLength,
    Seed,
    Tokens,
    reads_data,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def train(
    data: DataFile,
    out: Annotated[Path, typer.Option(metavar="MODEL", help="The folder for the model.")],
    cell: Annotated[
        str | None,
        typer.Option(
            metavar="gru|lstm|lstm-p|rnn|rnn-relu",
            help="The recurrent cell. [default: gru; for texts lstm-p]",
        ),
    ] = None,
    states: Annotated[
        int | None,
        typer.Option(metavar="K", help="Centroids; 0 is the vanilla network. [default: chosen]"),
    ] = None,
    seed: Seed = 0,
    tokens: Tokens = None,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    hidden_size: Annotated[int, typer.Option(metavar="D")] = 100,
    embedding_size: Annotated[int, typer.Option(metavar="D")] = 100,
    layers: Annotated[int, typer.Option(metavar="N")] = 1,
    transition: Annotated[
        str, typer.Option(metavar="mixture|soft-argmax|gumbel|gumbel-hard|sample")
    ] = "mixture",
    similarity: Annotated[
        str | None,
        typer.Option(metavar="dot|euclidean|cosine", help="[default: what fits the cell]"),
    ] = None,
    temperature: Annotated[
        float | None, typer.Option(metavar="TAU", help="[default: what fits the similarity]")
    ] = None,
    learn_temperature: Annotated[
        bool, typer.Option("--learn-temperature", help="Let the temperature learn, too.")
    ] = False,
    pooling: Annotated[
        str | None,
        typer.Option(
            metavar="last|mean|max|states",
            help="What is classified. [default: last; for texts states]",
        ),
    ] = None,
    dropout: Annotated[
        float | None, typer.Option(metavar="P", help="[default: 0; for texts 0.5]")
    ] = None,
    max_symbols: Annotated[
        int | None, typer.Option(metavar="N", help="Keep only the most frequent symbols.")
    ] = None,
    min_count: Annotated[
        int, typer.Option(metavar="N", help="Keep only symbols that occur so often.")
    ] = 1,
    recipe: Annotated[
        str | None,
        typer.Option(
            metavar="warm|direct|curriculum|text", help="[default: what fits cell and words]"
        ),
    ] = None,
    optimizer: Annotated[str, typer.Option(metavar="adam|adadelta|rmsprop")] = "adam",
    learning_rate: Annotated[float, typer.Option(metavar="RATE")] = 3e-3,
    batch_size: Annotated[int, typer.Option(metavar="N")] = 32,
    epochs: Annotated[
        int | None, typer.Option(metavar="N", help="At most. [default: the recipe's]")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(metavar="N", help="Epochs without improvement. [default: the recipe's]"),
    ] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let rare classes count as much as frequent ones.")
    ] = False,
    validation: Annotated[
        float, typer.Option(metavar="SHARE", help="Words held back to tell when to stop.")
    ] = 0.1,
    consolidate: Annotated[
        bool, typer.Option(help="Teach memory-less cells the machine found in them.")
    ] = True,
    device: Annotated[str | None, typer.Option(metavar="cpu|cuda", help="[default: cpu]")] = None,
    threads: Annotated[
        int, typer.Option(metavar="N", help="More than one pays for long texts only.", min=1)
    ] = 1,
    checkpoint_every: Annotated[
        float, typer.Option(metavar="SECONDS", help="Seconds between checkpoints.", min=0)
    ] = 30.0,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier run or model.")
    ] = False,
    test: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Further rows to measure the trained network on."),
    ] = None,
    baseline: Annotated[
        bool, typer.Option(help="Fit n-grams with logistic regression for comparison.")
    ] = True,
    watch: Annotated[
        bool, typer.Option("--watch", help="Open a page with the loss and the automaton.")
    ] = False,
    stream: Annotated[
        bool | None,
        typer.Option(
            "--stream/--no-stream",
            help="Keep the words on disk. [default: those of files above 256 MB]",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Train a network on labelled sequences.

    The model folder is written at the end, as a whole. Ctrl-C (or SIGTERM) keeps the run in it;
    --resume goes on to the same result, bit by bit, as if nothing had happened.
    `torchrun --nproc-per-node N -m kleene train ...` shares every batch among N processes.

    \b
    Example:
      kleene languages sample tomita4 -n 2000 > data.tsv
      kleene train data.tsv --out model --seed 1
      kleene train reviews.csv.gz --text-column review --tokens text --out model
    """
    from kleene.cli.input import DataSource
    from kleene.cli.training_run import TrainingRun
    from kleene.cli.training_source import open_training_source
    from kleene.cli.training_summary import answer_summary
    from kleene.distributed import init_process_group

    if resume and overwrite:
        raise SettingError("--resume continues a run, --overwrite starts again; give one of them")
    source = DataSource(path=data, layout=layout, max_length=max_length)
    settings: dict[str, Any] = {
        "cell": cell,
        "states": states,
        "hidden_size": hidden_size,
        "embedding_size": embedding_size,
        "layers": layers,
        "transition": transition,
        "similarity": similarity,
        "temperature": temperature,
        "learn_temperature": learn_temperature,
        "pooling": pooling,
        "dropout": dropout,
        "tokens": tokens,
        "max_symbols": max_symbols,
        "min_count": min_count,
        "recipe": recipe,
        "optimizer": optimizer,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "epochs": epochs,
        "patience": patience,
        "class_weight": "balanced" if balanced else None,
        "validation": validation,
        "consolidate": consolidate,
        "device": device,
        "random_state": seed,
    }
    with init_process_group(device) as process_group:
        examples, settings["tokens"] = open_training_source(source, settings, stream, process_group)
        run = TrainingRun(
            folder=out,
            settings=settings,
            source=examples,
            threads=threads,
            checkpoint_every=checkpoint_every,
            baseline=baseline,
            test=DataSource(path=test, layout=layout, max_length=max_length) if test else None,
            process_group=process_group,
        )
        summary = run.train(resume=resume, overwrite=overwrite, watched=watch)
    if summary is None:  # another process has it
        return
    if json:
        answer_json(summary)
    else:
        answer_summary(summary)
        report = f"`kleene report {out} {data} --out report.html` shows what its states stand for"
        automaton = f"`kleene extract {out} --out dfa.svg` reads the automaton in it"
        say(f"next: {automaton if summary['readable'] else report}")

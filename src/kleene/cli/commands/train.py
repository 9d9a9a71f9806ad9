"""`kleene train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.console import answer_json, say
from kleene.cli.options import (
    FROM_OPTIONS,
    DataFile,
    Json,
    Seed,
    Tokens,
    flag,
    option,
    reads_data,
    with_parameters,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.cli.input import OpenData


@with_parameters
@reads_data
def train(
    data: DataFile,
    out: Annotated[Path, option("MODEL", "The folder for the model.")],
    seed: Seed = 0,
    tokens: Tokens = None,
    open_data: OpenData = FROM_OPTIONS,
    balanced: Annotated[
        bool, flag("--balanced", "Give rare classes as much weight as frequent ones.")
    ] = False,
    threads: Annotated[
        int, option("N", "CPU threads; more than one helps only on long texts.", min=1)
    ] = 1,
    checkpoint_every: Annotated[
        float, option("SECONDS", "Seconds between checkpoints.", min=0)
    ] = 30.0,
    resume: Annotated[bool, flag("--resume", "Continue an interrupted run.")] = False,
    overwrite: Annotated[bool, flag("--overwrite", "Replace an earlier run or model.")] = False,
    test: Annotated[
        str | None, option("FILE", "Further rows to measure the trained network on.")
    ] = None,
    baseline: Annotated[
        bool, typer.Option(help="Fit n-grams with logistic regression for comparison.")
    ] = True,
    stream: Annotated[
        bool | None,
        flag("--stream/--no-stream", "Keep the rows on disk. [default: for files above 256 MB]"),
    ] = None,
    json: Json = False,
    *,
    parameters: dict[str, Any],
) -> None:
    """Train a network on labelled sequences.

    The model folder is written at the end, as a whole. Ctrl-C (or SIGTERM) keeps the run in it;
    --resume resumes and gives bit-identical weights.
    `torchrun --nproc-per-node N -m kleene train ...` shares every batch among N processes.

    \b
    Example:
      kleene sample tomita4 -n 2000 > data.tsv
      kleene train data.tsv --out model --seed 1
      kleene train reviews.csv.gz --text-column review --tokens text --out model
    """
    from kleene.cli.training_run import TrainingRun
    from kleene.cli.training_source import open_training_source
    from kleene.cli.training_summary import answer_summary
    from kleene.distributed import init_process_group

    if resume and overwrite:
        raise SettingError("--resume continues a run, --overwrite starts again; give one of them")
    settings: dict[str, Any] = {
        **parameters,
        "tokens": tokens,
        "class_weight": "balanced" if balanced else None,
        "random_state": seed,
    }
    with init_process_group(parameters["device"]) as process_group:
        examples, settings["tokens"] = open_training_source(
            open_data(data), settings, stream, process_group
        )
        run = TrainingRun(
            out=out,
            settings=settings,
            source=examples,
            threads=threads,
            checkpoint_every=checkpoint_every,
            baseline=baseline,
            test=open_data(test) if test else None,
            process_group=process_group,
        )
        summary = run.train(resume=resume, overwrite=overwrite)
    if summary is None:  # another process has it
        return
    if json:
        answer_json(summary)
    else:
        answer_summary(summary)
        report = f"`kleene report {out} {data} --out report.html` shows what its states stand for"
        automaton = f"`kleene extract {out} --out dfa.svg` reads the automaton in it"
        say(f"next: {automaton if summary['readable_by'] == 'table' else report}")

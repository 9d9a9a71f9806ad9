"""`kleene train`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from kleene.cli.console import answer_json, say
from kleene.cli.options import (
    DATA,
    JSON,
    SEED,
    TOKENS,
    OpenData,
    flag,
    option,
    reads_data,
    with_parameters,
)
from kleene.errors import SettingError


@with_parameters
@reads_data
def train(
    data: str = DATA,
    out: Path = option(..., "MODEL", "The folder for the model."),
    seed: int = SEED,
    tokens: str | None = TOKENS,
    balanced: bool = flag("--balanced", "Give rare classes as much weight as frequent ones."),
    threads: int = option(1, "N", "CPU threads; more than one helps only on long texts.", min=1),
    checkpoint_every: float = option(30.0, "SECONDS", "Seconds between checkpoints.", min=0),
    resume: bool = flag("--resume", "Continue an interrupted run."),
    overwrite: bool = flag("--overwrite", "Replace an earlier run or model."),
    baseline: bool = flag(
        "--baseline/--no-baseline", "Fit n-grams with logistic regression for comparison.", True
    ),
    stream: bool | None = flag(
        "--stream/--no-stream", "Keep the rows on disk. [default: for files above 256 MB]", None
    ),
    json: bool = JSON,
    *,
    open_data: OpenData,
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
    from kleene.cli.summary import answer_summary, summary
    from kleene.cli.training import TrainingRun
    from kleene.distributed import init_process_group

    started = time.monotonic()
    if resume and overwrite:
        raise SettingError("--resume continues a run, --overwrite starts again; give one of them")
    settings: dict[str, Any] = {
        **parameters,
        "tokens": tokens,
        "class_weight": "balanced" if balanced else None,
        "random_state": seed,
    }
    with init_process_group(parameters["device"]) as process_group:
        run = TrainingRun.open(
            open_data(data),
            settings,
            stream=stream,
            out=out,
            threads=threads,
            checkpoint_every=checkpoint_every,
            baseline=baseline,
            process_group=process_group,
        )
        model = run.train(resume=resume, overwrite=overwrite)
    if model is None:  # another process has it
        return
    seconds = time.monotonic() - started
    if json:
        answer_json(summary(model, seconds))
        return
    answer_summary(model, seconds)
    report = f"`kleene report {out} {data} --out report.html` shows what its states stand for"
    automaton = f"`kleene extract {out} --out dfa.svg` reads the automaton in it"
    say(f"next: {automaton if model.readable_by == 'table' else report}")

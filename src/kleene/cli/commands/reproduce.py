"""`kleene reproduce`: the paper's experiments, run again here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.console import answer_json, answer_table, say
from kleene.cli.options import Json


def reproduce(
    experiment: Annotated[
        str, typer.Argument(metavar="tomita|bp|palindromes|imdb|mnist|newsgroups", help="Which.")
    ],
    scale: Annotated[
        str, typer.Option(metavar="small|paper", help="Sized for two cores, or as in the paper.")
    ] = "small",
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where archives of real data are. [default: KLEENE_DATA, else fetch]",
        ),
    ] = None,
    rows: Annotated[
        str, typer.Option(metavar="ROW,...", help="Only these rows of the table. [default: all]")
    ] = "",
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Runs of each row. [default: as the experiment says]", min=1
        ),
    ] = None,
    first: Annotated[int, typer.Option(metavar="S", help="The first seed.", min=0)] = 0,
    results: Annotated[
        Path, typer.Option(metavar="DIR", help="Finished runs are kept here.")
    ] = Path("results"),
    models: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Trained models go here. [default: models in --results]"),
    ] = None,
    threads: Annotated[int, typer.Option(metavar="N", help="Processor cores to use.", min=1)] = 1,
    only_table: Annotated[
        bool, typer.Option("--table", help="Run nothing; show what is there.")
    ] = False,
    json: Json = False,
) -> None:
    """Run an experiment of the paper; compare paper and ours.

    A finished run is kept in a file of --results and run again only if the recipe has changed; an
    interrupted one on real data goes on from its checkpoint. tomita, bp and palindromes make the
    paper's data at either scale, which only says how many seeds are run.

    \b
    Example:
      kleene reproduce tomita --rows tomita4 --seeds 1
      kleene reproduce imdb --data ~/data --rows SR-LSTM-P,LSTM
      kleene reproduce bp --rows "large SR-LSTM-P,large LSTM"
    """
    import torch

    from kleene.cli.run_progress import Runs
    from kleene.reproduce import Ledger, Request, find

    torch.set_num_threads(threads)
    chosen = find(experiment)
    ledger = Ledger(chosen.ledger, results)
    progress = Runs()
    request = Request(
        scale=scale,
        rows=[row.strip() for row in rows.split(",") if row.strip()],
        seeds=seeds,
        first=first,
        data=data or os.environ.get("KLEENE_DATA"),
        models=models or results / "models",
        reporter=progress,
    )
    runs = list(chosen.runs(request))
    if only_table:
        runs = []
    stale = [run.name for run in runs if ledger.is_stale(run.recipe, **run.key)]
    if stale:
        say(f"finished with other or unknown settings, run again: {'; '.join(stale)}")
    try:
        with progress.counting(len(runs)):
            for run in runs:
                progress.start(run.name)
                row = ledger.run(run.work, recipe=run.recipe, **run.key)
                progress.finish(chosen.headline(row["result"]))
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            "stopped; finished runs are kept; repeat the command to go on"
        ) from None
    table = chosen.table(ledger.rows)
    if json:
        answer_json([dict(zip(table.header, line, strict=True)) for line in table.rows])
    else:
        answer_table(table.header, table.rows)
    say(f"seeds, times and curves are in {ledger.path}")

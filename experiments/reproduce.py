"""Run an experiment of the paper, and compare the paper's figures with ours.

A finished run is kept in experiments/results and run again only if its recipe has changed; an
interrupted run on real data continues from its checkpoint. tomita, bp and palindromes make the
paper's data at either scale, which only says how many seeds are run.

Run: python experiments/reproduce.py tomita --rows tomita4 --seeds 1
     python experiments/reproduce.py imdb --data ~/data --rows SR-LSTM-P,LSTM
     python experiments/reproduce.py bp --rows "large SR-LSTM-P,large LSTM"
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
from page import markdown
from paper import EXPERIMENTS, Ledger, Request, find
from paper.run_progress import Runs

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("experiment", choices=tuple(EXPERIMENTS))
    parser.add_argument("--scale", choices=("small", "paper"), default="small")
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"), help="archives of data")
    parser.add_argument("--rows", default="", help="only these rows of the table: ROW,...")
    parser.add_argument("--seeds", type=int, help="runs of each row")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--models", type=Path, help="folder for the trained models")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="run nothing; show what is there")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    chosen, progress = find(options.experiment), Runs()
    ledger = Ledger(chosen.ledger, options.results)
    request = Request(
        scale=options.scale,
        rows=[row.strip() for row in options.rows.split(",") if row.strip()],
        seeds=options.seeds,
        first=options.first,
        data=options.data,
        models=options.models or options.results / "models",
        reporter=progress,
    )
    runs = [] if options.table else list(chosen.runs(request))
    progress.total = len(runs)
    for run in runs:
        progress.start(run.name)
        row = ledger.run(run.work, recipe=run.recipe, **run.key)
        progress.finish(chosen.headline(row["result"]))
    table = chosen.table(ledger.rows)
    print(markdown(table.header, table.rows))


if __name__ == "__main__":
    main()

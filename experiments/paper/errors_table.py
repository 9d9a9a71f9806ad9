"""The table of the experiments on real data: test errors, paper and ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from paper.experiment import SCALES, Table, chosen, middle
from paper.ledger import Row

HEADER = ("row", "scale", "paper %", "ours %", "seeds", "epochs", "CPU s an epoch", "CPU minutes")


def error_table(rows: Sequence[Row], paper: Mapping[str, float | None]) -> Table:
    """Test errors in per cent, the median of the seeds with the least and the greatest."""
    lines = []
    for name, theirs in paper.items():
        told = "" if theirs is None else f"{theirs:.1f}"
        runs = {scale: chosen(rows, row=name, scale=scale) for scale in SCALES}
        if not any(runs.values()):
            lines.append([name, "", told, "not run yet", *[""] * 4])
        for scale, found in runs.items():
            results = [row["result"] for row in found]
            if results:
                lines.append(
                    [
                        *(name, scale, told),
                        middle([result["test_error"] for result in results], 2),
                        str(len(results)),
                        middle([result["epochs"] for result in results], 0),
                        middle([r["epoch_seconds"] for r in results if r["epochs"]], 0),
                        middle([row["cpu_seconds"] / 60 for row in found], 0),
                    ]
                )
    return Table(HEADER, lines)

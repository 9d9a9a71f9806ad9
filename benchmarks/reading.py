"""Event rows to sequences against DuckDB alone, and the peak memory of training on many short rows.

    python benchmarks/reading.py [--events 1000000] [--rows 1000000] [--folder DIR]

The first part reads a table of events (20 names, 10 events a case) by `read_examples`, and asks
DuckDB for the same lists in one query, with one thread; the ratio is of CPU times. The second part
trains on rows of 20 symbols that stay on disk, one epoch, in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import duckdb
from timing import interleave, write

from kleene.data import Layout, read_examples

SMALL = ["--hidden-size", "16", "--embedding-size", "8", "--states", "8", "--batch-size", "256"]
SMALL += ["--cell", "gru", "--pooling", "last", "--dropout", "0"]
TRAIN = [*SMALL, "--recipe", "direct", "--epochs", "1", "--learn", "network"]
TRAIN += ["--tokens", "words", "--stream"]
LAYOUT = Layout(case_column="case", event_column="event", order_column="time")
QUERY = """
    SELECT "case", list(event ORDER BY time), any_value(label) FROM read_csv('{}') GROUP BY "case"
"""


def write_events(path: Path, rows: int) -> None:
    """Write the table, its rows in the order of time."""
    draw = random.Random(0)
    with path.open("w") as file:
        file.write("case,event,time,label\n")
        for time in range(rows):
            case = draw.randrange(rows // 10)
            file.write(f"c{case},e{draw.randrange(20)},{time},{case % 2}\n")


def write_words(path: Path, rows: int) -> None:
    """Write sequences of 20 symbols; the label is the parity of one of them."""
    draw = random.Random(0)
    with path.open("w") as file:
        for _ in range(rows):
            word = draw.choices("abcdefgh", k=20)
            file.write(f"{' '.join(word)}\t{word.count('a') % 2}\n")


def measure_events(path: Path) -> dict[str, float]:
    """CPU seconds of both, and their ratio."""

    def ours() -> int:
        return sum(1 for _ in read_examples(path, LAYOUT))

    def alone() -> int:
        with duckdb.connect(config={"threads": 1}) as engine:
            return len(engine.sql(QUERY.format(path)).to_arrow_table())

    assert ours() == alone()
    found = interleave({"kleene": ours, "duckdb": alone}, 5, process_time, block=0)
    return {**found, "ratio": found["kleene"] / found["duckdb"]}


def run(*arguments: object) -> dict[str, float]:
    """Seconds of the clock and of the processor, and peak megabytes, of a command."""
    started = perf_counter()
    command = [sys.executable, "-m", "kleene", *map(str, arguments)]
    out = os.open(os.devnull, os.O_WRONLY)
    child = os.posix_spawn(
        sys.executable, command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)]
    )
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    return {
        "seconds": round(perf_counter() - started, 1),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    content: dict[str, object] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        table, words = Path(place) / "events.csv", Path(place) / "words.tsv"
        write_events(table, given.events)
        content["events"] = {"rows": given.events, **measure_events(table)}
        print(content["events"], flush=True)
        write_words(words, given.rows)
        trained = run("train", words, "--out", Path(place) / "model", *TRAIN)
        content["training"] = {"rows": given.rows, "symbols": 20, **trained}
        print(content["training"], flush=True)
    write("reading", content)


if __name__ == "__main__":
    main()

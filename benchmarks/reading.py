"""Reading event rows and encoding sequences against DuckDB alone; memory of training on many rows.

    python benchmarks/reading.py [--events 1000000] [--rows 1000 1000000 10000000] [--folder DIR]

The first part reads a table of events (20 names, 10 events a case) by `read_examples`, and asks
DuckDB for the same lists in one query, with one thread; the ratio is of CPU times. The second part
encodes a million rows of 20 symbols for training on disk, and asks DuckDB to scan the file, to
split its texts, and to write the lists to Parquet. The third part trains on such rows for an epoch,
in a process of its own for each number of rows.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import duckdb
import numpy as np
from timing import interleave, write

from kleene.data import Layout, read_examples
from kleene.data.store import encode, open_store

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
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        for start in range(0, rows, 100_000):
            symbols = random.integers(0, 8, (min(rows - start, 100_000), 20))
            lines = np.full((len(symbols), 42), ord(" "), np.uint8)
            lines[:, :40:2] = symbols + ord("a")
            lines[:, 40] = (symbols == 0).sum(1) % 2 + ord("0")
            lines[:, [39, 41]] = ord("\t"), ord("\n")
            file.write(lines.tobytes())


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


def measure_encoding(path: Path) -> dict[str, float]:
    """CPU seconds until the first epoch begins, and of DuckDB on the same file."""
    columns = "header = false, delim = '\t', columns = {'s': 'VARCHAR', 'y': 'VARCHAR'}"
    source = f"read_csv('{path}', {columns})"
    target = path.with_suffix(".parquet")
    copied = f"COPY (SELECT string_split(s, ' ') AS s, y FROM {source}) TO '{target}'"
    found = {}
    with duckdb.connect(config={"threads": 1}) as engine:
        for name, query in {
            "duckdb_scan": f"CREATE TABLE found AS FROM {source}",
            "duckdb_split_and_write": copied,
        }.items():
            started = process_time()
            engine.execute(query)
            found[name] = process_time() - started
    started = process_time()
    encode(path.with_suffix(".arrow"), read_examples(path, tokens="words"), tokens="words")
    open_store(path.with_suffix(".arrow"))
    return {"kleene": process_time() - started, **found}


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
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000, 1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    content: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        table, words = Path(place) / "events.csv", Path(place) / "words.tsv"
        write_events(table, given.events)
        content["events"] = {"rows": given.events, **measure_events(table)}
        table.unlink()
        write_words(words, 1_000_000)
        content["encoding"] = {"rows": 1_000_000, **measure_encoding(words)}
        print(content, flush=True)
        content["training"] = []
        for rows in given.rows:
            write_words(words, rows)
            trained = run("train", words, "--out", Path(place) / f"model{rows}", *TRAIN)
            content["training"].append({"rows": rows, "symbols": 20, **trained})
            print(content["training"][-1], flush=True)
            write("reading", content)


if __name__ == "__main__":
    main()

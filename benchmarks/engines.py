"""Past one machine: event logs in DuckDB and Spark, and training in two processes.

    python benchmarks/engines.py [--duckdb 1 10 100] [--spark 1 3 10] [--no-ddp]

Numbers are millions of events. They are generated on the fly, so that no file of them is written:
ten events a case, in turns, and each case is one of 20,000 sequences over 20 symbols. Each engine
groups them into sequences, labels them with an automaton (DuckDB by SQL, Spark by a scorer in its
Python workers), and reduces them to distinct sequences with counts, from which `kl.induce` finds
the automaton again. A network is trained in one and in two processes for the cost of a step; from
it follows, on paper, the time of a step in up to 64 processes. Every measurement has a process of
its own; writes results/engines.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

from timing import write

import kleene as kl

SYMBOLS, VARIANTS, EVENTS_A_CASE, MILLION = 20, 20_000, 10, 1_000_000
BATCHES, WORD_LENGTH, STEPS = (64, 512, 4096), 50, 12
BANDWIDTH, LATENCY = 1.25e9, 50e-6  # on paper: bytes a second (10 Gbit/s) and seconds a message
DUCKDB = """
    CREATE TABLE counts AS SELECT sequence, {label} AS label, count(*) AS n FROM (
        SELECT list(event ORDER BY time) AS sequence FROM (
            SELECT i % {cases} AS "case", i AS time,
                'e' || hash(hash(i % {cases}) % {variants} * 16 + i // {cases}) % {symbols} AS event
            FROM range({rows}) AS t(i)
        ) GROUP BY "case"
    ) GROUP BY ALL
"""
SPARK = (
    "id % {cases} AS case",
    "concat('e', pmod(xxhash64(pmod(xxhash64(id % {cases}), {variants}) * 16 + id div {cases}), "
    "{symbols})) AS event",
    "id AS time",
)


def rule() -> kl.DFA:
    """Whether e0 has occurred an odd number of times since the last e1."""
    names = [f"e{i}" for i in range(SYMBOLS)]
    stay = {state: dict.fromkeys(names, state) for state in ("even", "odd")}
    table = {
        "even": {**stay["even"], "e0": "odd"},
        "odd": {**stay["odd"], "e0": "even", "e1": "even"},
    }
    return kl.DFA.from_table(table, start="even", accept={"odd"})


def by_duckdb(rows: int) -> dict[str, Any]:
    """Events to counts in DuckDB with one thread and 2 GB; the automaton runs as SQL."""
    import duckdb

    with tempfile.TemporaryDirectory() as folder:
        limits = {"threads": 1, "memory_limit": "2GB", "temp_directory": folder}
        with duckdb.connect(config=limits) as engine:
            query = DUCKDB.format(
                label=rule().to_sql("sequence"),
                rows=rows,
                cases=rows // EVENTS_A_CASE,
                variants=VARIANTS,
                symbols=SYMBOLS,
            )
            engine.execute(query)
            return _induced(*engine.execute("FROM counts ORDER BY ALL").fetchnumpy().values())


def by_spark(rows: int) -> dict[str, Any]:
    """The same in Spark on two local cores; the automaton runs as a scorer in Python workers."""
    from pyspark.sql import SparkSession

    from kleene.engines import spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "2g")
    session = builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    cases = rows // EVENTS_A_CASE
    columns = [text.format(cases=cases, variants=VARIANTS, symbols=SYMBOLS) for text in SPARK]
    events = session.range(rows).selectExpr(*columns)
    scored = spark.score(spark.sequences(events, "case", "event", "time"), rule())
    counted = sorted((r.sequence, r.label, r["count"]) for r in spark.counts(scored).collect())
    found = _induced(*zip(*counted, strict=True))
    return {**found, **_tree()}


def _induced(sequences: Any, labels: Any, counts: Any) -> dict[str, Any]:
    """Whether the counts give back the automaton; the processor's time for it stands apart."""
    started = process_time()
    words = [tuple(word) for word in sequences]
    found = kl.induce(words, [bool(y) for y in labels], weights=[int(n) for n in counts])
    seconds = round(process_time() - started, 1)
    return {
        "distinct": len(words),
        "cases": int(sum(counts)),
        "induce_seconds": seconds,
        "exact": found.dfa == rule(),
    }


def _tree() -> dict[str, float]:
    """Seconds of the processor, and the peaks of memory, of this process and those below it."""
    ticks, peak, left = 0, 0, [os.getpid()]
    for process in left:
        left += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
        numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, numbers[11:15]))
        status = dict(
            line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines()
        )
        peak += int(status["VmHWM"].split()[0])
    return {"tree_seconds": ticks / os.sysconf("SC_CLK_TCK"), "tree_mb": peak / 1024}


def by_ddp(batch: int) -> dict[str, Any]:
    """Seconds of the processor for a training step, in this process of torchrun's."""
    import numpy as np
    import torch

    from kleene.data.examples import Examples
    from kleene.distributed import init_process_group
    from kleene.nn.classifier import Classifier
    from kleene.nn.config import NetworkConfig
    from kleene.training.loop import fit
    from kleene.training.run import Run
    from kleene.training.stages import Stage

    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=104, num_classes=2, cell="lstm-p", input_size=64, hidden_size=128, num_states=10
    )
    network, random = Classifier(config), np.random.default_rng(0)
    words = [random.integers(4, 104, WORD_LENGTH) for _ in range(STEPS * batch)]
    examples = Examples(words=words, labels=np.array([int(word[0]) % 2 for word in words]))
    times: list[float] = []
    with init_process_group() as group:
        run = Run(processes=group, hook=lambda *_: times.append(process_time()))
        fit(network, examples, stages=[Stage(epochs=4, batch_size=batch)], run=run)
        seconds = np.array([np.diff(times).min() / STEPS])
        mean = float(group.all_reduce_array(seconds)[0]) / group.world_size
        if not group.is_main:
            return {}
    size = sum(p.numel() * p.element_size() for p in network.parameters())
    return {"batch": batch, "step_seconds": mean, "gradient_bytes": size}


def on_paper(one: list[dict[str, Any]], two: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Seconds of a step in many processes: a fixed part, a part of the batch, and the all-reduce.

    The first two are a straight line through the measured steps of one process. What two processes
    cost beyond half the batch is the fixed part of `DistributedDataParallel`. The ring all-reduce
    sends 2 (p - 1) / p times the gradients in 2 (p - 1) messages.
    """
    small, large = one[0], one[-1]
    slope = (large["step_seconds"] - small["step_seconds"]) / (large["batch"] - small["batch"])
    fixed = max(small["step_seconds"] - slope * small["batch"], 0.0)
    extra = min(t["step_seconds"] - (fixed + slope * t["batch"] / 2) for t in two)
    table = []
    for batch in (512, 4096, 32768):
        for processes in (1, 2, 4, 8, 16, 32, 64):
            step = fixed + slope * batch / processes
            if processes > 1:
                sent = 2 * (processes - 1) / processes * small["gradient_bytes"] / BANDWIDTH
                step += max(extra, 0.0) + sent + 2 * (processes - 1) * LATENCY
            table.append({"batch": batch, "processes": processes, "step_seconds": step})
    return table


def measured(*arguments: object, processes: int = 1) -> dict[str, Any]:
    """What a process of this script answers, with its CPU seconds and peak megabytes."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(launcher if processes > 1 else []), __file__, "one"]
    folder = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(
            [*command, *map(str, arguments)],
            stdout=out,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths},
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if status:
            raise SystemExit(f"{arguments} failed with status {status}")
        answers: dict[str, Any] = json.loads(out.read().splitlines()[-1])
    answers["cpu_seconds"] = round(answers.pop("tree_seconds", usage.ru_utime + usage.ru_stime), 1)
    answers["peak_mb"] = round(answers.pop("tree_mb", usage.ru_maxrss / 1024))
    print(*arguments, answers, file=sys.stderr, flush=True)
    return answers


def main() -> None:
    if sys.argv[1:2] == ["one"]:
        what, number = sys.argv[2], int(sys.argv[3])
        answers = {"duckdb": by_duckdb, "spark": by_spark, "ddp": by_ddp}[what](number)
        if answers:
            print(json.dumps(answers), flush=True)
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duckdb", type=int, nargs="*", default=[1, 10, 100])
    parser.add_argument("--spark", type=int, nargs="*", default=[1, 3, 10])
    parser.add_argument("--ddp", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    results: dict[str, list[dict[str, Any]]] = {}
    for engine, sizes in (("duckdb", given.duckdb), ("spark", given.spark)):
        for size in sizes:
            row = {"millions": size, **measured(engine, size * MILLION)}
            results.setdefault(engine, []).append(row)
            write("engines", results)
    if given.ddp:
        for name, processes in (("one", 1), ("two", 2)):
            results[name] = [measured("ddp", batch, processes=processes) for batch in BATCHES]
        results["on_paper"] = on_paper(results["one"], results["two"])
        write("engines", results)


if __name__ == "__main__":
    main()

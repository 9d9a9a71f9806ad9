"""A whole fit: CPU seconds from a CSV to a saved model, and the accuracy on other rows.

    KLEENE_DATA=data python benchmarks/fits.py [--tasks sms,tomita4,logs,newsgroups,imdb]

`kleene train` with its defaults, beside what benchmarks/rivals.py fits: the same network in plain
PyTorch on padded and on packed batches, n-grams with logistic regression (scikit-learn), and
fastText where it is installed. Every method runs in a process of its own, whose CPU time counts
from its start, imports included, on one thread; a rival network is stopped after `--seconds`.

Writes results/fits.json, a table for each CPU model; what it has already is not measured again
without `--again`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

from timing import RESULTS, machine, processor, write_results

from kleene import languages
from kleene.datasets.corpora import imdb, newsgroups

GROUPS = ("sci.med", "sci.space")
IMDB = 1_000
METHODS = ("kleene", "padded", "packed", "grams", "fasttext")
Pairs = list[tuple[str, str]]


def sms(data: Path) -> tuple[Pairs, Pairs, str]:
    def part(name: str) -> Pairs:
        lines = (data / "sms" / f"sms_{name}.tsv").read_text().splitlines()
        return [tuple(line.rsplit("\t", 1)) for line in lines]

    return part("train"), part("test"), "text"


def tomita4(data: Path) -> tuple[Pairs, Pairs, str]:
    language = languages.tomita(4)

    def sample(count: int, lengths: range, seed: int) -> Pairs:
        words, labels = language.sample(count, lengths=lengths, seed=seed)
        return [("".join(map(str, w)), str(int(y))) for w, y in zip(words, labels, strict=True)]

    return sample(2_000, range(1, 16), 0), sample(2_000, range(16, 41), 1), "chars"


def logs(data: Path) -> tuple[Pairs, Pairs, str]:
    import gzip

    def part(name: str) -> Pairs:
        with gzip.open(data / "logs" / f"hdfs_sessions_{name}.csv.gz", "rt") as file:
            return [tuple(row) for row in list(csv.reader(file))[1:]]

    return part("train"), part("test"), "words"


def newsgroups_two(data: Path) -> tuple[Pairs, Pairs, str]:
    splits = newsgroups(str(data), cleaned=True)

    def part(texts: Any) -> Pairs:
        pairs = zip(texts.texts, texts.labels, strict=True)
        return [(text, label) for text, label in pairs if label in GROUPS and text.strip()]

    return part(splits.train), part(splits.test), "text"


def imdb_part(data: Path) -> tuple[Pairs, Pairs, str]:
    splits = imdb(str(data))

    def part(texts: Any) -> Pairs:
        every = len(texts) // IMDB
        return list(zip(texts.texts[::every], texts.labels[::every], strict=True))[:IMDB]

    return part(splits.train), part(splits.test), "text"


TASKS: dict[str, Callable[[Path], tuple[Pairs, Pairs, str]]] = {
    "sms": sms,
    "tomita4": tomita4,
    "logs": logs,
    "newsgroups": newsgroups_two,
    "imdb": imdb_part,
}


def write_csv(path: Path, rows: Pairs) -> Path:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(rows)
    return path


def run(*command: str) -> tuple[str, float]:
    """The output of a command, and its CPU seconds."""
    before = getrusage(RUSAGE_CHILDREN)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )
    after = getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout, sum(after[:2]) - sum(before[:2])


def fit(method: str, train: Path, test: Path, out: str, tokens: str, seconds: float) -> Any:
    files = (str(train), str(test))
    if method != "kleene":
        script = str(Path(__file__).with_name("rivals.py"))
        limits = ("--tokens", tokens, "--seconds", str(seconds))
        return json.loads(run(script, method, *files, out, *limits)[0])
    options = ("--tokens", tokens, "--no-baseline", "--json", "--text-column", "text")
    options = (*options, "--label-column", "label")
    answer, taken = run("-m", "kleene", "train", files[0], "--out", out, *options)
    columns = ("--text-column", "text", "--label-column", "label")
    judged = json.loads(run("-m", "kleene", "evaluate", out, files[1], *columns, "--json")[0])
    states = json.loads(answer)["states"]
    found = {"cpu_seconds": taken, "accuracy": judged["accuracy"], "states": states}
    return found | {"stopped": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "data"))
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--again", action="store_true")
    given = parser.parse_args()
    file = RESULTS / "fits.json"
    for task in given.tasks.split(","):
        train, test, tokens = TASKS[task](Path(given.data))
        for method in given.methods.split(","):
            tables = json.loads(file.read_text()) if file.exists() else {}
            own = tables.setdefault(processor(), {"machine": machine(), "results": []})
            key = {"task": task, "method": method}
            known = [r for r in own["results"] if key.items() <= r.items()]
            if known and not given.again:
                continue
            with tempfile.TemporaryDirectory() as folder:
                here = Path(folder)
                files = write_csv(here / "train.csv", train), write_csv(here / "test.csv", test)
                try:
                    out = str(here / "out")
                    found = fit(method, *files, out, tokens, given.seconds)
                except RuntimeError as error:
                    if method != "fasttext":
                        raise
                    print("fasttext is not installed:", str(error)[-200:], flush=True)
                    continue
            limit = {"limit": given.seconds} if method in ("padded", "packed") else {}
            result = key | {"rows": len(train), "test_rows": len(test)} | limit | found
            print(result, flush=True)
            own["results"] = [r for r in own["results"] if r not in known] + [result]
            own["machine"] = machine()
            write_results(file, tables)


if __name__ == "__main__":
    main()

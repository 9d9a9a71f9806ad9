"""Every reader against many malformed inputs; the tally goes to experiments/results/fuzz.json.

python tests/fuzz/run_all.py --inputs 20000
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from asking import raw_server, server
from fuzzing import fuzz
from readers import Reader, readers
from special import special_files

from kleene.files import write_atomically

SERVERS = (server, raw_server)
RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "fuzz.json"


def main() -> int:
    """Fuzz one reader after the other, each in a process of its own, and write the tally."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", metavar="READER")
    parser.add_argument("--folder", type=Path, help="where to work; the system's by default")
    parser.add_argument("--keep", type=Path, help="a folder for inputs that do harm")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    started, rows = time.monotonic(), _others(given)
    for number in range(count()):
        row = _apart(number, given)
        if row is None:
            continue
        rows.append(row)
        faults = row["faults"]
        print(f"{row['reader']:24}{row['inputs']:7} inputs, {len(faults)} faults", flush=True)
        print("\n".join(faults[:5]), end="\n" if faults else "", flush=True)
        document = {
            "settings": {"inputs": given.inputs, "seed": given.seed},
            "python": platform.python_version(),
            "torch": torch.__version__,
            "seconds": round(time.monotonic() - started),
            "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
            "readers": rows,
        }
        write_atomically(given.out, json.dumps(document, indent=1) + "\n")
    return 1 if any(row["faults"] for row in rows) else 0


def _others(given: argparse.Namespace) -> list[dict[str, Any]]:
    """What is known of the readers that are not asked for."""
    if not given.only or not given.out.exists():
        return []
    known = json.loads(given.out.read_text())["readers"]
    return [row for row in known if row["reader"] not in given.only]


def count() -> int:
    """How many readers there are, those of requests being the last."""
    with tempfile.TemporaryDirectory() as folder:
        return len(_of_files(Path(folder))) + len(SERVERS)


def _of_files(folder: Path) -> list[Reader]:
    return [*readers(folder), special_files(folder)]


def _apart(number: int, given: argparse.Namespace) -> dict[str, Any] | None:
    """The tally of one reader, made in a process whose memory is its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(number, given, there))
    process.start()
    there.close()
    try:
        row: dict[str, Any] | None = here.recv()
    except EOFError:
        row = {"reader": str(number), "inputs": 0, "faults": ["the process died"]}
    process.join()
    return row


def _work(number: int, given: argparse.Namespace, out: Any) -> None:
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        found = _of_files(Path(folder))
        more = number - len(found)
        reader = found[number] if more < 0 else SERVERS[more]()
        if given.only and reader.name not in given.only:
            out.send(None)
            return
        out.send(fuzz(reader, given.inputs, given.seed, given.keep).to_dict())


if __name__ == "__main__":
    sys.exit(main())

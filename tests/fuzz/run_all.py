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
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "helpers"))

import torch
from asking import raw_server, server
from fuzzing import fuzz
from readers import Reader, readers
from special import special_files

from kleene.files import write_atomically

RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "fuzz.json"


def main() -> int:
    """Fuzz each reader in a process of its own, whose memory is its own, and write the tally."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for inputs that do harm")
    given = parser.parse_args()
    torch.set_num_threads(1)
    started, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        count = len(of_files(Path(folder))) + 2
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for row in pool.imap(partial(tally, given), range(count), chunksize=1):
            rows.append(row)
            faults = row["faults"]
            print(f"{row['reader']:24}{row['inputs']:7} inputs, {len(faults)} faults", flush=True)
            print("\n".join(faults[:5]), end="\n" if faults else "", flush=True)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document = {
        **known,
        "settings": {"inputs": given.inputs, "seed": given.seed},
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(time.monotonic() - started),
        "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
        "readers": rows,
    }
    write_atomically(RESULTS, json.dumps(document, indent=1) + "\n")
    return int(any(row["faults"] for row in rows))


def of_files(folder: Path) -> list[Reader]:
    return [*readers(folder), special_files(folder)]


def tally(given: argparse.Namespace, number: int) -> dict[str, Any]:
    """The tally of one reader; the last two are servers."""
    with tempfile.TemporaryDirectory() as folder:
        found = [*of_files(Path(folder)), server, raw_server]
        reader = found[number] if isinstance(found[number], Reader) else found[number]()
        return fuzz(reader, given.inputs, given.seed, given.keep).to_dict()


if __name__ == "__main__":
    sys.exit(main())

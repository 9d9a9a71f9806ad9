"""The whole fault harness; the counts go to experiments/results/faults.json.

python tests/faults/harness.py --kills 200 --truncations 200 --disk-full 50 --others 10
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import trials
from bench import Tally, open_bench
from room import can_mount

from kleene.files import write_atomically

RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "faults.json"


def plan(
    sizes: argparse.Namespace, *, mount: bool
) -> list[tuple[str, int, Sequence[trials.Trial]]]:
    """What is counted, how often it must have happened, and the trials that take turns at it."""
    full = (trials.disk_too_small, trials.disk_fills) if mount else (trials.file_too_large,)
    rows: list[tuple[str, int, Sequence[trials.Trial]]] = [
        (
            "kills",
            sizes.kills,
            (
                trials.killed_at_random_while_consolidating,
                *(trials.killed_at_random, trials.killed_in_the_final_write) * 10,
                *(trials.killed_at_random, trials.killed_while_replacing_a_model) * 10,
            ),
        ),
        ("truncations", sizes.truncations, (trials.cut_checkpoint, trials.cut_model)),
        ("disk-full runs", sizes.disk_full, full),
        ("pairs of processes in one folder", sizes.others, (trials.two_at_once,)),
        ("stopped by SIGTERM", sizes.others, (trials.stopped,)),
        ("stopped by SIGHUP", sizes.others, (trials.stopped,)),
        ("terminals closed", sizes.others, (trials.terminal_closes,)),
        ("runs under a jumping clock", sizes.others, (trials.clock_jumps,)),
    ]
    return [*rows, ("read-only runs", sizes.others, (trials.read_only,))] if mount else rows


def run(sizes: argparse.Namespace, folder: Path) -> Tally:
    """All trials, one after the other; the tally is written down as it grows."""
    tally, mount, started = Tally(), can_mount(folder / "try"), time.monotonic()
    about = {
        "settings": {**vars(sizes), "folder": str(sizes.folder), "out": sizes.out.name},
        "disk": "a tmpfs that fills" if mount else "RLIMIT_FSIZE",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }
    with open_bench(folder, sizes.seed) as bench:
        for what, needed, turns in plan(sizes, mount=mount):
            done = 0
            while tally.counts[what] < needed and len(tally.failures) < 20:
                turns[done % len(turns)](bench, tally)
                done += 1
                print(
                    f"{time.monotonic() - started:7.1f} s  {what}: {tally.counts[what]}", flush=True
                )
                results = {
                    "seconds": round(time.monotonic() - started),
                    "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
                    "counts": dict(sorted(tally.counts.items())),
                    "failures": tally.failures,
                }
                write_atomically(sizes.out, json.dumps({**about, **results}, indent=1) + "\n")
    return tally


def main() -> int:
    """Read the sizes, run, print the tally."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, size in (("kills", 200), ("truncations", 200), ("disk-full", 50), ("others", 10)):
        parser.add_argument(f"--{name}", type=int, default=size, metavar="N")
    parser.add_argument("--folder", type=Path, help="where to work; the system's by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    sizes = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(dir=sizes.folder, prefix="kleene-faults-") as folder:
        tally = run(sizes, Path(folder))
    for what, count in sorted(tally.counts.items()):
        print(f"{count:6}  {what}")
    print("\n".join(tally.failures) or "nothing was lost")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""`kleene train --stream` on event tables: time, peak memory and progress against the rows.

A row is an event: its case, activity and time, and the label of the case. Cases have 5 to 15 events
of eight activities; the label says whether "approve" came before any "reject". Times are shuffled
within the file for cases that overlap, as logs have them. The command runs in a process of its own
whose messages go to a pseudo-terminal; the bars it draws there are counted.

Run: python experiments/event_table.py [--rows 100000,1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
from ledger import Ledger

ACTIVITIES = ("open", "check", "ask", "answer", "approve", "reject", "pay", "close")
AT_ONCE = 50
"""Cases that overlap in the file."""
COLUMNS = ["--case-column", "case", "--event-column", "activity", "--order-column", "time"]
COLUMNS += ["--label-column", "label", "--stream", "--json", "--seed", "0"]


def write_table(path: Path, rows: int, seed: int = 0) -> int:
    """Write an event table; the result is the number of cases."""
    random = np.random.default_rng(seed)
    written = case = 0
    with path.open("w") as file:
        file.write("case,activity,time,label\n")
        while written < rows:
            block: list[str] = []
            for _ in range(AT_ONCE):
                events = random.choice(ACTIVITIES, random.integers(5, 16)).tolist()
                first = next((one for one in events if one in ("approve", "reject")), "reject")
                label = "good" if first == "approve" else "bad"
                times = np.sort(random.integers(0, 10**6, len(events))).tolist()
                block += [
                    f"c{case},{event},{time},{label}\n"
                    for event, time in zip(events, times, strict=True)
                ]
                case += 1
            file.writelines(block[i] for i in random.permutation(len(block)))
            written += len(block)
    return case


def train(rows: int) -> dict[str, Any]:
    """Train on a table of so many rows; the folder is deleted afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        table, answer = Path(folder) / "events.csv", Path(folder) / "answer.json"
        cases = write_table(table, rows)
        command = [sys.executable, "-m", "kleene", "train", str(table)]
        command += ["--out", str(Path(folder) / "model"), *COLUMNS]
        terminal, messages = pty.openpty()
        out = os.open(answer, os.O_WRONLY | os.O_CREAT)
        actions = [(os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_DUP2, messages, 2)]
        shown: list[bytes] = []
        reader = threading.Thread(target=_read, args=(terminal, shown), daemon=True)
        reader.start()
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)
        os.close(messages)
        _, status, usage = os.wait4(child, 0)
        reader.join(5)
        text = b"".join(shown).decode(errors="replace")
        if status:
            raise SystemExit(f"kleene train failed with status {status}: {text[-2000:]}")
        found = json.loads(answer.read_text())
        return {
            "cases": cases,
            "megabytes": round(table.stat().st_size / 2**20, 1),
            "train_cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
            "peak_megabytes": round(usage.ru_maxrss / 1024),
            "bars_drawn": text.count("\r"),
            "held_out_accuracy": found.get("held_out_accuracy"),
            "training_accuracy": found.get("training_accuracy"),
            "states": found.get("states"),
        }


def _read(terminal: int, shown: list[bytes]) -> None:
    while True:
        try:
            part = os.read(terminal, 65_536)
        except OSError:  # the other end was closed
            return
        if not part:
            return
        shown.append(part)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="100000,1000000")
    options = parser.parse_args()
    ledger = Ledger("event_table")
    for rows in map(int, options.rows.split(",")):
        row = ledger.run(lambda rows=rows: train(rows), recipe={"command": COLUMNS}, rows=rows)
        print(row["key"], row["result"], flush=True)


if __name__ == "__main__":
    main()

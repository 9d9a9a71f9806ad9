"""Runs the real command line in processes of their own, forked from one that has imported it all.

Orders come as JSON lines on standard input; each is answered with the number of the process and,
when that has ended, with its status. A process can be told to meet trouble on its way.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from typing import Any, NoReturn

from kleene.cli import main

FILE_EVENTS = ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod")


class NoArrow:
    """Keeps pyarrow out, which pandas imports: it starts a thread."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == "pyarrow":
            raise ImportError(name)


def serve() -> None:
    """Obey until standard input ends."""
    orders = os.fdopen(os.dup(0))
    answers = os.fdopen(os.dup(1), "w")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    _warm_up()
    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"{threads} threads, but only a process of one can be forked safely"
    print("ready", file=answers, flush=True)
    line = orders.readline()
    while line:
        child = os.fork()
        if not child:
            _run(json.loads(line))
        print(child, file=answers, flush=True)
        ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        status = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        print(status, file=answers, flush=True)
        line = orders.readline()  # until then its number is its own: no signal goes astray
        os.waitpid(child, 0)


def _warm_up() -> None:
    """Import and compile what a run needs, once."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as sys.stderr:
        data = f"{folder}/data.tsv"
        sample = ["sample", "tomita1", "-n", "60", "--lengths", "0:6", "--out", data]
        small = [
            "--hidden-size",
            "8",
            "--embedding-size",
            "4",
            "--epochs",
            "1",
            "--learn",
            "network",
        ]
        assert main(sample) == 0
        assert main(["train", data, "--out", f"{folder}/model", *small]) == 0
    sys.stderr = sys.__stderr__


def _run(order: dict[str, Any]) -> NoReturn:
    status = 99
    try:
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(signum, signal.SIG_DFL)
        if order.get("nohup"):
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for stream, path in ((1, order["out"]), (2, order["err"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        if terminal := order.get("terminal"):
            os.setsid()
            tty = os.open(terminal, os.O_RDWR)  # a session without one gets it as its terminal
            for stream in range(3):
                os.dup2(tty, stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w", closefd=False) for stream in (1, 2))
        if limit := order.get("largest_file"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if (seed := order.get("clock")) is not None:
            _let_the_clock_jump(random.Random(seed))
        if (folder := order.get("folder")) is not None:
            _watch(folder, order.get("die_at"), order.get("count"))
        sys.argv = ["kleene", *order["arguments"]]
        status = main()
        sys.stdout.flush()
    except BaseException:
        with open(order["err"], "a") as file:
            traceback.print_exc(file=file)
    finally:
        os._exit(status)


def _watch(folder: str, die_at: int | None, count: str | None) -> None:
    """Count what is done to the files of a folder; die, as by kill -9, just before the n-th act."""
    done = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal done
        if event in FILE_EVENTS and str(arguments[0]).startswith(folder):
            done += 1
            if done == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if count is not None:
                with open(count, "w") as file:
                    file.write(str(done))

    sys.addaudithook(hook)


def _let_the_clock_jump(dice: random.Random) -> None:
    """Wall clock: anywhere, forth and back. Monotonic clock: now and then an hour forth."""
    week, hour = 7 * 86400, 3600
    wall, steady, ahead = time.time, time.monotonic, [0.0]

    def monotonic() -> float:
        ahead[0] += hour * (dice.random() < 0.05)
        return steady() + ahead[0]

    time.time = lambda: wall() + dice.uniform(-week, week)
    time.time_ns = lambda: int(time.time() * 1e9)
    time.monotonic = monotonic


if __name__ == "__main__":
    sys.meta_path.insert(0, NoArrow())  # type: ignore[arg-type]
    serve()

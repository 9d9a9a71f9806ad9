"""Honest requests while other clients misbehave: what the server owes to the honest ones.

    python benchmarks/serving_faults.py [MODEL] [--rate 200] [--seconds 120]

One-sentence predictions arrive at a fixed rate over 16 connections, in blocks of time: alone, then
while one client leaves heads of requests half sent, another sends work and hangs up, a third sends
files one after the other, and a fourth sends bodies that are refused, and so on. The honest
ones must get no 5xx and no 429; their p99 is put beside that of the quiet blocks, and the memory of
all processes of the server is noted after each faulty block. Writes results/serving_faults.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

from serving import (
    cpu_seconds,
    exchange,
    latencies,
    load,
    processes,
    request,
    summary,
    until_ready,
    untrained,
)
from timing import write

Client = Callable[[int, dict[str, int], float], Awaitable[None]]
HALF_HEADS = 300  # connections that are held at a time


async def half_heads(port: int, counts: dict[str, int], pause: float) -> None:
    """Open connections and never finish the head of a request."""
    held: list[asyncio.StreamWriter] = []
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            held.append(writer)
            counts["half heads"] += 1
        while len(held) > HALF_HEADS:
            held.pop(0).close()
        await asyncio.sleep(0.01 * pause)


async def hang_up(port: int, counts: dict[str, int], pause: float) -> None:
    """Ask for long work, and go away at once."""
    work = request(port, [" ".join(["word1"] * 200)] * 500)
    while True:
        with suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(work)
            await writer.drain()
            writer.close()
            counts["hang-ups"] += 1
        await asyncio.sleep(0.1 * pause)


async def upload(port: int, counts: dict[str, int], pause: float) -> None:
    """Upload a file of 10,000 lines, again and again."""
    body = b"the film was slow but the ending is wonderful\n" * 10_000
    head = f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24)
            status = await exchange(reader, writer, head.encode() + body)
            counts[f"uploads, {status}"] = counts.get(f"uploads, {status}", 0) + 1
            writer.close()
        await asyncio.sleep(0.2 * pause)


async def bombs(port: int, counts: dict[str, int], pause: float) -> None:
    """Send bodies that are refused after they were read."""
    body = b'{"words": [[' + b"{}," * 300_000 + b"{}]]}"
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    content = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await exchange(reader, writer, content)
            counts["bombs"] += 1
            writer.close()
        await asyncio.sleep(0.5 * pause)


FAULTS: tuple[Client, ...] = (half_heads, hang_up, upload, bombs)


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--blocks", type=int, default=6, help="of each kind, in turn")
    parser.add_argument("--pause", type=float, default=1.0, help="above 1, rarer faults")
    parser.add_argument("--port", type=int, default=8775)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = options.model or untrained(Path(folder) / "model")
        command = [sys.executable, "-m", "kleene", "serve", str(model)]
        process = subprocess.Popen([*command, "--port", str(options.port)])
        try:
            found = await measure(options, process.pid)
        finally:
            process.terminate()
            process.wait()
    print(json.dumps(found, indent=2))
    write("serving_faults", found)


async def measure(options: argparse.Namespace, server: int) -> dict[str, object]:
    """Quiet and faulty blocks in turn, so that both see the same machine."""
    port, rate = options.port, options.rate
    await until_ready(port)
    here, there = multiprocessing.Pipe()
    others = multiprocessing.Process(target=misbehave, args=(port, options.pause, there))
    others.start()  # in a process of its own, so that the honest client is not held up by them
    here.send("faulty")
    await load(port, rate, 5.0)  # warm, and all kinds of requests are seen
    late: dict[str, list[float]] = {"quiet": [], "faulty": []}
    errors, cores, memory = dict.fromkeys(late, 0), dict.fromkeys(late, 0.0), []
    for _ in range(options.blocks):
        for phase in late:
            here.send(phase)
            await asyncio.sleep(2.0)  # what was begun before is answered
            before = cpu_seconds(server), time.perf_counter()
            found, failed = await latencies(port, rate, options.seconds / options.blocks)
            spent, took = cpu_seconds(server) - before[0], time.perf_counter() - before[1]
            late[phase] += found
            errors[phase] += failed
            cores[phase] += spent / took / options.blocks
        memory.append(resident(server))
    here.send("end")
    counts = here.recv()
    others.join()
    phases = {
        phase: {**summary(late[phase]), "errors": errors[phase], "cores": round(cores[phase], 2)}
        for phase in late
    }
    return {
        "settings": {k: v for k, v in vars(options).items() if k != "model"},
        **phases,
        "faults": counts,
        "ratio p50": round(phases["faulty"]["p50"] / phases["quiet"]["p50"], 2),
        "ratio p99": round(phases["faulty"]["p99"] / phases["quiet"]["p99"], 2),
        "MB after each faulty block": memory,
    }


def misbehave(port: int, pause: float, pipe: Connection) -> None:
    """Run the faulty clients when told to; at the end answer with their counts."""
    counts = {"half heads": 0, "hang-ups": 0, "bombs": 0}

    async def run() -> None:
        tasks: list[asyncio.Task[None]] = []
        told = ""
        while told != "end":
            if pipe.poll():
                told = pipe.recv()
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                clients = FAULTS if told == "faulty" else ()
                tasks = [asyncio.create_task(client(port, counts, pause)) for client in clients]
            await asyncio.sleep(0.1)

    asyncio.run(run())
    pipe.send(counts)


def resident(server: int) -> int:
    """Megabytes that a server holds, all its processes together, where the system tells."""
    pages = 0
    for process in processes(server):
        with suppress(OSError):
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    asyncio.run(main())

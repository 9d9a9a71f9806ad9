"""How many one-sentence predictions a second the server answers, and how late.

    python benchmarks/serving.py [MODEL] [--rate 200] [--seconds 10]

Requests are sent at fixed times over 16 connections, whether or not earlier ones were answered, so
that a slow answer counts for all that wait behind it. The same is done to a bare FastAPI echo,
which is what the framework alone costs; the ratio of the two is the figure to compare. Then the
same requests are sent while 16 other connections send full batches (1,000 texts of 200 words), one
after the other. Last, slow clients hold connections with half a request and go away: how long the
next answer takes. Writes results/serving.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from timing import write

CONNECTIONS = 16
SENTENCE = "the film was slow at first but the ending is wonderful and the music stays with you"
ECHO = """
import socket, sys
import fastapi, uvicorn
app = fastapi.FastAPI()

@app.get("/health")
async def health(): return {}

@app.post("/predict")
async def predict(form: dict): return form

listening = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=256)
config = uvicorn.Config(app, log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listening])
"""


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory()
    if options.model is None:
        options.model = untrained(Path(folder.name) / "model")
    servers = {
        "kleene": ["-m", "kleene", "serve", str(options.model), "--port", str(options.port)],
        "echo": ["-c", ECHO, str(options.port + 1)],
    }
    found = {}
    for i, (name, command) in enumerate(servers.items()):
        process = subprocess.Popen(on_one_core([sys.executable, *command]))
        try:
            await until_ready(options.port + i)
            await load(options.port + i, options.rate, 2.0)  # warm
            before = cpu_seconds(process.pid)
            found[name] = await load(options.port + i, options.rate, options.seconds)
            spent = cpu_seconds(process.pid) - before
            found[name]["cpu ms a request"] = round(1000 * spent / found[name]["requests"], 2)
            if name == "kleene":
                found["kleene, beside 16 full batches"] = await busy(options)
            found[name]["after slow clients"] = await after_slow_clients(options.port + i)
        finally:
            process.terminate()
            process.wait()
    for figure in ("p50", "p99"):
        beside = found["kleene, beside 16 full batches"][figure]
        found[f"ratio {figure} beside batches"] = round(beside / found["kleene"][figure], 2)
        found[f"ratio {figure}"] = round(found["kleene"][figure] / found["echo"][figure], 2)
    print(json.dumps(found, indent=2))
    write("serving", found)


def untrained(folder: Path) -> Path:
    """An LSTM of ten states over a vocabulary of 8,000; that it knows nothing costs no time."""
    from kleene.data.alphabet import Alphabet
    from kleene.model import Model
    from kleene.nn.classifier import Classifier
    from kleene.nn.config import NetworkConfig

    words = [*dict.fromkeys(SENTENCE.split())]
    symbols = [*words, *(f"word{i}" for i in range(8_000 - len(words)))]
    config = NetworkConfig(
        num_symbols=4 + len(symbols),
        num_classes=2,
        cell="lstm-p",
        input_size=100,
        hidden_size=100,
        num_states=10,
        pooling="mean",
    )
    model = Model(
        network=Classifier(config),
        alphabet=Alphabet(symbols),
        classes=("no", "yes"),
        tokens="words",
    )
    return model.save(folder)


def on_one_core(command: list[str]) -> list[str]:
    """The command on the first core only, where the system can do that."""
    return ["taskset", "-c", "0", *command] if sys.platform == "linux" else command


def processes(server: int) -> list[int]:
    """A process and all that it has started, where the system tells."""
    try:
        found = Path(f"/proc/{server}/task/{server}/children").read_text().split()
    except OSError:
        return [server]
    return [server, *(process for child in found for process in processes(int(child)))]


def cpu_seconds(server: int) -> float:
    """Processor time that the processes of a server have used, where the system tells."""
    ticks = 0
    for process in processes(server):
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


async def until_ready(port: int) -> None:
    for _ in range(600):
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(60):  # the socket listens while the models are loaded
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                await exchange(reader, writer, b"GET /health HTTP/1.1\r\nHost: [::1]\r\n\r\n")
            writer.close()
            return
        await asyncio.sleep(0.1)
    raise SystemExit(f"no server on port {port}")


async def load(port: int, rate: float, seconds: float) -> dict[str, float]:
    """Latencies in milliseconds."""
    start = time.perf_counter()
    late, errors = await latencies(port, rate, seconds)
    took = time.perf_counter() - start
    return {**summary(late), "errors": errors, "a second": round(len(late) / took, 1)}


async def latencies(port: int, rate: float, seconds: float) -> tuple[list[float], int]:
    """Seconds from the time at which a request was due, of all requests, and how many failed."""
    start = time.perf_counter() + 0.05
    dues = [start + i / rate for i in range(int(rate * seconds))]
    jobs = [one_connection(port, dues[i::CONNECTIONS]) for i in range(CONNECTIONS)]
    results = await asyncio.gather(*jobs)
    late = [latency for found, _ in results for latency in found]
    return late, sum(failed for _, failed in results)


def summary(late: list[float]) -> dict[str, float]:
    """Quantiles of latencies, in milliseconds."""
    late = sorted(late)

    def at(share: float) -> float:
        return round(1000 * late[min(int(share * len(late)), len(late) - 1)], 2)

    return {"requests": len(late), "p50": at(0.5), "p99": at(0.99), "worst": at(1.0)}


async def busy(options: argparse.Namespace) -> dict[str, float]:
    """The latencies of short requests while full batches are answered, and how many of those."""
    text = " ".join(f"word{i}" for i in range(200))
    batch = request(options.port, [text] * 1_000)
    answered = {"batches": 0, "batches turned away": 0}

    async def send_batches() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", options.port)
        while True:
            status = await exchange(reader, writer, batch)
            answered["batches" if status == 200 else "batches turned away"] += 1

    tasks = [asyncio.create_task(send_batches()) for _ in range(CONNECTIONS)]
    await asyncio.sleep(1.0)
    found = await load(options.port, options.rate, options.seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return {**found, **answered}


async def after_slow_clients(port: int, clients: int = 50) -> float:
    """Milliseconds from the moment they hang up to the next answer."""
    lines = [await asyncio.open_connection("127.0.0.1", port) for _ in range(clients)]
    for _, writer in lines:
        writer.write(request(port)[:-5])
    await asyncio.sleep(0.5)
    left = time.perf_counter()
    for _, writer in lines:
        writer.close()
    late, errors = await one_connection(port, [left])
    assert not errors
    return round(1000 * late[0], 2)


def request(port: int, words: list[str] | None = None) -> bytes:
    """A prediction, asked for."""
    body = json.dumps({"words": words or [SENTENCE]})
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


async def exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: bytes
) -> int:
    """Send a request and read its answer, of which the status is returned."""
    writer.write(content)
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    await reader.readexactly(length)
    return int(answer.split(b" ")[1])


async def one_connection(port: int, dues: list[float]) -> tuple[list[float], int]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    late, errors = [], 0
    for due in dues:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        errors += await exchange(reader, writer, request(port)) != 200
        late.append(time.perf_counter() - due)
    writer.close()
    return late, errors


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    asyncio.run(main())

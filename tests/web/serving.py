"""A server on the loopback for tests, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import uvicorn
from built_models import built_model
from prometheus_client.parser import text_string_to_metric_families

from kleene import DFA
from kleene.machine import Word
from kleene.web.guard import Guard
from kleene.web.models import Answer, Models, Served
from kleene.web.server import bind, uvicorn_config

EVEN = DFA.from_table(
    {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
    start="even",
    accept={"even"},
)


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Asks the server on a port."""

    port: int

    @property
    def page(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def post(self, path: str, value: Any, **headers: str) -> Reply:
        content = json.dumps(value).encode()
        return self.ask("POST", path, content, Content_Type="application/json", **headers)


@contextmanager
def running(app: Guard) -> Iterator[Client]:
    """A server that runs an application until the block ends."""
    listening = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(app, log_config=None))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        yield Client(listening.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        listening.close()


EVEN_MODEL = replace(built_model(EVEN), tokens="chars", longest=12)
"""A network that is this automaton."""


def even(name: str = "even") -> Served:
    return Served(name, EVEN_MODEL)


class Held(Served):
    """A model whose passes over more than one word wait for a signal, and are counted."""

    def __init__(self, name: str) -> None:
        self.go, self.passes = threading.Event(), 0
        self.go.set()
        super().__init__(name, EVEN_MODEL)
        self.go.clear()
        self.passes = 0

    def predict(self, words: Sequence[Word]) -> list[Answer]:
        if len(words) > 1:
            self.passes += 1
            self.go.wait()
        return super().predict(words)


def until(done: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    for _ in range(6_000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


def models_of(*entries: Served) -> Models:
    return {entry.name: entry for entry in entries}


def metric(client: Client, name: str, **labels: str) -> float:
    """The value of a metric, added up over the labels that are not given."""
    text = client.get("/metrics").body.decode()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def start(folder: Path, *arguments: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
    """A server as its users start it, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kleene", "serve", *arguments, "--port", "0"],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(r"http://[\d.:]+/", line):
            process.said = said  # type: ignore[attr-defined]
            return process, found[0]
    raise AssertionError(said)


def stop(process: subprocess.Popen[str]) -> str:
    """End a server as Ctrl-C does, and return all that it wrote."""
    process.send_signal(signal.SIGINT)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == 0
    return str(process.said) + said  # type: ignore[attr-defined]

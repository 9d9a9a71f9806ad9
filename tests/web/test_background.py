"""Large and slow requests in a process of their own: the same answers, and nobody waits."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from serving import Client, random_model, running

from kleene import DFA
from kleene.web.app import create_app
from kleene.web.entries import Automaton, Network
from kleene.web.http import background as module
from kleene.web.http.background import CONTEXT, Background
from kleene.web.http.background_work import work
from kleene.web.http.guard import SHORT
from kleene.web.http.metrics import Metrics
from kleene.web.registry import ModelRegistry

EVEN = DFA.from_table(
    {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
    start="even",
    accept={"even"},
)
REGISTRY = ModelRegistry(
    {"even": Automaton("even", EVEN), "network": Network("network", random_model())}
)
LARGE = {"words": ["01" * 50] * 200, "model": "network"}
SYMBOLS = 200 * 100  # of the large request
assert len(json.dumps(LARGE)) > SHORT
REQUESTS: dict[str, Callable[[Client], Any]] = {
    "a large prediction": lambda client: client.post("/predict", LARGE),
    "an upload": lambda client: client.ask("POST", "/upload?formulas=keep", b"01\n=1\n"),
    "an upload for a model": lambda client: client.ask(
        "POST", "/upload?model=network&text_column=b", b"a,b\n1,01\n"
    ),
    "an explanation": lambda client: client.post("/explain", {"word": "01", "model": "network"}),
    "a comparison": lambda client: client.post(
        "/compare", {"word": "0110", "one": "even", "two": "network"}
    ),
    "a difference": lambda client: client.get("/difference?one=even&two=even"),
    "an automaton": lambda client: client.get("/automaton?model=network"),
    "an extraction": lambda client: client.get("/extract?model=network"),
    "a refusal": lambda client: client.get("/automaton?model=nobody"),
    "a bomb": lambda client: client.post("/predict", {"words": [[{}] * 30_000]}),
    "not JSON": lambda client: client.ask("POST", "/explain", b"{"),
}


@dataclass(frozen=True)
class Served:
    """A server with a background process."""

    client: Client
    background: Background
    shared: Any

    @property
    def symbols(self) -> float:
        return Metrics(self.shared, 0).total("symbols")

    def signal(self, number: int) -> None:
        pid = self.background._process.pid
        assert pid is not None
        os.kill(pid, number)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    shared = CONTEXT.RawArray("d", Metrics.size(2))
    with Background(work, shared, 1, "warning", False) as background:
        app = create_app(REGISTRY, metrics=Metrics(shared, 0), background=background)
        with running(app, background.run(REGISTRY)) as client:
            until(lambda: client.get("/ready").status == 200)
            yield Served(client, background, shared)


@pytest.fixture(scope="module")
def alone() -> Iterator[Client]:
    with running(create_app(REGISTRY)) as client:
        yield client


def until(done: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    for _ in range(6_000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


@pytest.mark.parametrize("name", REQUESTS)
def test_the_answers_are_those_of_one_process(served: Served, alone: Client, name: str) -> None:
    found, needed = REQUESTS[name](served.client), REQUESTS[name](alone)
    assert (found.status, found.body) == (needed.status, needed.body)
    ignored = {"date"}
    assert {k: v for k, v in found.headers.items() if k not in ignored} == {
        k: v for k, v in needed.headers.items() if k not in ignored
    }


def test_short_requests_do_not_need_the_background(served: Served) -> None:
    late: list[int] = []
    served.signal(signal.SIGSTOP)
    try:
        upload = threading.Thread(
            target=lambda: late.append(served.client.ask("POST", "/upload", b"01\n" * 500).status)
        )
        upload.start()
        for _ in range(20):
            assert served.client.post("/predict", {"words": ["01"]}).status == 200
        assert served.client.get("/health").status == 200
        assert not late
    finally:
        served.signal(signal.SIGCONT)
    upload.join(timeout=60)
    assert late == [200]


def test_work_whose_client_is_gone_is_dropped(served: Served) -> None:
    body = json.dumps(LARGE).encode()
    head = "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    before, abandoned = served.symbols, Metrics(served.shared, 0).total("abandoned")
    served.signal(signal.SIGSTOP)
    try:
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", served.client.port)) as line:
                line.sendall(request)
        gone = abandoned + 50
        until(lambda: Metrics(served.shared, 0).total("abandoned") == gone)
    finally:
        served.signal(signal.SIGCONT)
    assert served.client.post("/predict", LARGE).status == 200
    assert served.symbols - before < 10 * SYMBOLS


def test_it_is_started_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    served.signal(signal.SIGSTOP)
    found: list[Any] = []
    ask = threading.Thread(target=lambda: found.append(served.client.post("/predict", LARGE)))
    ask.start()
    until(lambda: len(served.background._waiting) == 1)
    served.signal(signal.SIGKILL)
    ask.join(timeout=60)
    assert found[0].status == 503
    assert "try again" in found[0].json["error"]
    assert served.client.post("/predict", {"words": ["01"]}).status == 200
    until(lambda: served.client.get("/ready").status == 200)
    assert served.client.post("/predict", LARGE).status == 200


PARENT = """
import sys, time
from kleene.web.http.background import CONTEXT, Background
from kleene.web.http.background_work import work
from kleene.web.http.metrics import Metrics
if __name__ == "__main__":
    shared = CONTEXT.RawArray("d", Metrics.size(2))
    with Background(work, shared, 1, "warning", False) as background:
        print(background._process.pid, flush=True)
        time.sleep(600)
"""


def test_it_ends_with_the_server_however_that_ends() -> None:
    read, write = os.pipe()
    server = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, stderr=write, pass_fds=[write]
    )
    os.close(write)
    assert server.stdout is not None
    assert int(server.stdout.readline())
    server.kill()
    server.communicate(timeout=60)
    ended, _, _ = select.select([read], [], [], 60)
    assert ended
    assert os.read(read, 4096) == b""  # all that held the other end have ended, without a word
    os.close(read)

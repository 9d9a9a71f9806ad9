"""The background process: the same answers as one process, and an end with the server."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from serving import EVEN, Client, Served, random_model, registry_of, running, served

from kleene.web.app import create_app
from kleene.web.guard import SHORT
from kleene.web.models import Automaton, Network

REGISTRY = registry_of(Automaton("even", EVEN), Network("network", random_model()))
LARGE = {"words": ["01" * 50] * 200, "model": "network"}
LONG = "01" * SHORT
assert len(json.dumps(LARGE)) > SHORT
REQUESTS: dict[str, Callable[[Client], Any]] = {
    "a large prediction": lambda client: client.post("/predict", LARGE),
    "an upload": lambda client: client.ask("POST", "/upload?formulas=keep", b"01\n=1\n"),
    "an upload for a model": lambda client: client.ask(
        "POST", "/upload?model=network&text_column=b", b"a,b\n1,01\n"
    ),
    "an explanation": lambda client: client.post("/explain", {"word": LONG, "model": "network"}),
    "a comparison": lambda client: client.post(
        "/compare", {"word": LONG, "one": "even", "two": "network"}
    ),
    "a difference": lambda client: client.get("/difference?one=even&two=even"),
    "a refusal": lambda client: client.get("/difference?one=even&two=nobody"),
    "a bomb": lambda client: client.post("/predict", {"words": [[{}] * 30_000]}),
    "not JSON": lambda client: client.ask(
        "POST", "/explain", b"{" * 2 * SHORT, Content_Type="application/json"
    ),
}


@pytest.fixture(scope="module")
def both() -> Iterator[Served]:
    with served(REGISTRY) as found:
        yield found


@pytest.fixture(scope="module")
def alone() -> Iterator[Client]:
    with running(create_app(REGISTRY)) as client:
        yield client


@pytest.mark.parametrize("name", REQUESTS)
def test_the_answers_are_those_of_one_process(both: Served, alone: Client, name: str) -> None:
    found, needed = REQUESTS[name](both.client), REQUESTS[name](alone)
    assert (found.status, found.body) == (needed.status, needed.body)
    assert found.headers | {"date": ""} == needed.headers | {"date": ""}


PARENT = """
import time
from kleene.web.background import Background
from kleene.web.limits import Limits
from kleene.web.models import ModelRegistry
from kleene.web.monitoring import Metrics
if __name__ == "__main__":
    print(Background(ModelRegistry(), Limits(), Metrics())._started.result(), flush=True)
    time.sleep(600)
"""


def test_it_ends_with_the_server_however_that_ends() -> None:
    read, write = os.pipe()
    server = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        stderr=write,
        pass_fds=[write],
        env={**os.environ, "PYTHONWARNINGS": "ignore"},  # of semaphores that were not closed
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

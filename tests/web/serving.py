"""A server on the loopback for tests, and plain requests to it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import uvicorn
from prometheus_client.parser import text_string_to_metric_families

from kleene import DFA
from kleene.data.alphabet import Alphabet
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.web.guard import Guard
from kleene.web.models import Answer, Automaton, Entry, Models
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


class Held(Automaton):
    """An automaton whose passes over more than one word wait for a signal, and are counted."""

    def __init__(self, name: str, dfa: DFA) -> None:
        super().__init__(name, dfa)
        self.go, self.passes = threading.Event(), 0

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


def models_of(*entries: Entry) -> Models:
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


def random_model(symbols: tuple[str, ...] = ("0", "1"), *, seed: int = 0, **settings: Any) -> Model:
    """A small untrained network with several states."""
    torch.manual_seed(seed)
    config = {"cell": "rnn", "similarity": "euclidean", "temperature": 0.02, "num_states": 6}
    network = Classifier(
        NetworkConfig(
            num_symbols=4 + len(symbols),
            num_classes=2,
            input_size=4,
            hidden_size=8,
            **{**config, **settings},
        )
    )
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if "weight_" in name or "head" in name or "embedding" in name:
                weight.mul_(3.0)
        if network.rnn.num_states:
            network.rnn.centroids().uniform_(-1, 1)
    tokens = "chars" if all(len(symbol) == 1 for symbol in symbols) else "words"
    return Model(
        network=network.eval(), alphabet=Alphabet(symbols), classes=(0, 1), tokens=tokens, longest=9
    )

"""Clients that mean harm: bombs, half requests, work that nobody waits for, floods."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from serving import Client, random_model, running

from kleene import DFA
from kleene.errors import DataError
from kleene.machine import Label, Word
from kleene.web.app import create_app
from kleene.web.entries import Automaton, Network
from kleene.web.forms import PredictForm, read_form
from kleene.web.handler import RequestHandler, in_slices
from kleene.web.http.access import LOCAL
from kleene.web.http.guard import Guard
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics
from kleene.web.registry import ModelRegistry
from kleene.web.scheduler import SHORT, WORDS, Scheduler, parts
from kleene.web.uploads import as_csv, read_upload

EVEN = DFA.from_table(
    {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
    start="even",
    accept={"even"},
)
HALF_HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALF_BODY = HALF_HEAD + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"


def registry_of(*entries: Any) -> ModelRegistry:
    return ModelRegistry({entry.name: entry for entry in entries})


def until(done: Callable[[], bool]) -> None:
    """Wait for something that must come."""
    for _ in range(3_000):
        if done():
            return
        time.sleep(0.01)
    raise AssertionError("it never came")


# -- bodies --------------------------------------------------------------------------------------

BOMBS = {
    "objects": '{"words": [[' + "{}," * 300_000 + "{}]]}",
    "lists": '{"words": [[' + "[]," * 300_000 + "[]]]}",
    "numbers": '{"words": [[' + "1," * 400_000 + "1]]}",
    "words": '{"words": [' + "{}," * 300_000 + "{}]}",
    "keys": "{" + ",".join(f'"k{i}": []' for i in range(80_000)) + "}",
    "digits": '{"words": [[' + "9" * 1_000_000 + "]]}",
    "depth": '{"words": ' + "[" * 1_000_000 + "}",
}
MEASURED = """
import resource, sys
from kleene.web.forms import PredictForm, read_form
body = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_form(PredictForm, body)
except Exception as error:
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(name: str) -> None:
    handler = RequestHandler(registry_of(Automaton("even", EVEN)), Limits(), Metrics())

    def read() -> None:
        form = read_form(PredictForm, BOMBS[name].encode())
        asyncio.run(in_slices(handler.read_words(handler.entry(None), form.words)))

    with pytest.raises((RefusedError, DataError)) as found:
        read()
    assert len(str(found.value)) < 300


def test_a_bomb_takes_little_memory() -> None:
    body = BOMBS["objects"].encode()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED], input=body, capture_output=True, check=True
    )
    assert int(done.stdout) * 1024 < 200 * len(body)  # kilobytes; a union took 3,000 times as much


def test_large_requests_leave_turns_to_others() -> None:
    entry, limits = Automaton("even", EVEN), Limits()
    handler = RequestHandler(registry_of(entry), limits, Metrics())
    words, answers = ["01" * 500] * 100, entry.predict(["01"] * 9_000)
    work = (
        lambda: handler.read_words(entry, words),
        lambda: read_upload(b"0101\n" * 9_000, entry, None, limits),
        lambda: as_csv(["01"] * 9_000, answers),
    )

    async def turns(steps: Any) -> int:
        done = asyncio.create_task(in_slices(steps))
        count = 0
        while not done.done():
            count += 1
            await asyncio.sleep(0)
        return count

    assert [asyncio.run(turns(make())) >= 9 for make in work] == [True] * 3


def test_large_bodies_have_a_bound_together() -> None:
    limits = Limits(buffered=300_000)
    with running(create_app(registry_of(Automaton("even", EVEN)), limits=limits)) as client:
        head = HALF_BODY.replace(b"/predict", b"/upload").replace(b": 50", b": 300000")
        with socket.create_connection(("127.0.0.1", client.port)) as line:
            line.sendall(head + b"0" * 250_000)
            until(lambda: metric(client, "kleene_buffered_bytes") > 200_000)
            assert client.ask("POST", "/upload", b"01\n" * 30_000).status == 429
            assert client.post("/predict", {"words": ["01"]}).status == 200
        until(lambda: metric(client, "kleene_buffered_bytes") == 0)
        assert client.ask("POST", "/upload", b"01\n" * 30_000).status == 200


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [HALF_HEAD, HALF_BODY, b""])
def test_unfinished_requests_keep_nobody_out(start: bytes) -> None:
    limits = Limits(connections=30, connections_per_client=20, header_seconds=60, seconds=60)
    with running(create_app(registry_of(Automaton("even", EVEN)), limits=limits)) as client:
        lines = []
        for _ in range(60):
            lines.append(socket.create_connection(("127.0.0.1", client.port)))
            lines[-1].sendall(start)
        assert client.post("/predict", {"words": ["01"]}).status == 200
        for line in lines:
            line.close()


@pytest.mark.parametrize("start", [HALF_HEAD, b""])
def test_a_head_has_a_deadline(start: bytes) -> None:
    limits = Limits(header_seconds=0.2)
    with running(create_app(registry_of(Automaton("even", EVEN)), limits=limits)) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as line:
            line.sendall(start)
            assert _ended(line)
        assert dropped(client, "slow head") == 1


def test_the_second_head_of_a_connection_has_a_deadline_too() -> None:
    limits = Limits(header_seconds=0.3)
    with running(create_app(registry_of(Automaton("even", EVEN)), limits=limits)) as client:
        with socket.create_connection(("127.0.0.1", client.port), timeout=30) as line:
            line.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b"200" in line.recv(4096)
            line.sendall(HALF_HEAD)
            assert _ended(line)
        assert dropped(client, "slow head") == 1


def _ended(line: socket.socket) -> bool:
    try:
        while line.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def dropped(client: Client, reason: str) -> float:
    name = f'kleene_connections_dropped_total{{reason="{reason}"}}'
    return metric(client, name)


def metric(client: Client, name: str) -> float:
    lines = client.get("/metrics").body.decode().splitlines()
    found: float = sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))
    return found


# -- work ----------------------------------------------------------------------------------------


class Held(Automaton):
    """An automaton whose comparisons wait for a signal, and are counted."""

    def __init__(self, name: str, dfa: DFA) -> None:
        super().__init__(name, dfa)
        self.go, self.compared = threading.Event(), 0

    def predict_prefixes(self, word: Word) -> list[Label]:
        self.compared += 1
        self.go.wait()
        return super().predict_prefixes(word)


@pytest.fixture
def held() -> Iterator[Held]:
    entry = Held("held", EVEN)
    yield entry
    entry.go.set()


def compare_request(port: int) -> bytes:
    body = json.dumps({"one": "held", "two": "held", "word": "01" * SHORT}).encode()
    head = HALF_HEAD.replace(b"/predict", b"/compare") + b"Content-Type: application/json\r\n"
    return head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def test_work_whose_client_is_gone_is_not_done(held: Held) -> None:
    with running(create_app(registry_of(held))) as client:
        lines = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(5)]
        for line in lines:
            line.sendall(compare_request(client.port))
        until(lambda: metric(client, "kleene_requests_in_progress") == 6)  # and the asking itself
        until(lambda: held.compared == 1)
        for line in lines:
            line.close()
        until(lambda: metric(client, "kleene_abandoned_total") == 5)
        held.go.set()
        assert client.post("/predict", {"words": ["01"]}).status == 200
        assert held.compared == 2  # both sides of the one that had begun


def test_a_full_queue_says_so(held: Held) -> None:
    with running(create_app(registry_of(held), limits=Limits(waiting=2))) as client:
        lines = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(2)]
        for line in lines:  # one is being done, one waits
            line.sendall(compare_request(client.port))
        until(lambda: client.get("/ready").status == 503)
        found = client.post("/predict", {"words": ["01"]})
        assert (found.status, found.headers["retry-after"]) == (429, "1")
        assert client.get("/health").status == 200
        held.go.set()
        for line in lines:
            assert b"200" in line.recv(4096)
            line.close()
        until(lambda: client.get("/ready").status == 200)
        assert client.post("/predict", {"words": ["01"]}).status == 200


def test_long_requests_have_a_bound_together() -> None:
    async def ask() -> None:
        scheduler = Scheduler(Limits(waiting_symbols=9_000), Metrics())
        go = threading.Event()
        first = asyncio.create_task(scheduler.run(go.wait, symbols=4_000))
        await asyncio.sleep(0.05)  # it is being done
        second = asyncio.create_task(scheduler.run(go.wait, symbols=4_000))
        await asyncio.sleep(0)
        with pytest.raises(RefusedError, match="waiting"):
            await scheduler.run(go.wait, symbols=4_000)
        go.set()
        assert await asyncio.gather(first, second) == [True, True]

    asyncio.run(ask())


def test_shorter_requests_pass_longer_ones() -> None:
    entry = Network("one", random_model())
    order: list[str] = []

    async def ask() -> None:
        scheduler = Scheduler(Limits(), Metrics())

        async def one(name: str, words: list[Word]) -> None:
            assert len(await scheduler.predict(entry, words)) == len(words)
            order.append(name)

        long = [asyncio.create_task(one("long", ["0101" * 50] * 500)) for _ in range(3)]
        await asyncio.sleep(0.01)  # they have begun
        medium = asyncio.create_task(one("medium", ["0101" * 50] * 20))
        await asyncio.create_task(one("short", ["0101"]))
        await asyncio.gather(medium, *long)

    asyncio.run(ask())
    assert sorted(order[:2]) == ["medium", "short"]
    assert order[2:] == ["long"] * 3


def test_answers_keep_their_order_in_parts() -> None:
    entry = Automaton("even", EVEN)
    words: list[Word] = [format(i, "b") for i in range(1_000)]

    async def ask() -> list[Label]:
        found = await Scheduler(Limits(), Metrics()).predict(entry, words)
        return [answer.label for answer in found]

    assert asyncio.run(ask()) == [EVEN.accepts(word) for word in words]
    assert max(len(part) for part in parts(words)) == WORDS
    assert [word for part in parts(words) for word in part] == words


def test_an_application_that_never_answers_is_given_up() -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.get_running_loop().create_future()

    limits = Limits(seconds=0.05, upload_seconds=0.05)
    with running(Guard(silent, limits=limits, access=LOCAL)) as client:
        found = client.get("/health")
    assert (found.status, found.json["error"]) == (503, "no answer in time; try again later")


def test_a_search_that_took_too_long_frees_its_thread() -> None:
    async def ask() -> list[str]:
        handler = RequestHandler(registry_of(), Limits(seconds=0.1), Metrics())

        def endless(check: Callable[[], None]) -> None:
            while True:
                check()

        for _ in range(4):  # more than there are threads
            with pytest.raises(RefusedError, match="no answer"):
                await handler.search(endless)
        handler.limits = Limits()
        return [await handler.search(lambda check: "found") for _ in range(4)]

    assert asyncio.run(ask()) == ["found"] * 4


def test_one_bad_word_does_not_spoil_the_requests_beside_it() -> None:
    with running(create_app(registry_of(Automaton("even", EVEN)))) as client:
        words = ["01", "2", "11", "x"] * 8

        def status(word: str) -> int:
            return client.post("/predict", {"words": [word]}).status

        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(status, words))
    assert found == [200, 422, 200, 422] * 8

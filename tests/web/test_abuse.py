"""Clients that mean harm: bombs, half requests, work that nobody waits for, floods."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import EVEN, Client, Held, even, metric, models_of, running, until

from kleene.web.app import PASS, create_app
from kleene.web.limits import Limits

HALF_HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALF_BODY = HALF_HEAD + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
REGISTRY = models_of(even())
LARGE: dict[str, Any] = {"words": ["01" * 50] * 200, "model": "held"}


def connect(client: Client, content: bytes = b"") -> socket.socket:
    line = socket.create_connection(("127.0.0.1", client.port), timeout=30)
    line.sendall(content)
    return line


def request(path: str, form: object) -> bytes:
    body = json.dumps(form).encode()
    head = HALF_HEAD.replace(b"/predict", path.encode()) + b"Content-Type: application/json\r\n"
    return head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def everything(line: socket.socket) -> bytes:
    """All that the server sends until it closes the connection."""
    found = b""
    try:
        while part := line.recv(4096):
            found += part
    except ConnectionResetError:
        pass
    return found


@pytest.fixture
def held() -> Iterator[Held]:
    entry = Held("held")
    yield entry
    entry.go.set()


@pytest.fixture
def client(held: Held) -> Iterator[Client]:
    registry = models_of(even(), held)
    with running(create_app(registry, limits=Limits(waiting=10))) as found:
        yield found
        held.go.set()


def in_threads(client: Client, forms: Sequence[object]) -> list[threading.Thread]:
    """Large requests, sent one after the other, that wait."""
    threads = []
    for i, form in enumerate(forms):
        threads.append(threading.Thread(target=client.post, args=("/predict", form)))
        threads[-1].start()
        until(lambda i=i: metric(client, "kleene_requests_waiting") == i)  # type: ignore[misc]
    return threads


# -- bodies --------------------------------------------------------------------------------------

BOMBS = {
    "objects": '{"words": [[' + "{}," * 300_000 + "{}]]}",
    "lists": '{"words": [[' + "[]," * 300_000 + "[]]]}",
    "numbers": '{"words": [[' + "1," * 400_000 + "1]]}",
    "words": '{"words": [' + "{}," * 300_000 + "{}]}",
    "keys": "{" + ",".join(f'"k{i}": []' for i in range(80_000)) + "}",
    "digits": '{"words": [[' + "9" * 1_000_000 + "]]}",
    "depth": '{"words": ' + "[" * 1_000_000 + "}",
    "nested": '{"words": [' + "[" * 900 + "]" * 900 + "]}",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused(client: Client, name: str) -> None:
    body = BOMBS[name].encode()
    found = client.ask("POST", "/predict", body, Content_Type="application/json")
    assert 400 <= found.status < 500
    assert len(found.json["error"]) < 300


def test_a_bomb_takes_little_memory(client: Client) -> None:
    body = BOMBS["objects"].encode()

    def memory(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory("VmRSS")
    client.ask("POST", "/predict", body, Content_Type="application/json")
    assert memory("VmHWM") - before < 200 * len(body)  # a union type took 3,000 times as much


def test_large_bodies_have_a_bound_together() -> None:
    limits = Limits(buffered=300_000)
    with running(create_app(REGISTRY, limits=limits)) as client:
        head = HALF_BODY.replace(b"/predict", b"/upload").replace(b": 50", b": 300000")
        with connect(client, head + b"0" * 250_000):
            until(lambda: metric(client, "kleene_buffered_bytes") > 200_000)
            assert client.ask("POST", "/upload", b"01\n" * 30_000).status == 429
            assert client.post("/predict", {"words": ["01"]}).status == 200
        until(lambda: metric(client, "kleene_buffered_bytes") == 0)
        assert client.ask("POST", "/upload", b"01\n" * 30_000).status == 200


# -- connections ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [HALF_HEAD, HALF_BODY, b""])
def test_unfinished_requests_keep_nobody_out(start: bytes) -> None:
    limits = Limits(connections=30, header_seconds=60, seconds=60)
    with running(create_app(REGISTRY, limits=limits)) as client:
        lines = [connect(client, start) for _ in range(60)]
        assert client.post("/predict", {"words": ["01"]}).status == 200
        assert metric(client, "kleene_connections_dropped_total", why="no room") > 0
        for line in lines:
            line.close()


@pytest.mark.parametrize(
    ("first", "start"),
    [(b"", HALF_HEAD), (b"", b""), (b"GET /health HTTP/1.1\r\nHost: [::1]\r\n\r\n", HALF_HEAD)],
)
def test_every_head_of_a_connection_has_a_deadline(first: bytes, start: bytes) -> None:
    limits = Limits(header_seconds=0.3)
    with running(create_app(REGISTRY, limits=limits)) as client:
        with connect(client, first) as line:
            if first:
                assert b"200" in line.recv(4096)
            line.sendall(start)
            everything(line)
        assert metric(client, "kleene_connections_dropped_total", why="slow head") == 1


# -- work ----------------------------------------------------------------------------------------


def test_short_requests_do_not_wait_for_large_ones(client: Client, held: Held) -> None:
    (large,) = in_threads(client, [LARGE])
    until(lambda: held.passes == 1)
    for _ in range(20):
        assert client.post("/predict", {"words": ["01"]}).status == 200
    assert client.post("/explain", {"word": "01"}).status == 200
    assert client.get("/health").status == 200
    assert large.is_alive()


def test_work_whose_client_is_gone_is_not_done(client: Client, held: Held) -> None:
    lines = [connect(client, request("/predict", LARGE)) for _ in range(5)]
    until(lambda: metric(client, "kleene_requests_waiting") == 4)
    until(lambda: held.passes == 1)
    for line in lines:
        line.close()
    until(lambda: metric(client, "kleene_abandoned_total") == 5)
    assert metric(client, "kleene_requests_waiting") == 0
    held.go.set()
    assert client.post("/predict", LARGE | {"model": "even"}).status == 200
    assert held.passes == 1


def test_work_that_takes_too_long_is_given_up(held: Held) -> None:
    registry = models_of(held, even())
    with running(create_app(registry, limits=Limits(seconds=0.5))) as client:
        late = client.post("/predict", LARGE)
        assert (late.status, late.json["error"][:22]) == (503, "no answer within 0.5 s")
        time.sleep(0.3)  # on a busy machine the answer may come before the work is told to end
        held.go.set()
        until(lambda: client.post("/predict", LARGE | {"model": "even"}).status == 200)
    assert held.passes == 1


def test_a_full_queue_says_so(client: Client, held: Held) -> None:
    lines = [connect(client, request("/predict", LARGE)) for _ in range(11)]
    until(lambda: client.get("/ready").status == 503)
    found = client.post("/predict", LARGE)
    assert (found.status, found.headers["retry-after"]) == (429, "1")
    assert client.post("/predict", {"words": ["01"]}).status == 200
    held.go.set()
    for line in lines:
        assert b"200" in line.recv(100)
        line.close()
    assert client.get("/ready").status == 200
    assert client.post("/predict", LARGE).status == 200


def test_answers_keep_their_order_in_passes(client: Client) -> None:
    words = [format(i, "b") for i in range(1_000)]
    found = client.post("/predict", {"words": words, "model": "even"}).json["predictions"]
    assert [one["label"] for one in found] == [EVEN.accepts(word) for word in words]
    assert len(words) > 2 * PASS


def test_one_bad_word_does_not_spoil_other_requests(client: Client) -> None:
    def status(word: Any) -> int:
        return client.post("/predict", {"words": [word]}).status

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(status, ["01", {}, "11", 5] * 8))
    assert found == [200, 422, 200, 422] * 8


def test_a_fault_of_the_server_is_told_and_logged(client: Client, held: Held) -> None:
    held.predict = lambda words: 1 // 0  # type: ignore[method-assign, assignment, return-value]
    for words in (["01"], LARGE["words"]):
        found = client.post("/predict", {"words": words, "model": "held"})
        assert (found.status, found.json["error"][:14]) == (500, "internal error")

"""Clients that mean harm: bombs, half requests, work that nobody waits for, floods."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import (
    EVEN,
    Client,
    Served,
    Slow,
    metric,
    random_model,
    registry_of,
    running,
    served,
    until,
)

from kleene.web.app import PASS_WORDS, create_app, parts
from kleene.web.limits import Limits
from kleene.web.models import Automaton, Network

HALF_HEAD = b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
HALF_BODY = HALF_HEAD + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"
REGISTRY = registry_of(Automaton("even", EVEN))
LARGE = {"words": ["01" * 50] * 200, "model": "network"}
HUGE: dict[str, Any] = {"words": ["01" * 100] * 1_000, "model": "network"}


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


@pytest.fixture(scope="module")
def busy() -> Iterator[Served]:
    """A server with a background process, which tests halt."""
    network = Network("network", random_model())
    with served(registry_of(Automaton("even", EVEN), network), Limits(waiting=10)) as found:
        yield found


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
def test_a_bomb_is_refused(busy: Served, name: str) -> None:
    body = BOMBS[name].encode()
    found = busy.client.ask("POST", "/predict", body, Content_Type="application/json")
    assert 400 <= found.status < 500
    assert len(found.json["error"]) < 300


def test_a_bomb_takes_little_memory(busy: Served) -> None:
    body = BOMBS["objects"].encode()

    def peak() -> int:
        lines = Path(f"/proc/{busy.pid}/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

    before = peak()
    busy.client.ask("POST", "/predict", body, Content_Type="application/json")
    assert peak() - before < 200 * len(body)  # a union type took 3,000 times as much


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
        assert metric(client, "kleene_connections_dropped_total", reason="displaced") > 0
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
        assert metric(client, "kleene_connections_dropped_total", reason="slow head") == 1


# -- work ----------------------------------------------------------------------------------------


def test_short_requests_do_not_wait_for_large_ones(busy: Served) -> None:
    late: list[int] = []
    upload = threading.Thread(
        target=lambda: late.append(busy.client.ask("POST", "/upload", b"01\n" * 500).status)
    )
    with busy.halted():
        upload.start()
        for _ in range(20):
            assert busy.client.post("/predict", {"words": ["01"]}).status == 200
        assert busy.client.post("/explain", {"word": "01"}).status == 200
        assert busy.client.get("/health").status == 200
        assert not late
    upload.join(timeout=60)
    assert late == [200]


def test_smaller_requests_pass_larger_ones(busy: Served) -> None:
    order: list[str] = []

    def ask(name: str, form: object) -> None:
        assert busy.client.post("/predict", form).status == 200
        order.append(name)

    with busy.halted():
        threads = [threading.Thread(target=ask, args=("huge", HUGE)) for _ in range(3)]
        for i, thread in enumerate(threads):
            thread.start()
            until(lambda i=i: metric(busy.client, "kleene_requests_waiting") == i)  # type: ignore[misc]
        threads.append(threading.Thread(target=ask, args=("large", LARGE)))
        threads[-1].start()
        until(lambda: metric(busy.client, "kleene_requests_waiting") == 3)
    for thread in threads:
        thread.join(timeout=60)
    assert order == ["huge", "large", "huge", "huge"]


def test_work_whose_client_is_gone_is_not_done(busy: Served) -> None:
    client, gone = busy.client, metric(busy.client, "kleene_abandoned_total")
    seconds = _cpu_seconds(busy.pid)
    assert client.post("/predict", HUGE).status == 200
    alone = _cpu_seconds(busy.pid) - seconds
    with busy.halted():
        for _ in range(50):
            connect(client, request("/predict", HUGE)).close()
        until(lambda: metric(client, "kleene_abandoned_total") == gone + 50)
        assert metric(client, "kleene_requests_in_progress") == 1  # this one
    seconds = _cpu_seconds(busy.pid)
    assert client.post("/predict", LARGE).status == 200
    assert _cpu_seconds(busy.pid) - seconds < 0.5 + 10 * alone


def _cpu_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_full_queue_says_so(busy: Served) -> None:
    with busy.halted():
        lines = [connect(busy.client, request("/predict", LARGE)) for _ in range(11)]
        until(lambda: busy.client.get("/ready").status == 503)
        found = busy.client.post("/predict", LARGE)
        assert (found.status, found.headers["retry-after"]) == (429, "1")
        assert busy.client.post("/predict", {"words": ["01"]}).status == 200
    for line in lines:
        assert b"200" in line.recv(100)
        line.close()
    until(lambda: busy.client.get("/ready").status == 200)
    assert busy.client.post("/predict", LARGE).status == 200


def test_the_background_process_is_started_again(busy: Served) -> None:
    found = []
    ask = threading.Thread(target=lambda: found.append(busy.client.post("/predict", LARGE)))
    os.kill(busy.pid, signal.SIGSTOP)
    ask.start()
    until(lambda: metric(busy.client, "kleene_requests_in_progress") == 2)
    time.sleep(0.1)
    os.kill(busy.pid, signal.SIGKILL)
    ask.join(timeout=60)
    assert (found[0].status, found[0].headers["retry-after"]) == (503, "1")
    assert busy.client.post("/predict", {"words": ["01"]}).status == 200
    until(lambda: busy.client.get("/ready").status == 200)
    assert busy.client.post("/predict", LARGE).status == 200
    os.kill(busy.pid, signal.SIGKILL)  # while it has nothing to do
    until(lambda: busy.client.post("/predict", LARGE).status == 200)


def test_work_that_takes_too_long_is_given_up() -> None:
    registry = registry_of(Slow("slow", EVEN), Automaton("even", EVEN))
    with served(registry, Limits(seconds=0.5)) as found:
        late = found.client.post("/predict", HUGE | {"model": "slow"})
        assert (late.status, late.json["error"][:22]) == (503, "no answer within 0.5 s")
        started = time.monotonic()
        until(lambda: found.client.post("/predict", LARGE | {"model": "even"}).status == 200)
        connect(found.client, request("/predict", HUGE | {"model": "slow"})).close()
        until(lambda: found.client.post("/predict", LARGE | {"model": "even"}).status == 200)
        assert time.monotonic() - started < Slow.SECONDS * len(list(parts(HUGE["words"])))


def test_answers_keep_their_order_in_passes(busy: Served) -> None:
    words = [format(i, "b") for i in range(1_000)]
    found = busy.client.post("/predict", {"words": words, "model": "even"}).json["predictions"]
    assert [one["label"] for one in found] == [EVEN.accepts(word) for word in words]
    assert max(len(part) for part in parts(words)) == PASS_WORDS
    assert [word for part in parts(words) for word in part] == words


def test_one_bad_word_does_not_spoil_other_requests(busy: Served) -> None:
    def status(word: str) -> int:
        return busy.client.post("/predict", {"words": [word], "model": "even"}).status

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(status, ["01", "2", "11", "x"] * 8))
    assert found == [200, 422, 200, 422] * 8

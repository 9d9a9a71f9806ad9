"""What an operator needs: metrics, logs, tokens, prefixes, several workers."""

from __future__ import annotations

import signal
import socket
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from serving import EVEN_MODEL, Client, even, metric, models_of, running, start, stop, until

from kleene.cli import main
from kleene.web.app import create_app

REGISTRY = models_of(even())


@pytest.fixture
def client() -> Iterator[Client]:
    with running(create_app(REGISTRY)) as found:
        yield found


# -- metrics -------------------------------------------------------------------------------------


def test_requests_are_counted(client: Client) -> None:
    for _ in range(3):
        client.post("/predict", {"words": ["0110"]})
    client.post("/predict", {"words": [5]})
    client.get("/no/such/path")
    assert client.get("/metrics").headers["content-type"].startswith("text/plain; version=0.0.4")
    assert metric(client, "kleene_requests_total", route="/predict", status="200") == 3
    assert metric(client, "kleene_requests_total", route="/predict", status="422") == 1
    assert metric(client, "kleene_requests_total", route="other", status="404") == 1
    assert metric(client, "kleene_request_seconds_count", route="/predict") == 4
    assert metric(client, "kleene_request_seconds_bucket", route="/predict", le="+Inf") == 4
    assert metric(client, "kleene_symbols_total") == 12


# -- the command ---------------------------------------------------------------------------------


def asked(address: str, path: str, token: str | None = None) -> str:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(address + path, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("commands")
    EVEN_MODEL.save(place / "even")
    return place


def test_the_token_is_never_printed(folder: Path) -> None:
    process, address = start(folder, "even", "--log-level", "debug", KLEENE_TOKEN="s3cret")
    assert "even" in asked(address, "models", "s3cret")
    asked(address, "health?%1b[31m")
    said = stop(process)
    assert "s3cret" not in said
    assert "\x1b" not in said
    assert "GET /models" in said


def test_nothing_is_logged_by_default(folder: Path) -> None:
    process, address = start(folder, "even")
    asked(address, "health")
    assert len(stop(process).splitlines()) == 2  # that it serves, that it has stopped


@pytest.mark.parametrize("token", ["", "two words"])
def test_a_token_is_one_word(
    folder: Path, token: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KLEENE_TOKEN", token)
    assert main(["serve", str(folder / "even")]) == 2
    assert "KLEENE_TOKEN must be one word" in capsys.readouterr().err


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_processes_answer_count_and_drain_together(folder: Path, workers: str) -> None:
    process, address = start(folder, "even", "--workers", workers, "--drain", "30")
    for _ in range(20):
        assert "even" in asked(address, "models")
    client = Client(int(address.rstrip("/").rpartition(":")[2]))
    assert client.ask("POST", "/upload", b"01\n" * 100).status == 200
    assert metric(client, "kleene_requests_total", route="/models", status="200") == 20
    assert metric(client, "kleene_symbols_total") == 200  # of the background thread
    with half_an_upload(client) as line:
        process.send_signal(signal.SIGTERM)
        if workers == "1":  # other workers have nothing to do, and end
            until(lambda: refused(client.port))
        line.sendall(b"11\n")
        assert b" 200 " in line.recv(4096)
    assert "stopped" in process.communicate(timeout=60)[1]
    assert process.returncode == 0


def test_large_requests_in_flight_are_answered_and_new_ones_refused(folder: Path) -> None:
    process, address = start(folder, "even", "--drain", "30")
    port, body = int(address.rstrip("/").rpartition(":")[2]), b"0110\n" * 20_000
    client = Client(port)
    with ThreadPoolExecutor(6) as pool:
        large = [pool.submit(Client(port).ask, "POST", "/upload", body) for _ in range(6)]
        until(lambda: metric(client, "kleene_requests_in_progress") == 7)
        process.send_signal(signal.SIGTERM)
        until(lambda: refused(port))
        answers = [one.result() for one in large]
    assert [one.status for one in answers] == [200] * 6
    assert {one.body.count(b"\n") for one in answers} == {20_001}
    assert "stopped" in process.communicate(timeout=60)[1]


def test_draining_has_an_end(folder: Path) -> None:
    process, address = start(folder, "even", "--drain", "1")
    client = Client(int(address.rstrip("/").rpartition(":")[2]))
    with half_an_upload(client):
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert process.returncode == 0


@contextmanager
def half_an_upload(client: Client) -> Iterator[socket.socket]:
    """A request of which the server waits for the rest."""
    head = b"POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 6\r\n\r\n01\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as line:
        line.sendall(head)
        until(lambda: metric(client, "kleene_requests_in_progress") == 2)
        yield line


def refused(port: int) -> bool:
    """Whether the server takes no more connections."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=60).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_port_in_use_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(folder / "even"), "--port", port]) == 2
    assert "--port" in capsys.readouterr().err

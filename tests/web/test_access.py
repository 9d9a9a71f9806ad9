"""Which hosts, sites and tokens are let in."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from serving import Client, even, models_of, running

from kleene.cli import main
from kleene.errors import SettingError
from kleene.web.access import Access, host_name, is_local
from kleene.web.app import create_app

REGISTRY = models_of(even())


@pytest.fixture(scope="module")
def local() -> Iterator[Client]:
    with running(create_app(REGISTRY)) as client:
        yield client


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.2", 200),
        ("127.0.0.1:8000", 200),
        ("LOCALHOST:80", 200),
        ("[::1]:8000", 200),
        ("evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("localhost.evil.example:8000", 403),
        ("", 403),
    ],
)
def test_a_local_server_answers_to_local_names(local: Client, host: str, status: int) -> None:
    assert local.get("/models", Host=host).status == status


def test_a_server_that_others_reach_needs_a_token_or_names() -> None:
    for address in ("0.0.0.0", "::", "192.168.1.5"):
        with pytest.raises(SettingError, match="KLEENE_TOKEN"):
            Access.for_address(address)
        assert Access.for_address(address, token="t").token == "t"
        assert Access.for_address(address, hosts=("Example.org.",)).hosts == {"example.org"}


def test_serve_refuses_to_be_open_to_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KLEENE_TOKEN", raising=False)
    assert main(["serve", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 2
    assert "--allow-host" in capsys.readouterr().err


def test_named_hosts_are_the_only_ones() -> None:
    access = Access.for_address("0.0.0.0", hosts=("example.org",))
    with running(create_app(REGISTRY, access=access)) as client:
        assert client.get("/models", Host="example.org:8000").status == 200
        assert client.get("/models", Host="evil.example").status == 403
        assert client.get("/models", Host="127.0.0.1").status == 403


def test_probes_need_no_host_name_and_learn_nothing() -> None:
    access = Access.for_address("0.0.0.0", hosts=("example.org",))
    with running(create_app(REGISTRY, access=access)) as client:
        for host in ("127.0.0.1", "10.1.2.3:8000"):
            assert set(client.get("/health", Host=host).json) == {"status", "version"}
            assert client.get("/ready", Host=host).status == 200
        assert client.get("/health", Host="example.org").json["models"] == ["even"]
        assert client.get("/health", Origin="http://evil.example").status == 403


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://127.0.0.1:8000", 200),
        ("https://127.0.0.1:8000", 200),
        ("http://127.0.0.1:9000", 403),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_the_origin_must_be_the_host(local: Client, origin: str | None, status: int) -> None:
    headers = {} if origin is None else {"Origin": origin}
    found = local.post("/predict", {"words": ["01"]}, Host="127.0.0.1:8000", **headers)
    assert found.status == status
    assert "access-control-allow-origin" not in found.headers


def test_health_tells_nothing_without_the_token() -> None:
    access = Access.for_address("127.0.0.1", token="s3cret")
    with running(create_app(REGISTRY, access=access)) as client:
        assert set(client.get("/health").json) == {"status", "version"}
        assert client.get("/ready").status == 200
        assert client.get("/metrics").status == 401
        known = client.get("/health", Authorization="Bearer s3cret")
        assert known.json["models"] == ["even"]


def test_names_are_read_without_ports() -> None:
    found = [host_name(text) for text in ("[::1]", "[::1]:80", "a.b:80", "A.b.", "127.0.0.1")]
    assert found == ["::1", "::1", "a.b", "a.b", "127.0.0.1"]
    assert not is_local("127.0.0.1.evil.example")
    assert all(map(is_local, ["127.0.0.1", "127.9.9.9", "::1", "localhost"]))


def test_two_lengths_of_one_body_are_refused(local: Client) -> None:
    with socket.create_connection(("127.0.0.1", local.port), timeout=10) as line:
        line.sendall(
            b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        )
        answer = b""
        while part := line.recv(4096):
            answer += part
    assert b"400" in answer.split(b"\r\n")[0]


def test_two_tokens_in_one_request_are_refused() -> None:
    access = Access.for_address("127.0.0.1", token="t")
    with running(create_app(REGISTRY, access=access)) as client:
        for tokens in (("t", "t"), ("t", "wrong"), ("wrong", "t")):
            sent = "".join(f"Authorization: Bearer {token}\r\n" for token in tokens)
            with socket.create_connection(("127.0.0.1", client.port), timeout=10) as line:
                line.sendall(f"GET /models HTTP/1.1\r\nHost: 127.0.0.1\r\n{sent}\r\n".encode())
                assert b"400" in line.recv(4096).split(b"\r\n")[0]

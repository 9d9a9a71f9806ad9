"""The JSON API: what it answers, and what it turns away."""

from __future__ import annotations

import csv
import io
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import page_model
from serving import EVEN, Client, even, models_of, running

from kleene import DFA, SequenceClassifier
from kleene.data.bins import Bins
from kleene.data.layout import Layout
from kleene.web.app import create_app
from kleene.web.forms import as_csv
from kleene.web.limits import Limits
from kleene.web.models import Answer, Models, Served, load_models

MODEL = page_model()


@pytest.fixture(scope="module")
def models() -> Models:
    text = page_model(("the", "film", "<b>", "good"), seed=2, cell="lstm", similarity="dot")
    entries = [
        Served("one", MODEL),
        even(),
        Served("text", text),
        Served("vanilla", page_model(num_states=0)),
    ]
    return models_of(*entries)


@pytest.fixture(scope="module")
def client(models: Models) -> Iterator[Client]:
    limits = Limits(body=20_000, json=20_000, words=50, length=300, symbols=3_000)
    with running(create_app(models, limits=limits)) as found:
        yield found


def test_labels_have_the_same_type_on_every_route(client: Client) -> None:
    for model in ("one", "even"):
        label = client.post("/predict", {"words": ["01"], "model": model}).json["predictions"][0]
        reason = client.post("/explain", {"word": "01", "model": model}).json
        found = [label["label"], reason["prediction"]]
        assert found == [found[0]] * 2
        assert {type(one) for one in found} == {type(found[0])} != {str}


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({}, "body.words: Field required"),
        ({"words": "0"}, "body.words: Input should be a valid list"),
        ({"words": ["0"], "more": 1}, "body.more: Extra inputs are not permitted"),
        ({"words": [{}]}, "a sequence must be a string or a list, got {}"),
        ({"words": [[{}]]}, "a JSON object cannot be a symbol"),
        ({"words": [], "model": 5}, "body.model: Input should be a valid string"),
        (5, "body: Input should be a valid dictionary or object"),
    ],
)
def test_refusals_say_what_to_change(client: Client, form: Any, reason: str) -> None:
    found = client.post("/predict", form)
    assert found.status == 422
    assert reason in found.json["error"]


def test_json_must_be_declared_as_such(client: Client) -> None:
    assert client.ask("POST", "/predict", b'{"words": []}', Content_Type="text/plain").status == 415


def test_predictions_are_the_estimators(client: Client) -> None:
    words = ["", "0", "0110", "111000", "01" * 20]
    found = client.post("/predict", {"words": words}).json["predictions"]
    estimator = SequenceClassifier.from_model(MODEL)
    wanted = estimator.predict_proba(words)
    assert [one["label"] for one in found] == wanted.argmax(-1).tolist()
    given = [list(one["probabilities"].values()) for one in found]
    assert np.allclose(given, wanted, atol=1e-5)


def test_requests_answered_together_keep_their_answers(client: Client) -> None:
    words = [format(i, "b") for i in range(96)]
    alone = client.post("/predict", {"words": words[:48]}).json["predictions"]
    alone += client.post("/predict", {"words": words[48:]}).json["predictions"]

    def ask(word: str) -> Any:
        return client.post("/predict", {"words": [word]}).json["predictions"][0]

    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(ask, words))
    for one, other in zip(alone, together, strict=True):
        assert one["label"] == other["label"]
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)


def test_an_explanation_follows_the_states(client: Client, models: Models) -> None:
    found = client.post("/explain", {"word": "01101", "model": "one"}).json
    assert found["word"] == list("01101")
    assert len(found["path"]) == 6
    assert len(found["weights"]) == 5
    assert models["one"].view.dfa is not None
    assert found["path"] == models["one"].view.dfa.trace("01101")


def test_the_automaton_is_a_document(client: Client) -> None:
    found = client.get("/automaton?model=even").json
    assert DFA.from_json(found["dfa"]) == EVEN
    assert len(found["drawing"]["nodes"]) == 2


def test_a_reading_says_how_far_to_trust_it(client: Client) -> None:
    found = client.get("/extract?model=one").json
    assert found["fidelity"]["overall"] <= 1
    assert found["trust"]["agreement"]


def test_a_file_comes_back_with_predictions(client: Client) -> None:
    content = b'word,label\n0110,1\n"1",0\n'
    found = client.ask("POST", "/upload?model=even", content, Content_Type="text/csv")
    rows = list(csv.reader(io.StringIO(found.body.decode())))
    assert [row[:2] for row in rows[1:]] == [["0110", "True"], ["1", "False"]]
    assert "attachment" in found.headers["content-disposition"]


@pytest.mark.parametrize(
    ("content", "needed"),
    [
        (b"", "empty"),
        (b"a\tb\tc\td\n", "line 1"),
        (b"ok\n\xff\xfe\n", "line 2"),
        (b"\x1f\x8bpacked", "unpacked"),
        (b'{"sequence": "0"}\n{"sequence"', "line 2"),
        (b"word,label\n,0\n", "line 2"),
        (b"a,b,c\nfoo,bar,1\nx,y,2\n", "'a', 'b', 'c'; name one with text_column"),
    ],
)
def test_a_bad_file_is_told_what_is_wrong(client: Client, content: bytes, needed: str) -> None:
    found = client.ask("POST", "/upload?model=even", content)
    assert found.status == 422
    assert needed in found.json["error"]
    assert "/tmp" not in found.json["error"]


@pytest.mark.parametrize(
    ("path", "form", "status"),
    [
        ("/predict", {"words": [[[[[[["0"]]]]]]]}, 422),
        ("/predict", {"words": ["0"], "model": "../../etc/passwd"}, 404),
        ("/predict", {"words": ["0"] * 51}, 413),
        ("/predict", {"words": ["0" * 301]}, 413),
        ("/predict", {"words": ["0" * 299] * 20}, 413),
        ("/predict", {"words": ["0" * 30_000]}, 413),
        ("/explain", {"word": "01", "model": "vanilla"}, 409),
        ("/explain", {"word": 5}, 422),
        ("/explain", {"word": ["0"] * 301}, 413),
        ("/predict", {"words": [["0", 1e999]]}, 422),
        ("/predict", {"words": ["0"], "model": "m" * 300}, 422),
    ],
)
def test_what_makes_no_sense_is_turned_away(
    client: Client, path: str, form: Any, status: int
) -> None:
    found = client.post(path, form)
    assert found.status == status
    assert found.json["error"]


@pytest.mark.parametrize(
    "body", [b"{", b"\xff", b"[" * 5000, b'{"words": [NaN]}', b'{"words": ["\\ud800"]}', b"null"]
)
def test_broken_bodies_never_break_the_server(client: Client, body: bytes) -> None:
    found = client.ask("POST", "/predict", body, Content_Type="application/json")
    assert found.status in (200, 400, 422)
    assert client.get("/health").status == 200


def test_symbols_may_be_hostile(client: Client) -> None:
    found = client.post("/explain", {"word": "the <b> <script>alert(1)</script>", "model": "text"})
    assert found.headers["content-type"] == "application/json"
    assert found.json["word"][2] == "<script>alert(1)</script>"


def test_every_answer_forbids_what_it_does_not_need(client: Client) -> None:
    for path in ("/", "/health", "/nothing", "/kleene.js"):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_a_body_without_end_is_cut_off(client: Client) -> None:
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as line:
        head = "POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        line.sendall(head.encode())
        chunk = b"1000\r\n" + b"0" * 4096 + b"\r\n"
        for _ in range(6):
            line.sendall(chunk)
        assert b"413" in line.recv(100)


def test_slow_bodies_end_in_408_and_hold_nobody_up(models: Models) -> None:
    with running(create_app(models, limits=Limits(seconds=0.5))) as client:
        lines = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(20)]
        for line in lines:
            line.sendall(
                b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 90\r\n\r\n{"
            )
        assert client.post("/predict", {"words": ["01"]}).status == 200
        for line in lines[:10]:
            line.close()
        assert client.get("/health").status == 200
        assert b"408" in lines[-1].recv(100)
        for line in lines[10:]:
            line.close()


def test_models_are_loaded_by_their_names(tmp_path: Path) -> None:
    paths = [MODEL.save(tmp_path / folder / "mine") for folder in ("", "other")]
    assert list(load_models(paths)) == ["mine", "mine-2"]


def test_a_column_can_be_named(client: Client) -> None:
    content = b"id,body\n1,0110\n2,01\n"
    found = client.ask("POST", "/upload?model=even&text_column=body", content)
    rows = [line.split(",")[:2] for line in found.body.decode().splitlines()[1:]]
    assert rows == [["0110", "True"], ["01", "False"]]


def test_the_column_of_training_is_found(tmp_path: Path) -> None:
    model = replace(page_model(), layout=Layout(text_column="body"))
    with running(create_app(models_of(Served("one", model)))) as client:
        rows = client.ask("POST", "/upload", b"id,body\n1,0110\n2,01\n").body.decode().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == ["0110", "01"]


def test_a_model_of_numbers_takes_numbers() -> None:
    bins = Bins(count=2, edges=(0.5,))
    low, high = bins.symbols([0.1, 0.9])
    model = replace(page_model((low, high)), layout=Layout(bins=bins), tokens="symbols")
    with running(create_app(models_of(Served("one", model)))) as client:
        asked = ["0.1 0.9 0.9", [0.1, 0.9, 0.9], ""]
        found = client.post("/predict", {"words": asked}).json["predictions"]
        assert found[0] == found[1]
        assert found[0]["unknown"] == 0
        assert client.post("/explain", {"word": asked[1]}).json["word"] == [low, high, high]
        assert client.post("/predict", {"words": ["0.1 x"]}).status == 422
        rows = client.ask("POST", "/upload", b"0.1 0.9\n0.9 0.1\n").body.decode().splitlines()
    assert len(rows) == 3


def test_lines_with_commas_are_no_table(client: Client) -> None:
    content = b"the film, good\ngood, the film\n"
    found = client.ask("POST", "/upload?model=text", content)
    assert len(found.body.decode().splitlines()) == 3


def test_no_cell_of_an_answer_is_a_formula() -> None:
    hostile = ["=1+1", "+1+1", "-1-1", "+x", "-x", "@x", "\t=1", "=1", "-1\n"]
    harmless = ["plain", "1=2", "-1", "+1.5e3", "-.5"]
    answers = [Answer(label="=cmd", probabilities={"=cmd": 1.0})] * len(hostile + harmless)
    rows = list(csv.reader(io.StringIO(as_csv(hostile + harmless, answers, ["=cmd"]))))[1:]
    assert [row[0] for row in rows] == ["'" + text for text in hostile] + harmless
    assert {row[1] for row in rows} == {"'=cmd"}


@pytest.mark.parametrize("classes", [("1", 1), ("\ud800", "a"), ("a", "a\0"), ("\x01", "\x02")])
def test_labels_that_look_alike_are_told_apart(classes: tuple[object, ...]) -> None:
    model = replace(page_model(), classes=classes)
    with running(create_app({"m": Served("m", model)})) as client:
        (found,) = client.post("/predict", {"words": ["01"]}).json["predictions"]
        assert len(found["probabilities"]) == 2
        for path, body in (("/predict", {"words": ["0"]}), ("/explain", {"word": "0"})):
            assert client.post(path, body).status == 200
        text = client.ask("POST", "/upload", b"01\n").body.decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert rows[0]["prediction"] in found["probabilities"]


def test_openapi_tells_of_every_route(client: Client) -> None:
    document = client.get("/openapi.json").json
    wanted = {"/predict", "/explain", "/extract", "/automaton", "/health", "/upload"}
    assert wanted <= set(document["paths"])
    body = document["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    assert set(schema["properties"]) == {"words", "model"}
    assert json.dumps(document)

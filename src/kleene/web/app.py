"""The application: a page for trying models, and the same as a JSON API."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from html import escape
from importlib import resources
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kleene import __version__
from kleene.errors import AlphabetError, DataError, KleeneError
from kleene.explain.markup import as_json
from kleene.machine import Word
from kleene.report.html import asset, script
from kleene.web.access import LOCAL, Access
from kleene.web.background import check
from kleene.web.forms import (
    CompareForm,
    Comparison,
    Difference,
    Explained,
    ExplainForm,
    PredictForm,
    Predictions,
    Problem,
    reason,
    to_words,
)
from kleene.web.guard import Guard, refusal
from kleene.web.limits import Limits, RefusedError
from kleene.web.models import (
    Answer,
    Entry,
    ModelRegistry,
    first_difference,
    shortest_difference,
)
from kleene.web.monitoring import Metrics
from kleene.web.uploads import UPLOAD, as_csv, read_upload

PASS_WORDS, PASS_SYMBOLS = 256, 2_000  # in one pass of a model
REST = 0.001  # seconds between two passes, for short requests
ModelName = Annotated[str | None, Query(description="Which model; the first if left out.")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": text}
    for status, text in {
        400: "The request is malformed.",
        401: "A token is required.",
        403: "The request comes from another site, or under an unknown host name.",
        404: "There is no such model.",
        408: "The body took too long.",
        409: "This model cannot answer that.",
        413: "The request is too large.",
        415: "The body is not declared as JSON.",
        422: "The request does not make sense.",
        429: "Too many requests are waiting.",
        503: "The answer took too long, or the server is shutting down.",
    }.items()
}


def create_app(
    registry: ModelRegistry,
    *,
    limits: Limits | None = None,
    access: Access = LOCAL,
    root_path: str = "",
) -> Guard:
    """The application: every request passes the guard, then reaches a route."""
    app = FastAPI(
        title="Kleene",
        version=__version__,
        description="Networks that can be read as state machines: predict, explain, extract.",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    guard = Guard(app, limits=limits, access=access, root_path=root_path)
    _answer_errors(app)
    add_page(app, "live.js", "Kleene.live", root_path)
    _add_state(app, registry, guard)
    _add_words(app, _Asked(registry, guard.limits, guard.metrics))
    return guard


class _Asked:
    """Finds models and words for the routes."""

    def __init__(self, registry: ModelRegistry, limits: Limits, metrics: Metrics) -> None:
        self._registry, self.limits, self._metrics = registry, limits, metrics

    def entry(self, name: str | None) -> Entry:
        """The model of a name; the first if there is no name."""
        try:
            return self._registry[name]
        except KeyError as error:
            raise RefusedError(404, str(error.args[0])) from None

    def word(self, entry: Entry, value: Any) -> Word:
        """A word of a request."""
        (word,) = to_words(entry, [value], self.limits)
        self._metrics.symbols.inc(len(word))
        return word

    def predict(self, entry: Entry, words: Sequence[Word]) -> list[Answer]:
        """Answers, pass by pass."""
        answers: list[Answer] = []
        for i, part in enumerate(parts(words)):
            check()
            if i:
                time.sleep(REST)
            answers += entry.predict(part)
        self._metrics.symbols.inc(sum(map(len, words)))
        return answers


def parts(words: Sequence[Word]) -> Iterator[list[Word]]:
    """Words in their order, cut into passes; a long word is a pass of its own."""
    part: list[Word] = []
    total = 0
    for word in words:
        if part and (len(part) >= PASS_WORDS or total + len(word) > PASS_SYMBOLS):
            yield part
            part, total = [], 0
        part.append(word)
        total += len(word)
    if part:
        yield part


def _add_state(app: FastAPI, registry: ModelRegistry, guard: Guard) -> None:
    @app.get("/health", tags=["server"])
    async def health(request: Request) -> dict[str, Any]:
        """Whether the server is there; with the token, also the names of the models."""
        found: dict[str, Any] = {"status": "ok", "version": __version__}
        if request.scope.get("authorized"):
            found["models"] = [entry.name for entry in registry]
        return found

    @app.get("/metrics", tags=["server"], response_class=Response)
    async def prometheus() -> Response:
        """Counters, in the text format of Prometheus."""
        return Response(guard.metrics.text(), media_type=Metrics.content_type)

    @app.get("/ready", tags=["server"], responses={503: {"description": "Busy."}})
    async def ready() -> Response:
        """Whether the server takes requests now; 503 while its queue is full or it shuts down."""
        free = not guard.background.full
        return JSONResponse({"status": "ready" if free else "busy"}, 200 if free else 503)

    @app.get("/models", tags=["server"])
    async def models() -> list[dict[str, Any]]:
        """The served models: names, classes, and how texts are split into symbols."""
        return [entry.describe() for entry in registry]


def _add_words(app: FastAPI, asked: _Asked) -> None:
    @app.post("/predict", tags=["words"], response_model=Predictions)
    async def predict(form: PredictForm) -> Response:
        """The label of every word."""
        entry = asked.entry(form.model)
        answers = asked.predict(entry, to_words(entry, form.words, asked.limits))
        predictions = [answer.to_dict() for answer in answers]
        return JSONResponse({"model": entry.name, "predictions": predictions})

    @app.post("/explain", tags=["words"])
    async def explain(form: ExplainForm) -> Explained:
        """Why a word gets its label: its path through the states, and the weight of its symbols."""
        entry = asked.entry(form.model)
        return Explained(**entry.explain(asked.word(entry, form.word)))

    @app.post("/upload", tags=["words"], response_class=Response, openapi_extra=UPLOAD)
    async def upload(
        request: Request,
        model: ModelName = None,
        text_column: str | None = None,
        formulas: Annotated[
            str, Query(description="`keep` leaves cells that begin with = + - @ as they are.")
        ] = "escape",
    ) -> Response:
        """Predictions for a file (TSV, CSV, JSONL, or a word a line), as CSV.

        Cells that a spreadsheet would run as a formula get an apostrophe in front.
        """
        entry, body = asked.entry(model), await request.body()
        texts, words = read_upload(body, entry, text_column, asked.limits)
        content = as_csv(texts, asked.predict(entry, words), escape=formulas != "keep")
        name = 'attachment; filename="predictions.csv"'
        return Response(content, media_type="text/csv", headers={"content-disposition": name})

    @app.post("/compare", tags=["two models"])
    async def compare(form: CompareForm) -> Comparison:
        """The answers of two models along a word, and where they first differ."""
        one, two = asked.entry(form.one), asked.entry(form.two)
        return Comparison(**first_difference(one, two, asked.word(one, form.word)))

    @app.get("/difference", tags=["two models"])
    async def difference(one: ModelName = None, two: ModelName = None) -> Difference:
        """A shortest word on which two models differ, or null: they are equal."""
        if one is None or two is None:
            raise RefusedError(422, "name both models: /difference?one=NAME&two=NAME")
        a, b = asked.entry(one), asked.entry(two)
        word = shortest_difference(a, b)
        if word is None:
            return Difference(word=None, labels=None)
        labels = [as_json(entry.predict([word])[0].label) for entry in (a, b)]
        return Difference(word=[as_json(symbol) for symbol in word], labels=labels)

    @app.get("/automaton", tags=["reading"])
    async def automaton(model: ModelName = None) -> dict[str, Any]:
        """The states: their drawing, the table to step on, and the automaton as a document."""
        entry = asked.entry(model)
        dfa = entry.view.dfa
        document = None if dfa is None else json.loads(dfa.to_json())
        return {"model": entry.name, **entry.view.to_dict(), "dfa": document}

    @app.get("/extract", tags=["reading"])
    async def extract(model: ModelName = None) -> dict[str, Any]:
        """The automaton read off a model, and how far to trust it."""
        found: dict[str, Any] = json.loads(json.dumps(asked.entry(model).extract(), default=str))
        return found


def _answer_errors(app: FastAPI) -> None:
    """Answer every error with `{"error": reason}`."""

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        return refusal(error)

    @app.exception_handler(KleeneError)
    async def mistaken(_: Request, error: KleeneError) -> Response:
        wrong_word = isinstance(error, DataError | AlphabetError)
        return refusal(RefusedError(422 if wrong_word else 409, str(error)))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if request.method == "POST" and kind != "application/json":
            message = "send the body as JSON, with Content-Type: application/json"
            return refusal(RefusedError(415, message))
        return refusal(RefusedError(422, reason(error.errors()[0], request.scope["route"].path)))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        reasons = {404: "there is no such path", 405: "this path takes another method"}
        text = reasons.get(error.status_code, str(error.detail))
        return refusal(RefusedError(error.status_code, text))


def add_page(app: FastAPI, own: str, start: str, root_path: str = "") -> None:
    """Serve a page that runs `start` of the script file `own`, under the prefix of a proxy."""
    root = escape(root_path, quote=True)
    document = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Kleene</title>'
        f'<link rel="stylesheet" href="{root}/kleene.css"></head>'
        f'<body><div id="page" data-root="{root}">'
        "<noscript>This page needs JavaScript; the JSON API does not.</noscript></div>"
        f'<script src="{root}/kleene.js"></script></body></html>\n'
    )
    code = resources.files("kleene.web").joinpath("static", own).read_text("utf-8")
    contents = {
        "/": (document, "text/html"),
        "/kleene.js": (
            f"{script()}\n{code}\n{start}(document.getElementById('page'));\n",
            "text/javascript",
        ),
        "/kleene.css": (asset("style.css"), "text/css"),
    }
    for path, (content, kind) in contents.items():
        _add(app, path, content, kind)


def _add(app: FastAPI, path: str, content: str, kind: str) -> None:
    @app.get(path, include_in_schema=False)
    async def part() -> Response:
        return Response(content, media_type=kind)

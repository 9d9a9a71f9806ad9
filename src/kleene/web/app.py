"""The application: a page for trying models, and the same as a JSON API."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kleene import __version__
from kleene.errors import AlphabetError, DataError, KleeneError
from kleene.machine import Word
from kleene.report.html import asset, script
from kleene.web.access import LOCAL, Access
from kleene.web.background import check
from kleene.web.forms import ExplainForm, PredictForm, as_csv, read_upload, to_words
from kleene.web.guard import Guard, refusal
from kleene.web.limits import Limits, RefusedError
from kleene.web.metrics import CONTENT_TYPE
from kleene.web.models import Answer, Explained, Models, Served

PASS = 64  # words in one pass of a model
REST = 0.001  # seconds between two passes, for short requests
ModelName = Annotated[str | None, Query(description="Which model; the first if left out.")]
Plain = dict[str, Any]
FILE: Plain = {"content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}}}
DOCUMENT = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Kleene</title>'
    '<link rel="stylesheet" href="kleene.css"></head>'
    '<body><div id="page">'
    "<noscript>This page needs JavaScript; the JSON API does not.</noscript></div>"
    '<script src="kleene.js"></script></body></html>\n'
)


def create_app(
    models: Models,
    *,
    limits: Limits | None = None,
    access: Access = LOCAL,
) -> Guard:
    """The application: every request passes the guard, then reaches a route."""
    app = FastAPI(
        title="Kleene",
        version=__version__,
        description="Networks that can be read as state machines: predict, explain, extract. "
        'Errors are {"error": reason} with a 4xx or 5xx status.',
        docs_url=None,
        redoc_url=None,
    )
    guard = Guard(app, limits=limits, access=access)
    _answer_errors(app)
    _add_page(app)
    _add_state(app, models, guard)
    _add_words(app, models, guard)
    return guard


def _add_state(app: FastAPI, models: Models, guard: Guard) -> None:
    @app.get("/health", tags=["server"])
    async def health(request: Request) -> Plain:
        """Whether the server is there; with the token, also the names of the models."""
        about = {"status": "ok", "version": __version__}
        return about | {"models": [*models]} if request.scope.get("authorized") else about

    @app.get("/metrics", tags=["server"], response_class=Response)
    async def prometheus() -> Response:
        """Counters, in the text format of Prometheus."""
        return Response(guard.metrics.text(), media_type=CONTENT_TYPE)

    @app.get("/ready", tags=["server"], responses={503: {"description": "Busy."}})
    async def ready() -> Response:
        """Whether the server takes requests now; 503 while its queue is full."""
        free = not guard.background.full
        return JSONResponse({"status": "ready" if free else "busy"}, 200 if free else 503)

    @app.get("/models", tags=["server"])
    async def describe() -> list[Plain]:
        """The served models: names, classes, and how texts are split into symbols."""
        return [entry.describe() for entry in models.values()]


def _add_words(app: FastAPI, models: Models, guard: Guard) -> None:
    limits, symbols = guard.limits, guard.metrics.symbols

    def find(name: str | None) -> Served:
        chosen = next(iter(models)) if name is None else name
        if chosen not in models:
            raise RefusedError(404, f"no model {chosen[:80]!r} here; there is {', '.join(models)}")
        return models[chosen]

    def answer(entry: Served, words: Sequence[Word]) -> list[Answer]:
        answers: list[Answer] = []
        for i in range(0, len(words), PASS):
            check()
            if i:
                time.sleep(REST)
            answers += entry.predict(words[i : i + PASS])
        symbols.inc(sum(map(len, words)))
        return answers

    @app.post("/predict", tags=["words"])
    async def predict(form: PredictForm) -> dict[str, str | list[Answer]]:
        """The label of every word."""
        entry = find(form.model)
        predictions = answer(entry, to_words(entry, form.words, limits))
        return {"model": entry.name, "predictions": predictions}

    @app.post("/explain", tags=["words"])
    async def explain(form: ExplainForm) -> Explained:
        """Why a word gets its label: its path through the states, and the weight of its symbols."""
        entry = find(form.model)
        (word,) = to_words(entry, [form.word], limits)
        symbols.inc(len(word))
        return entry.explain(word)

    @app.post(
        "/upload",
        tags=["words"],
        response_class=Response,
        responses={200: {"description": "CSV", "content": {"text/csv": {}}}},
        openapi_extra={"requestBody": {"required": True, **FILE}},
    )
    async def upload(
        request: Request, model: ModelName = None, text_column: str | None = None
    ) -> Response:
        """Predictions for a file (TSV, CSV, JSONL, or a word a line), as CSV.

        Cells that a spreadsheet would run as a formula get an apostrophe in front.
        """
        entry = find(model)
        texts, words = read_upload(await request.body(), entry, text_column, limits)
        content = as_csv(texts, answer(entry, words), entry.model.classes)
        name = 'attachment; filename="predictions.csv"'
        return Response(content, media_type="text/csv", headers={"content-disposition": name})

    @app.get("/automaton", tags=["reading"])
    async def automaton(model: ModelName = None) -> Plain:
        """The states: their drawing, the table to step on, and the automaton as a document."""
        entry = find(model)
        dfa = entry.view.dfa
        document = None if dfa is None else json.loads(dfa.to_json())
        return {"model": entry.name, **entry.view.to_dict(), "dfa": document}

    @app.get("/extract", tags=["reading"])
    async def extract(model: ModelName = None) -> Plain:
        """The automaton read off a model, and how far to trust it."""
        found: Plain = json.loads(json.dumps(find(model).extract(), default=str))
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
        first = error.errors()[0]
        where = ".".join(str(part)[:80] for part in first["loc"][:3])
        return refusal(RefusedError(422, f"{where}: {first['msg'][:120]}"))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        return refusal(RefusedError(error.status_code, str(error.detail)))


def _add_page(app: FastAPI) -> None:
    """Serve the page; its addresses are relative, so that a proxy may add a prefix."""
    own = resources.files("kleene.web").joinpath("static", "live.js").read_text("utf-8")
    start = "Kleene.live(document.getElementById('page'));"

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(DOCUMENT, media_type="text/html")

    @app.get("/kleene.js", include_in_schema=False)
    async def code() -> Response:
        return Response(f"{script()}\n{own}\n{start}\n", media_type="text/javascript")

    @app.get("/kleene.css", include_in_schema=False)
    async def style() -> Response:
        return Response(asset("style.css"), media_type="text/css")

"""The server: a page to look at models with, and the same by JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from kleene import __version__
from kleene.errors import AlphabetError, DataError, KleeneError
from kleene.report.html import asset, script
from kleene.web.compare import difference, first_difference
from kleene.web.entries import Entry
from kleene.web.forms import (
    CompareForm,
    Comparison,
    Difference,
    Explained,
    ExplainForm,
    Health,
    PredictForm,
    Predictions,
    Problem,
)
from kleene.web.guard import App, Guard, Limits, RefusedError
from kleene.web.handler import RequestHandler
from kleene.web.registry import ModelRegistry
from kleene.web.uploads import read_upload

Result = TypeVar("Result")
ModelName = Annotated[str | None, Query(max_length=200, description="The first when left out.")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": reason}
    for status, reason in {
        400: "The request is no JSON, or the client went away.",
        401: "A token is needed.",
        403: "Asked by another site, or by another name.",
        404: "There is no such model.",
        408: "The body took too long to come.",
        409: "This model cannot be asked that.",
        413: "Too much at once.",
        422: "The request does not make sense.",
        503: "It took too long.",
    }.items()
}
PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Kleene</title>'
    '<link rel="stylesheet" href="/kleene.css"></head><body><div id="page">'
    "<noscript>This page needs JavaScript; the JSON API does not.</noscript></div>"
    '<script src="/kleene.js"></script></body></html>\n'
)


def create_app(
    registry: ModelRegistry,
    *,
    limits: Limits | None = None,
    token: str | None = None,
    hosts: frozenset[str] | None = None,
) -> App:
    """The application: every request passes the guard, then reaches a route."""
    limits = limits or Limits()
    app = FastAPI(
        title="Kleene",
        version=__version__,
        description="Networks that can be read as state machines: predict, explain, extract.",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    _answer_errors(app)
    _add_page(app, registry)
    _add_questions(app, registry, RequestHandler(registry, limits))
    return Guard(app, limits=limits, token=token, hosts=hosts)


def _add_page(app: FastAPI, registry: ModelRegistry) -> None:
    start = "\nKleene.live(document.getElementById('page'));\n"
    code, style = script("live.js") + start, asset("style.css")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return Response(PAGE, media_type="text/html")

    @app.get("/kleene.js", include_in_schema=False)
    async def javascript() -> Response:
        return Response(code, media_type="text/javascript")

    @app.get("/kleene.css", include_in_schema=False)
    async def stylesheet() -> Response:
        return Response(style, media_type="text/css")

    @app.get("/health", tags=["server"])
    async def health() -> Health:
        """Whether the server is there."""
        return Health(status="ok", version=__version__, models=[entry.name for entry in registry])

    @app.get("/models", tags=["server"])
    async def models() -> list[dict[str, Any]]:
        """What is served: names, classes, and how texts are split into symbols."""
        return [entry.describe() for entry in registry]


def _add_questions(app: FastAPI, registry: ModelRegistry, handler: RequestHandler) -> None:
    @app.post("/predict", tags=["words"], response_model=Predictions)
    async def predict(form: PredictForm) -> Response:
        """The label of every word."""
        entry = _entry(registry, form.model)
        found = await handler.predict(entry, handler.words(entry, form.words))
        predictions = [answer.to_dict() for answer in found]
        return JSONResponse({"model": entry.name, "predictions": predictions})

    @app.post("/explain", tags=["words"])
    async def explain(form: ExplainForm) -> Explained:
        """Why a word got its label: its path through the states, and the weight of its symbols."""
        entry = _entry(registry, form.model)
        word = handler.words(entry, [form.word])[0]
        return Explained(**await handler.work(lambda: entry.explain(word)))

    @app.post("/compare", tags=["two models"])
    async def compare(form: CompareForm) -> Comparison:
        """What two models say to a word, and where along it they part."""
        one, two = _entry(registry, form.one), _entry(registry, form.two)
        word = handler.words(one, [form.word])[0]
        return Comparison(**await handler.work(lambda: first_difference(one, two, word)))

    @app.get("/difference", tags=["two models"])
    async def differ(
        one: Annotated[str, Query(max_length=200)], two: Annotated[str, Query(max_length=200)]
    ) -> Difference:
        """A shortest word on which two models differ, or null: they are equal."""
        a, b = _entry(registry, one), _entry(registry, two)
        return Difference(**await handler.work(lambda: difference(a, b), search=True))

    @app.get("/automaton", tags=["reading"])
    async def automaton(model: ModelName = None) -> dict[str, Any]:
        """The states: their drawing, the table to step on, and the automaton as a document."""
        entry = _entry(registry, model)
        dfa = entry.view.dfa
        document = None if dfa is None else json.loads(dfa.to_json())
        return {"model": entry.name, **entry.view.to_dict(), "dfa": document}

    @app.get("/extract", tags=["reading"])
    async def extract(model: ModelName = None) -> dict[str, Any]:
        """The automaton read off a model, and how far to trust it."""
        found = _entry(registry, model).extract()
        plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
        return plain

    @app.post("/upload", tags=["words"], response_class=Response, openapi_extra=UPLOAD)
    async def upload(
        request: Request,
        model: ModelName = None,
        text_column: Annotated[str | None, Query(max_length=200)] = None,
    ) -> Response:
        """Predictions for a file (TSV, CSV, JSONL, or a word a line), as CSV."""
        entry = _entry(registry, model)
        texts, words = read_upload(await request.body(), entry, text_column, handler.limits)
        rows = [["word", "prediction", "probability"]]
        for start in range(0, len(words), handler.limits.words):
            chunk = words[start : start + handler.limits.words]
            for text, answer in zip(
                texts[start:], await handler.predict(entry, chunk), strict=False
            ):
                sure = max(answer.probabilities.values()) if answer.probabilities else ""
                rows.append([text, str(answer.label), str(sure)])
        out = io.StringIO()
        csv.writer(out).writerows(rows)
        name = 'attachment; filename="predictions.csv"'
        return Response(
            out.getvalue(), media_type="text/csv", headers={"content-disposition": name}
        )


UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"text/plain": {"schema": {"type": "string", "minLength": 1}}},
    },
    "responses": {"200": {"description": "CSV", "content": {"text/csv": {}}}},
}


def _entry(registry: ModelRegistry, name: str | None) -> Entry:
    try:
        return registry[name]
    except KeyError as error:
        raise RefusedError(404, str(error.args[0])) from None


def _answer_errors(app: FastAPI) -> None:
    """Every error as `{"error": reason}`, with nothing of the request repeated unchecked."""

    def problem(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
        text = reason.encode("utf-8", "replace").decode()
        return JSONResponse({"error": text}, status_code=status, headers=headers)

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        return problem(error.status, error.reason)

    @app.exception_handler(KleeneError)
    async def mistaken(_: Request, error: KleeneError) -> Response:
        wrong_word = isinstance(error, DataError | AlphabetError)
        return problem(422 if wrong_word else 409, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][:4])
        return problem(422, f"{where}: {first['msg']}"[:300])

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        return problem(error.status_code, str(error.detail), error.headers)

"""The server: a page for trying models, and the same as a JSON API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.exceptions import HTTPException

from kleene import __version__
from kleene.errors import AlphabetError, DataError, KleeneError
from kleene.explain.markup import as_json
from kleene.web.compare import first_difference, shortest_difference
from kleene.web.forms import (
    CompareForm,
    Comparison,
    Difference,
    Explained,
    ExplainForm,
    Form,
    Health,
    PredictForm,
    Predictions,
    Problem,
    Ready,
    body_schema,
    read_form,
)
from kleene.web.handler import RequestHandler, in_slices
from kleene.web.http.access import LOCAL, Access
from kleene.web.http.background import Background
from kleene.web.http.guard import Guard
from kleene.web.http.limits import Limits, RefusedError
from kleene.web.http.metrics import Metrics
from kleene.web.page import add_page
from kleene.web.registry import ModelRegistry
from kleene.web.uploads import UPLOAD, as_csv, read_upload

AnyForm = TypeVar("AnyForm", bound=Form)
ModelName = Annotated[str | None, Query(description="The first when left out.")]
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": reason}
    for status, reason in {
        400: "The request is not HTTP as it should be, or the client went away.",
        401: "A token is required.",
        403: "The request comes from another site, or under an unknown host name.",
        404: "There is no such model.",
        408: "The body took too long.",
        409: "This model cannot answer that.",
        413: "The request is too large.",
        415: "The body is not declared as JSON.",
        422: "The request does not make sense.",
        429: "Too many requests are waiting.",
        503: "The answer took too long.",
    }.items()
}


def create_app(
    registry: ModelRegistry,
    *,
    limits: Limits | None = None,
    access: Access = LOCAL,
    metrics: Metrics | None = None,
    root_path: str = "",
    background: Background | None = None,
) -> Guard:
    """The application: every request passes the guard, then reaches a route.

    Large and slow requests reach it in the background process, where there is one.
    """
    limits, metrics = limits or Limits(), metrics or Metrics()
    app = FastAPI(
        title="Kleene",
        version=__version__,
        description="Networks that can be read as state machines: predict, explain, extract.",
        docs_url=None,
        redoc_url=None,
        responses=PROBLEMS,
    )
    handler = RequestHandler(registry, limits, metrics)
    _answer_errors(app)
    add_page(app, "live.js", "Kleene.live", root_path)
    _add_state(app, handler, background)
    _add_words(app, handler)
    _add_readings(app, handler)
    return Guard(
        app,
        limits=limits,
        access=access,
        metrics=metrics,
        root_path=root_path,
        background=background,
    )


def _add_state(app: FastAPI, handler: RequestHandler, background: Background | None) -> None:
    @app.get("/health", tags=["server"], response_model_exclude_none=True)
    async def health(request: Request) -> Health:
        """Whether the server is there."""
        known = [entry.name for entry in handler.registry]
        shown = known if request.scope.get("authorized") else None
        return Health(status="ok", version=__version__, models=shown)

    @app.get("/ready", tags=["server"], responses={503: {"model": Ready}})
    async def ready() -> Response:
        """Whether the server takes requests now; 503 while its queue is full."""
        free = handler.ready and (background is None or background.ready)
        return JSONResponse({"status": "ready" if free else "busy"}, 200 if free else 503)

    @app.get("/metrics", tags=["server"], response_class=PlainTextResponse)
    async def metrics() -> Response:
        """Counters, in the text format of Prometheus."""
        kind = "text/plain; version=0.0.4; charset=utf-8"
        return Response(handler.metrics.text(__version__), media_type=kind)

    @app.get("/models", tags=["server"])
    async def models() -> list[dict[str, Any]]:
        """What is served: names, classes, and how texts are split into symbols."""
        return [entry.describe() for entry in handler.registry]


async def _form(request: Request, kind: type[AnyForm]) -> AnyForm:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise RefusedError(415, "send the body as JSON, with Content-Type: application/json")
    body = await request.body()
    return read_form(kind, body)


def _add_words(app: FastAPI, handler: RequestHandler) -> None:
    @app.post(
        "/predict",
        tags=["words"],
        response_model=Predictions,
        openapi_extra=body_schema(PredictForm),
    )
    async def predict(request: Request) -> Response:
        """The label of every word."""
        form = await _form(request, PredictForm)
        entry = handler.entry(form.model)
        words = await in_slices(handler.read_words(entry, form.words))
        found = await handler.predict(entry, words)
        predictions = [answer.to_dict() for answer in found]
        return JSONResponse({"model": entry.name, "predictions": predictions})

    @app.post("/explain", tags=["words"], openapi_extra=body_schema(ExplainForm))
    async def explain(request: Request) -> Explained:
        """Why a word gets its label: its path through the states, and the weight of its symbols."""
        form = await _form(request, ExplainForm)
        entry = handler.entry(form.model)
        (word,) = await in_slices(handler.read_words(entry, [form.word]))
        found = await handler.run(lambda: entry.explain(word), symbols=2 * len(word))
        return Explained(**found)

    @app.post("/compare", tags=["two models"], openapi_extra=body_schema(CompareForm))
    async def compare(request: Request) -> Comparison:
        """What two models say along a word, and where they first differ."""
        form = await _form(request, CompareForm)
        one, two = handler.entry(form.one), handler.entry(form.two)
        (word,) = await in_slices(handler.read_words(one, [form.word]))
        found = await handler.run(lambda: first_difference(one, two, word), symbols=2 * len(word))
        return Comparison(**found)

    @app.get("/difference", tags=["two models"])
    async def difference(one: ModelName = None, two: ModelName = None) -> Difference:
        """A shortest word on which two models differ, or null: they are equal."""
        if one is None or two is None:
            raise RefusedError(422, "name both models: /difference?one=NAME&two=NAME")
        a, b = handler.entry(one), handler.entry(two)
        word = await handler.search(lambda check: shortest_difference(a, b, check))
        if word is None:
            return Difference(word=None, labels=None)
        labels = [as_json((await handler.predict(entry, [word]))[0].label) for entry in (a, b)]
        return Difference(word=[as_json(symbol) for symbol in word], labels=labels)

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
        entry, body = handler.entry(model), await request.body()
        texts, words = await in_slices(read_upload(body, entry, text_column, handler.limits))
        answers = await handler.predict_file(entry, words)
        content = await in_slices(as_csv(texts, answers, escape=formulas != "keep"))
        name = 'attachment; filename="predictions.csv"'
        return Response(content, media_type="text/csv", headers={"content-disposition": name})


def _add_readings(app: FastAPI, handler: RequestHandler) -> None:
    @app.get("/automaton", tags=["reading"])
    async def automaton(model: ModelName = None) -> dict[str, Any]:
        """The states: their drawing, the table to step on, and the automaton as a document."""
        entry = handler.entry(model)
        dfa = entry.view.dfa
        document = None if dfa is None else json.loads(dfa.to_json())
        return {"model": entry.name, **entry.view.to_dict(), "dfa": document}

    @app.get("/extract", tags=["reading"])
    async def extract(model: ModelName = None) -> dict[str, Any]:
        """The automaton read off a model, and how far to trust it."""
        found = handler.entry(model).extract()
        plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
        return plain


def _answer_errors(app: FastAPI) -> None:
    """Every error as `{"error": reason}`."""

    def problem(status: int, reason: str, headers: Mapping[str, str] | None = None) -> Response:
        text = reason.encode("utf-8", "replace").decode()
        return JSONResponse({"error": text}, status_code=status, headers=headers)

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        retry = {"retry-after": "1"} if error.status == 429 else None
        return problem(error.status, error.reason, retry)

    @app.exception_handler(KleeneError)
    async def mistaken(_: Request, error: KleeneError) -> Response:
        wrong_word = isinstance(error, DataError | AlphabetError)
        return problem(422 if wrong_word else 409, str(error))

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> Response:
        reasons = {404: "there is no such path", 405: "this path takes another method"}
        reason = reasons.get(error.status_code, str(error.detail))
        return problem(error.status_code, reason, error.headers)

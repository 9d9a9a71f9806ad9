"""What the server takes and gives, as its OpenAPI document describes it.

Words are plain values here and are checked in `parse`: a union type per symbol would keep an error
for every member of the union of every symbol, and a small request could fill the memory.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.config import JsonDict

from kleene.web.http.limits import RefusedError

WORD: JsonDict = {
    "oneOf": [
        {"type": "string"},
        {"type": "array", "items": {"description": "A text, number, boolean, null, or a list."}},
    ]
}
Named = Field(default=None, max_length=200, description="Which model; the first when left out.")
SomeWord = Field(
    description="A text, or a list of symbols.", examples=["0110"], json_schema_extra=WORD
)


class Form(BaseModel):
    """A request; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=(), strict=True)


class PredictForm(Form):
    """Words to label."""

    words: list[Any] = Field(
        description="Texts, or lists of symbols.",
        examples=[["0110"]],
        json_schema_extra={"items": WORD},
    )
    model: str | None = Named


class ExplainForm(Form):
    """A word to explain."""

    word: Any = SomeWord
    model: str | None = Named


class CompareForm(Form):
    """A word to put to two models."""

    one: str = Field(max_length=200)
    two: str = Field(max_length=200)
    word: Any = SomeWord


AnyForm = TypeVar("AnyForm", bound=Form)


def read_form(kind: type[AnyForm], body: bytes) -> AnyForm:
    """The request that a body holds, or a refusal that says what to change."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    raise RefusedError(422, _in_words(kind, first["type"], first["loc"], first["msg"]))


def _in_words(kind: type[Form], problem: str, where: tuple[int | str, ...], message: str) -> str:
    keys = ", ".join(kind.model_fields)
    key = str(where[0])[:80] if where else ""
    if problem == "json_invalid":
        return f"the body must be JSON ({message.removeprefix('Invalid JSON: ')[:100]})"
    if problem == "missing":
        return f"{key!r} is missing; give it beside the other keys of {keys}"
    if problem == "extra_forbidden":
        return f"unknown key {key!r}; the keys are {keys}"
    if problem == "list_type":
        return f"{key!r} must be a list of texts or of lists of symbols"
    if problem == "string_type":
        return f"{key!r} must be a text"
    if problem == "string_too_long":
        return f"{key!r} must have at most 200 characters"
    return f"the body must be a JSON object with the keys {keys}"


def body_schema(kind: type[Form]) -> dict[str, Any]:
    """The part of the OpenAPI document that describes a request."""
    content = {"application/json": {"schema": kind.model_json_schema()}}
    return {"requestBody": {"required": True, "content": content}}


class Prediction(BaseModel):
    """The answer for one word."""

    label: Any = Field(description="The most probable class.")
    probabilities: dict[str, float] | None = Field(description="Of all classes; null for automata.")
    unknown: int = Field(description="Symbols of the word that the model does not know.")


class Predictions(BaseModel):
    """The answers, in the order of the words."""

    model: str
    predictions: list[Prediction]


class Explained(BaseModel):
    """A prediction and its reasons."""

    word: list[Any]
    between: str = Field(description="What stands between two symbols.")
    prediction: Any = Field(description="The label, as /predict gives it.")
    probability: float | None
    path: list[int] | None = Field(
        description="States of /automaton, the one before the word first."
    )
    weights: dict[str, list[float]] | None = Field(description="Of every symbol, by method.")


class Comparison(BaseModel):
    """Two answers to one word."""

    word: list[Any]
    labels: list[Any]
    after: list[list[Any]] = Field(description="The answers of both after every prefix.")
    differ_at: int | None = Field(description="Length of the shortest prefix on which they differ.")


class Difference(BaseModel):
    """A shortest word on which two machines differ."""

    word: list[Any] | None = Field(description="null when there is none: they are equal.")
    labels: list[Any] | None


class Health(BaseModel):
    """Whether the server is there; what it serves is for those with the token."""

    status: str
    version: str
    models: list[str] | None = None


class Ready(BaseModel):
    """Whether the server takes requests now."""

    status: str


class Problem(BaseModel):
    """Why a request is refused, and what to do."""

    error: str

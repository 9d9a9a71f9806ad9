"""The JSON that the server takes and gives, as its OpenAPI document describes it.

A word is any plain value here; `kleene.data.words` checks it. A union type per symbol would keep
an error for every member of the union and every symbol, and a small request could fill the memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from kleene.data.words import as_word, json_word
from kleene.errors import DataError
from kleene.machine import Word
from kleene.web.limits import Limits, RefusedError
from kleene.web.models import Entry

MAX_DEPTH = 4  # of lists in a symbol
WORD: JsonDict = {
    "oneOf": [
        {"type": "string"},
        {"type": "array", "items": {"description": "A text, number, boolean, null, or a list."}},
    ]
}
MODEL = Field(default=None, max_length=200, description="Which model; the first if left out.")
SOME_WORD = Field(
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
    model: str | None = MODEL


class ExplainForm(Form):
    """A word to explain."""

    word: Any = SOME_WORD
    model: str | None = MODEL


class CompareForm(Form):
    """A word to put to two models."""

    one: str = Field(max_length=200)
    two: str = Field(max_length=200)
    word: Any = SOME_WORD


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
    between: str = Field(description="The text between two symbols.")
    prediction: Any = Field(description="The label, as /predict gives it.")
    probability: float | None
    path: list[int] | None = Field(
        description="States of /automaton, the state before the word first."
    )
    weights: dict[str, list[float]] | None = Field(description="Of every symbol, by method.")
    scales: dict[str, float] | None = Field(description="Largest weight to expect, by method.")


class Comparison(BaseModel):
    """Two answers to one word."""

    word: list[Any]
    labels: list[Any]
    after: list[list[Any]] = Field(description="The answers of both after every prefix.")
    differ_at: int | None = Field(description="Length of the shortest prefix on which they differ.")


class Difference(BaseModel):
    """A shortest word on which two models differ."""

    word: list[Any] | None = Field(description="null if there is none: they are equal.")
    labels: list[Any] | None


class Problem(BaseModel):
    """Why a request is refused, and what to do."""

    error: str


FORMS: dict[str, type[Form]] = {
    "/predict": PredictForm,
    "/explain": ExplainForm,
    "/compare": CompareForm,
}


def reason(error: Mapping[str, Any], path: str) -> str:
    """A validation error of FastAPI in one sentence."""
    keys = ", ".join(FORMS[path].model_fields)
    problem, (*_, key) = error["type"], error["loc"] or ("body",)
    if problem == "json_invalid":
        return f"the body must be JSON ({error.get('ctx', {}).get('error', '')[:100]})"
    plain = {
        "missing": f"{key!r} is missing; the keys are {keys}",
        "extra_forbidden": f"unknown key {key!r:.80}; the keys are {keys}",
        "list_type": f"{key!r} must be a list of texts or of lists of symbols",
        "string_type": f"{key!r} must be a text",
        "string_too_long": f"{key!r} must have at most 200 characters",
    }
    if problem in plain and key != "body":
        return plain[problem]
    return f"the body must be a JSON object with the keys {keys}"


def to_word(entry: Entry, value: Any) -> Word:
    """The word of a model that a text or a list of symbols stands for."""
    if _is_deeper(value, 1 + MAX_DEPTH):
        raise DataError(f"a symbol must have at most {MAX_DEPTH} lists in lists, got a deeper one")
    word: Word = as_word(json_word(value), entry.tokens, entry.layout.bins, typed=True)
    return word


def _is_deeper(value: Any, depth: int) -> bool:
    return isinstance(value, list) and (
        depth == 0 or any(_is_deeper(part, depth - 1) for part in value)
    )


def to_words(entry: Entry, values: Sequence[Any], limits: Limits) -> list[Word]:
    """The words of a request, if they are neither too many nor too long."""
    if len(values) > limits.words:
        got = f"got {len(values):,}; send fewer at a time, or a file"
        raise RefusedError(413, f"a request must have at most {limits.words:,} words, {got}")
    words: list[Word] = []
    total = 0
    for value in values:
        if isinstance(value, list):
            check_length(len(value), limits)
        words.append(to_word(entry, value))
        check_length(len(words[-1]), limits)
        total += len(words[-1])
        if total > limits.symbols:
            most = f"{limits.symbols:,} symbols in all"
            raise RefusedError(413, f"a request must have at most {most}; send fewer at a time")
    return words


def check_length(length: int, limits: Limits, where: str = "") -> None:
    """Refuse a word that is too long."""
    if length > limits.length:
        most = f"a word must have at most {limits.length:,} symbols"
        raise RefusedError(413, f"{where}{most}, got {length:,}")

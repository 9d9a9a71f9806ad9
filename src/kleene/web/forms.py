"""What the server takes and gives, as its OpenAPI document tells it."""

from __future__ import annotations

from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Symbols: TypeAlias = list[str | bool | int | float | list[Any] | None]
Named = Field(default=None, max_length=200, description="Which model; the first when left out.")
SomeWord = Field(description="A text, or a list of symbols.", examples=["0110"])


class Form(BaseModel):
    """A request; what it does not know it refuses."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class PredictForm(Form):
    """Words to label."""

    words: list[str | Symbols] = Field(
        description="Texts, or lists of symbols.", examples=[["0110"]]
    )
    model: str | None = Named


class ExplainForm(Form):
    """A word to explain."""

    word: str | Symbols = SomeWord
    model: str | None = Named


class CompareForm(Form):
    """A word to put to two models."""

    one: str = Field(max_length=200)
    two: str = Field(max_length=200)
    word: str | Symbols = SomeWord


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
    prediction: str
    probability: float | None
    path: list[int] | None = Field(
        description="States of /automaton, the one before the word first."
    )
    weights: dict[str, list[float]] | None = Field(description="Of every symbol, by method.")


class Comparison(BaseModel):
    """Two answers to one word."""

    word: list[Any]
    labels: list[str]
    after: list[list[str]] = Field(description="The answers of both after every beginning.")
    differ_at: int | None = Field(description="Length of the shortest beginning that parts them.")


class Difference(BaseModel):
    """A shortest word on which two machines differ."""

    word: list[Any] | None = Field(description="null when there is none: they are equal.")
    labels: list[str] | None


class Health(BaseModel):
    """Whether the server is there, and what it serves."""

    status: str
    version: str
    models: list[str]


class Problem(BaseModel):
    """Why a request was turned away, and what to do."""

    error: str

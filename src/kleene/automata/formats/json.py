"""Automata as JSON documents: plain data, so that reading one never runs code.

A DFA:

    {"format": "kleene.dfa/1",
     "alphabet": ["0", "1"],            symbols, one per column
     "start": 0,                        the initial state
     "outputs": [true, false],          the label of each state
     "transitions": [[0, 1], [1, 0]],   the next state, a row per state, an entry per symbol
     "names": ["even", "odd"]}          optional

A PFA has `"format": "kleene.pfa/1"`, and

     "initial": [1.0, 0.0],                       the probability of starting in each state
     "transitions": [[[0.5, 0.5], ...], ...],     probabilities by state, symbol, next state
     "partial": false                             whether rows of zeros mean "never seen"

Symbols and labels are strings, numbers, true, false, null, or lists of these, which stand for
tuples. Other keys are ignored, so a document can carry notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from kleene.automata.table import Table, TransitionTable
from kleene.errors import AutomatonError
from kleene.files import format_mismatch, read_regular, write_atomically
from kleene.machine import symbol_problem

DFA_FORMAT = "kleene.dfa/1"


class JsonFile:
    """What is saved to a file as its JSON document."""

    def to_json(self) -> str:
        """The JSON document."""
        raise NotImplementedError

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> Self:
        """Read a JSON document (its text, or the parsed dictionary)."""
        raise NotImplementedError

    def save(self, path: str | Path) -> Path:
        """Write the JSON document to a file."""
        return write_atomically(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a JSON file that `save` wrote; an error names the file."""
        text = read_text(path)
        try:
            return cls.from_json(text)
        except AutomatonError as error:
            raise AutomatonError(f"{path}: {error}") from None


def dfa_to_json(dfa: TransitionTable, *, indent: int | None = None) -> str:
    document = {
        "format": DFA_FORMAT,
        "alphabet": [to_plain(symbol) for symbol in dfa.alphabet],
        "start": dfa.initial,
        "outputs": [to_plain(label) for label in dfa.outputs],
        "transitions": dfa.transitions.tolist(),
    }
    if dfa.names is not None:
        document["names"] = list(dfa.names)
    return dump(document, indent=indent)


def dump(document: Mapping[str, Any], *, indent: int | None = None) -> str:
    """A JSON text that UTF-8 can hold: lone surrogates are escaped."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    lone = any("\ud800" <= character <= "\udfff" for character in text)
    return json.dumps(document, indent=indent) if lone else text


def dfa_from_json(cls: type[Table], document: str | Mapping[str, Any]) -> Table:
    fields = document_fields(document, DFA_FORMAT, ("alphabet", "start", "outputs", "transitions"))
    return cls(
        alphabet=tuple(to_value(symbol) for symbol in list_field(fields, "alphabet")),
        transitions=array_field(fields, "transitions", int, np.int64),
        outputs=tuple(to_value(label) for label in list_field(fields, "outputs")),
        initial=integer_field(fields, "start"),
        names=names_field(fields),
    )


def read_text(path: str | Path) -> str:
    """The text of a file, with an error that names it."""
    try:
        return read_regular(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise AutomatonError(f"cannot read {path}: {reason}; give a JSON file") from error


def document_fields(
    document: str | Mapping[str, Any], wanted: str, keys: tuple[str, ...]
) -> dict[str, Any]:
    """The parsed document, once its format and keys are right."""
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise AutomatonError(f"expected a {wanted} document, got no JSON ({error})") from error
    if not isinstance(document, Mapping):
        kind = type(document).__name__
        raise AutomatonError(f"the JSON document must be an object ({wanted}), got {kind}")
    if document.get("format") != wanted:
        raise AutomatonError(format_mismatch(document.get("format"), wanted, "export it again"))
    missing = [key for key in keys if key not in document]
    if missing:
        raise AutomatonError(f"the {wanted} document has no {', '.join(missing)}; add it")
    return dict(document)


def list_field(fields: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(fields[key], list | tuple):
        raise AutomatonError(f"{key!r} must be a list, got {fields[key]!r:.60}")
    return list(fields[key])


def names_field(fields: Mapping[str, Any]) -> tuple[str, ...] | None:
    if fields.get("names") is None:
        return None
    return tuple(str(name) for name in list_field(fields, "names"))


def integer_field(fields: Mapping[str, Any], key: str) -> int:
    value = fields[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise AutomatonError(f"{key!r} must be the number of a state, got {value!r:.60}")
    return value


def array_field(fields: Mapping[str, Any], key: str, kind: Any, dtype: Any) -> Any:
    """Nested lists of numbers as an array; anything else is named."""
    value = list_field(fields, key)
    stack = [value]
    while stack:
        for entry in stack.pop():
            if isinstance(entry, list | tuple):
                stack.append(list(entry))
            elif not isinstance(entry, kind) or isinstance(entry, bool):
                raise AutomatonError(f"{key!r} must hold numbers only, got {entry!r:.60}")
    try:
        return np.array(value, dtype=dtype)
    except (ValueError, OverflowError) as error:
        message = f"{key!r} must have rows of one length and numbers of 64 bits"
        raise AutomatonError(message) from error


def to_plain(value: Any) -> Any:
    """A symbol or label as JSON, which must come back as it was."""
    if isinstance(value, tuple):
        return [to_plain(part) for part in value]
    finite = not isinstance(value, float) or np.isfinite(value)
    if value is None or (isinstance(value, str | bool | int | float) and finite):
        return value
    message = f"{value!r:.60} has no JSON form; use strings, finite numbers, booleans or tuples"
    raise AutomatonError(message)


def to_value(value: Any) -> Any:
    """The hashable value that a piece of JSON stands for."""
    if problem := symbol_problem(value):
        raise AutomatonError(f"a value is no symbol or label: {problem}; use strings")
    return _to_value(value)


def _to_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_to_value(part) for part in value)
    if isinstance(value, dict):
        raise AutomatonError(f"{value!r:.60} is no symbol or label; use strings, numbers or lists")
    return value

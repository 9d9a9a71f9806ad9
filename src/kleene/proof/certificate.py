"""The outcome of a proof: a certificate that anybody can check again, or a `Refusal`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA, CounterMachine
from kleene.automata.formats.json import dump
from kleene.errors import AutomatonError, ExtractionError
from kleene.files import format_mismatch, read_regular, write_atomically
from kleene.machine import Symbol, Word
from kleene.proof.verify import CERTIFY, COUNTER_FORMAT, DOOR, FORMAT, FORMAT_2, Verification


@dataclass(frozen=True, kw_only=True, eq=False)
class _Document:
    """What all certificates have: a claim about a model folder, and a file."""

    holds: ClassVar[bool] = True
    formats: ClassVar[tuple[str, ...]]
    readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "format": str,
        "claim": str,
        "temperatures": lambda values: tuple(map(float, values)),
        "model_sha256": str,
    }
    """How each field is read from JSON."""

    format: str
    """The version of the document."""
    claim: str
    """What is proved, in one sentence."""
    temperatures: tuple[float, ...]
    """The temperature of each layer that the proof is about."""
    model_sha256: str
    """Digest of everything that an answer depends on: settings, alphabet and weights."""
    verification: Verification | None = None
    """What the verifier found; None in a certificate read from a file, until it is verified."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what is checked, and nothing that is not."""
        names = [field.name for field in fields(self) if field.name != "verification"]
        return {"door": DOOR, **{name: _plain(getattr(self, name)) for name in names}}

    def to_json(self) -> str:
        """A document that `from_json` and the verifier read."""
        return dump(self.to_dict())

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; whether it still holds is for `verify` to say."""
        try:
            found = json.loads(document) if isinstance(document, str) else dict(document)
        except (ValueError, RecursionError) as error:
            raise ExtractionError(f"the certificate is not JSON ({error}); {CERTIFY}") from None
        kind = found.get("format") if isinstance(found, dict) else None
        if kind not in cls.formats:
            raise ExtractionError(format_mismatch(kind, cls.formats[0], CERTIFY))
        try:
            return cls(**{name: read(found[name]) for name, read in cls.readers.items()})
        except (KeyError, TypeError, ValueError, OverflowError, AutomatonError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            raise ExtractionError(f"the certificate is damaged ({reason}); {CERTIFY}") from None

    def save(self, path: str | Path) -> Path:
        """Write the document to a file."""
        return write_atomically(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that `save` wrote."""
        try:
            return cls.from_json(read_regular(path).decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ExtractionError(f"cannot read {path}: {reason}; give a certificate") from None


def _plain(value: Any) -> Any:
    if isinstance(value, DFA | CounterMachine):
        return json.loads(value.to_json())
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate(_Document):
    """A proof that a network and an automaton give the same label to every sequence.

    It is an invariant. Each *location* is a box of mixtures per layer, `lo` <= alpha <= `hi`,
    around one centroid, and belongs to a state of the automaton. The start token leads into
    location 0, each symbol from any point of a location into the location in `transitions`, and
    from any point of a location the network gives the label of its state. `kleene.proof.verify`
    checks just that.
    """

    formats: ClassVar[tuple[str, ...]] = (FORMAT, FORMAT_2)
    readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **_Document.readers,
        "dfa": DFA.from_json,
        "centroids": lambda rows: tuple(tuple(map(int, layers)) for layers in rows),
        "dfa_states": lambda states: tuple(map(int, states)),
        "transitions": lambda rows: np.array(rows, np.int32),
        "lo": lambda ends: np.array(ends, np.float64),
        "hi": lambda ends: np.array(ends, np.float64),
    }

    format: str = FORMAT
    dfa: DFA
    centroids: tuple[tuple[int, ...], ...]
    """The centroids that each location lies around, one per layer."""
    dfa_states: tuple[int, ...]
    """The state of the automaton that each location belongs to."""
    transitions: NDArray[np.int32]
    """The next location, (location, symbol), symbols in the order of the model's alphabet."""
    lo: NDArray[np.float64]
    """Least probability of each centroid, (location, layer, centroid)."""
    hi: NDArray[np.float64]
    """Greatest probability of each centroid, (location, layer, centroid)."""

    def __str__(self) -> str:
        if self.verification is None:
            return f"certificate for {self.dfa.num_states} states, not verified yet"
        return (
            f"{self.verification}; {len(self.centroids)} boxes, "
            f"output margin at least {self.verification.output_margin:.3g}"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CounterCertificate(_Document):
    """A proof that an LSTM and a counter machine agree, up to a depth and a length.

    The boxes of such a proof drift, so the document has none: the verifier computes its own.
    """

    formats: ClassVar[tuple[str, ...]] = (COUNTER_FORMAT,)
    readers: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        **_Document.readers,
        "machine": CounterMachine.from_json,
        "depth": int,
        "length": int,
        "rises": lambda rises: None if rises is None else tuple(map(int, rises)),
        "unit": int,
        "step": float,
    }

    format: str = COUNTER_FORMAT
    machine: CounterMachine
    depth: int
    """How far the machine's counter may get from 0."""
    length: int
    """The most symbols of a sequence."""
    rises: tuple[int, ...] | None
    """What each symbol adds to the depth where the counter has stopped; see `verify_counter`."""
    unit: int
    """The unit of the memory that counts; it decides how the verifier splits its boxes."""
    step: float
    """What that unit adds for one step of the counter."""

    def __str__(self) -> str:
        if self.verification is None:
            return f"certificate up to depth {self.depth}, length {self.length}, not verified yet"
        return str(self.verification)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Why there is no proof, and the nearest thing to one."""

    holds: ClassVar[bool] = False

    reason: str
    temperature: float
    """The temperature the proof was tried at."""
    largest_temperature: float | None = None
    """The largest temperature at which the proof closes, None where it never does."""
    word: Word | None = None
    """A word on which the network in hard mode and the automaton differ."""
    state: int | None = None
    """The centroid at which the proof breaks."""
    symbol: Symbol | None = None
    """The symbol at which it breaks; None where it is the class that is not certain."""

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        word = self.word if self.word is None or isinstance(self.word, str) else list(self.word)
        return {"holds": False, **vars(self), "word": word}

    def to_json(self) -> str:
        """The same as a JSON object."""
        return json.dumps(self.to_dict(), default=str)

"""The outcome of a proof: a `Certificate` that anybody can check again, or a `Refusal`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.automata.formats.json import dump
from kleene.errors import AutomatonError, ExtractionError
from kleene.files import format_mismatch, read_regular, write_atomically
from kleene.machine import Symbol, Word
from kleene.proof.verify import CERTIFY, FORMAT, FORMAT_2, Verification


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """A proof that a network and an automaton give the same label to every sequence.

    It is an invariant. Each *location* is a box of mixtures per layer, `lo` <= alpha <= `hi`,
    around one centroid, and belongs to a state of the automaton. The start token leads into
    location 0, each symbol from any point of a location into the location in `transitions`, and
    from any point of a location the network gives the label of its state. `kleene.proof.verify`
    checks just that.
    """

    holds: ClassVar[bool] = True

    claim: str
    """What is proved, in one sentence."""
    temperatures: tuple[float, ...]
    """The temperature of each layer that the proof is about."""
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
    model_sha256: str
    """Digest of everything that `predict` depends on: settings, alphabet and weights."""
    dfa: DFA
    format: str = FORMAT
    """The version of the document; version 2 has a digest that leaves out the data layout."""
    verification: Verification | None = None
    """What the verifier found; None in a certificate read from a file, until it is verified."""

    @property
    def temperature(self) -> float:
        """The temperature the proof is about; the mean, where layers differ."""
        return sum(self.temperatures) / len(self.temperatures)

    @property
    def eps(self) -> NDArray[np.float64]:
        """The most probability mass outside its centroids that each location allows."""
        lead = np.array(self.centroids)[..., None]
        others = self.hi.copy()
        np.put_along_axis(others, lead, 0, -1)
        kept = np.take_along_axis(self.lo, lead, -1)[..., 0]
        return np.asarray(np.minimum(others.sum(-1), 1 - kept).max(-1))

    @property
    def checked_pairs(self) -> int:
        """How many pairs of location and symbol there are."""
        return self.transitions.size

    @property
    def running_temperature(self) -> float | None:
        """The temperature the network runs with, None until the certificate is verified."""
        return None if self.verification is None else self.verification.running_temperature

    @property
    def at_running_temperature(self) -> bool:
        """Whether the verifier has found it to be about the network as it runs."""
        return self.verification is not None and self.verification.at_running_temperature

    def __str__(self) -> str:
        size = (
            f"{len(self.centroids)} boxes follow the {len(set(self.dfa_states))} states of the "
            f"automaton, eps at most {self.eps.max():.2g}"
        )
        if self.verification is None:
            return f"certificate for temperature {self.temperature:g}, not verified yet: {size}"
        margins = f"output margin at least {self.verification.output_margin:.3g}"
        return f"{self.verification}; {size}, {margins}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: what is checked, and nothing that is not."""
        return {
            "format": self.format,
            "claim": self.claim,
            "temperatures": list(self.temperatures),
            "model_sha256": self.model_sha256,
            "dfa": json.loads(self.dfa.to_json()),
            "centroids": [list(layers) for layers in self.centroids],
            "dfa_states": list(self.dfa_states),
            "transitions": self.transitions.tolist(),
            "lo": self.lo.tolist(),
            "hi": self.hi.tolist(),
        }

    def to_json(self) -> str:
        """A document that `from_json` and the verifier read."""
        return dump(self.to_dict())

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> Certificate:
        """Read what `to_json` wrote; whether it still holds is for `verify` to say."""
        try:
            fields = json.loads(document) if isinstance(document, str) else dict(document)
        except (ValueError, RecursionError) as error:
            raise ExtractionError(f"the certificate is not JSON ({error}); {CERTIFY}") from None
        found = fields.get("format") if isinstance(fields, dict) else None
        if found not in (FORMAT, FORMAT_2):
            raise ExtractionError(format_mismatch(found, FORMAT, CERTIFY))
        try:
            return cls(
                claim=str(fields["claim"]),
                temperatures=tuple(map(float, fields["temperatures"])),
                centroids=tuple(tuple(map(int, layers)) for layers in fields["centroids"]),
                dfa_states=tuple(map(int, fields["dfa_states"])),
                transitions=np.array(fields["transitions"], np.int32),
                lo=np.array(fields["lo"], np.float64),
                hi=np.array(fields["hi"], np.float64),
                model_sha256=str(fields["model_sha256"]),
                dfa=DFA.from_json(fields["dfa"]),
                format=found,
            )
        except (KeyError, TypeError, ValueError, OverflowError, AutomatonError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            raise ExtractionError(f"the certificate is damaged ({reason}); {CERTIFY}") from None

    def save(self, path: str | Path) -> Path:
        """Write the document to a file."""
        return write_atomically(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file that `save` wrote."""
        try:
            return cls.from_json(read_regular(path).decode("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ExtractionError(f"cannot read {path}: {reason}; give a certificate") from None


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
    competitor: int | None = None
    """The centroid that may win instead of the right one."""

    def __str__(self) -> str:
        return self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        word = self.word if self.word is None or isinstance(self.word, str) else list(self.word)
        return {"holds": False, **vars(self), "word": word}

    def to_json(self) -> str:
        """The same as a JSON object."""
        return json.dumps(self.to_dict(), default=str)

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
from kleene.errors import AutomatonError, ReadingError
from kleene.files import write_atomically
from kleene.formats import mismatch
from kleene.machine import Symbol, Word

FORMAT = "kleene.certificate/1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """A proof that a network and an automaton give the same label to every word of every length.

    It is an invariant. Each *location* is a box of mixtures, `lo` <= alpha <= `hi`, around one
    centroid, and belongs to a state of the automaton. The start token leads into location 0, each
    symbol from any point of a location into the location in `transitions`, and from any point of a
    location the network gives the label of its state. `kleene.proof.verify` checks just that.
    """

    holds: ClassVar[bool] = True

    temperature: float
    """The temperature the proof is about."""
    running_temperature: float
    """The temperature the network runs with."""
    centroids: tuple[int, ...]
    """The centroid that each location lies around."""
    dfa_states: tuple[int, ...]
    """The state of the automaton that each location belongs to."""
    transitions: NDArray[np.int32]
    """The next location, (location, symbol), symbols in the order of the model's alphabet."""
    lo: NDArray[np.float64]
    """Least probability of each centroid, (location, centroid)."""
    hi: NDArray[np.float64]
    """Greatest probability of each centroid, (location, centroid)."""
    margins: NDArray[np.float64]
    """By how much the next centroid's score beats all others at least, (location, symbol)."""
    output_margins: NDArray[np.float64]
    """By how much the right class beats all others at least, (location,)."""
    model_sha256: str
    """Digest of the weights, names and shapes included."""
    dfa: DFA
    rounding: str

    @property
    def eps(self) -> NDArray[np.float64]:
        """The most probability mass outside its centroid that each location allows."""
        lead = np.arange(len(self.centroids)), np.array(self.centroids)
        others = self.hi.copy()
        others[lead] = 0
        return np.asarray(np.minimum(others.sum(1), 1 - self.lo[lead]))

    @property
    def checked_pairs(self) -> int:
        """How many pairs of location and symbol were checked."""
        return self.transitions.size

    @property
    def at_running_temperature(self) -> bool:
        """Whether the proof is about the network as it runs."""
        return abs(self.temperature - self.running_temperature) <= 1e-6 * self.running_temperature

    @property
    def decisive(self) -> bool:
        """Whether the most probable centroid always is the one that the region lies around."""
        return bool((self.margins > 0).all())

    def __str__(self) -> str:
        used, states = len(self.centroids), len(set(self.dfa_states))
        where = "" if self.at_running_temperature else f" (it runs at {self.running_temperature:g})"
        clear = (
            f"eps at most {self.eps.max():.2g}, score margin at least {self.margins.min():.3g}"
            if self.decisive
            else "some of them spread over several centroids"
        )
        return (
            f"proved for all words at temperature {self.temperature:g}{where}: {used} regions "
            f"follow the {states} states of the automaton, {self.checked_pairs} pairs of region "
            f"and symbol checked, {clear}, output margin at least {self.output_margins.min():.3g}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "format": FORMAT,
            "temperature": self.temperature,
            "running_temperature": self.running_temperature,
            "centroids": list(self.centroids),
            "dfa_states": list(self.dfa_states),
            "transitions": self.transitions.tolist(),
            "lo": self.lo.tolist(),
            "hi": self.hi.tolist(),
            "eps": self.eps.tolist(),
            "margins": [[_finite(margin) for margin in row] for row in self.margins.tolist()],
            "output_margins": [_finite(margin) for margin in self.output_margins.tolist()],
            "model_sha256": self.model_sha256,
            "dfa": json.loads(self.dfa.to_json()),
            "rounding": self.rounding,
        }

    def to_json(self) -> str:
        """A document that `from_json` and the verifier read."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> Certificate:
        """Read what `to_json` wrote; whether it still holds is for `verify` to say."""
        try:
            fields = json.loads(document) if isinstance(document, str) else dict(document)
        except (ValueError, RecursionError) as error:
            raise ReadingError(f"the certificate is no JSON ({error}); certify again") from None
        came = fields.get("format") if isinstance(fields, dict) else None
        if came != FORMAT:
            raise ReadingError(mismatch(came, FORMAT, "certify again"))
        try:
            return cls(
                temperature=float(fields["temperature"]),
                running_temperature=float(fields["running_temperature"]),
                centroids=tuple(map(int, fields["centroids"])),
                dfa_states=tuple(map(int, fields["dfa_states"])),
                transitions=np.array(fields["transitions"], np.int32),
                lo=np.array(fields["lo"], np.float64),
                hi=np.array(fields["hi"], np.float64),
                margins=_margins(fields["margins"]),
                output_margins=_margins(fields["output_margins"]),
                model_sha256=str(fields["model_sha256"]),
                dfa=DFA.from_json(fields["dfa"]),
                rounding=str(fields["rounding"]),
            )
        except (KeyError, TypeError, ValueError, OverflowError, AutomatonError) as error:
            reason = f"{type(error).__name__}: {error}"[:200]
            raise ReadingError(f"the certificate is damaged ({reason}); certify again") from None

    def save(self, path: str | Path) -> Path:
        """Write the document to a file."""
        return write_atomically(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file that `save` wrote."""
        try:
            return cls.from_json(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ReadingError(f"cannot read {path}: {reason}; give a certificate") from None


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
    """The symbol at which it breaks; None where it is the output that is not settled."""
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


def _finite(margin: float) -> float | None:
    """JSON has no infinity: the margin over no competitor at all is null."""
    return margin if np.isfinite(margin) else None


def _margins(values: Any) -> NDArray[np.float64]:
    array = np.array(values, np.float64)  # null becomes nan
    return np.where(np.isnan(array), np.inf, array)

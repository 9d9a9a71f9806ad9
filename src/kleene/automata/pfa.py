"""Probabilistic automata: transition probabilities between labelled states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from kleene.automata.formats.json import (
    JsonFile,
    array_field,
    document_fields,
    dump,
    list_field,
    to_plain,
    to_value,
)
from kleene.automata.symbols import check_alphabet, encode, show
from kleene.errors import AutomatonError
from kleene.machine import Label, Symbol, Word

FORMAT = "kleene.pfa/1"
_TOLERANCE = 1e-5  # float32 networks sum to 1 no better than this


@dataclass(frozen=True, kw_only=True, eq=False)
class PFA(JsonFile):
    """A probabilistic automaton whose states carry output labels.

    `transitions[i, a, j]` is the probability of going from state i to j on symbol a. Each row
    `transitions[i, a]` is a distribution. With `partial=True` it may also be all zeros, which says
    that state i was never seen to read a: the probability that arrives there is lost, and the
    labels of a word then sum to less than 1.
    """

    alphabet: tuple[Symbol, ...]
    transitions: npt.NDArray[np.float64]  # (state, symbol, next state)
    initial: npt.NDArray[np.float64]  # (state,)
    outputs: tuple[Label, ...]
    partial: bool = False

    def __post_init__(self) -> None:
        set_field = object.__setattr__  # normalises the fields of a frozen value
        for field in ("alphabet", "outputs"):
            values = (v.item() if isinstance(v, np.generic) else v for v in getattr(self, field))
            set_field(self, field, tuple(values))
        check_alphabet(self.alphabet)
        if not self.outputs:
            raise AutomatonError("an automaton must have at least one state, got no outputs")
        states, symbols = len(self.outputs), len(self.alphabet)
        for field, shape in (("initial", (states,)), ("transitions", (states, symbols, states))):
            array = np.array(getattr(self, field), dtype=np.float64)
            if array.shape != shape:
                raise AutomatonError(
                    f"{field} must have shape {shape} for {states} outputs and {symbols} symbols, "
                    f"got {array.shape}"
                )
            set_field(self, field, array)
        self._check_rows()
        self.transitions.setflags(write=False)
        self.initial.setflags(write=False)

    def _check_rows(self) -> None:
        rows = np.concatenate([self.initial[None], self.transitions.reshape(-1, self.num_states)])
        sums = rows.sum(axis=-1)
        good = np.isclose(sums, 1.0, rtol=0, atol=_TOLERANCE) & (rows >= 0).all(axis=-1)
        if self.partial:
            good[1:] |= (rows[1:] == 0).all(axis=-1)
        if good.all():
            return
        row = int(np.argmin(good))
        state, column = divmod(row - 1, len(self.alphabet))
        place = f"state {state} on {self.alphabet[column]!r}" if row else "the initial distribution"
        cure = "normalise the row"
        if not self.partial and row and not rows[row].any():
            cure = "give partial=True if this pair was never seen"
        raise AutomatonError(
            f"{place}: probabilities must be >= 0 and sum to 1, got a sum of {sums[row]:.6g} and a "
            f"minimum of {rows[row].min():.6g}; {cure}"
        )

    @property
    def num_states(self) -> int:
        """How many states it has."""
        return len(self.outputs)

    @cached_property
    def columns(self) -> dict[Symbol, int]:
        """The column of every symbol in `transitions`."""
        return {symbol: column for column, symbol in enumerate(self.alphabet)}

    def word_probabilities(self, word: Word) -> dict[Label, float]:
        """How probable each output label is for a word: initial times one matrix per symbol."""
        probs = self.initial
        for column in encode(word, self.columns):
            probs = probs @ self.transitions[:, column]
        totals = dict.fromkeys(self.outputs, 0.0)
        for label, prob in zip(self.outputs, probs.tolist(), strict=True):
            totals[label] += prob
        return totals

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON document that `from_json` reads; see `formats.json`."""
        document = {
            "format": FORMAT,
            "alphabet": [to_plain(symbol) for symbol in self.alphabet],
            "initial": self.initial.tolist(),
            "outputs": [to_plain(label) for label in self.outputs],
            "transitions": self.transitions.tolist(),
            "partial": self.partial,
        }
        return dump(document, indent=indent)

    @classmethod
    def from_json(cls, document: str | Mapping[str, Any]) -> PFA:
        """Read a JSON document (its text, or the parsed dictionary); see `formats.json`."""
        keys = ("alphabet", "initial", "outputs", "transitions")
        fields = document_fields(document, FORMAT, keys)
        return cls(
            alphabet=tuple(to_value(symbol) for symbol in list_field(fields, "alphabet")),
            transitions=array_field(fields, "transitions", (int, float), np.float64),
            initial=array_field(fields, "initial", (int, float), np.float64),
            outputs=tuple(to_value(label) for label in list_field(fields, "outputs")),
            partial=fields.get("partial", False) is True,
        )

    def __repr__(self) -> str:
        return f"PFA({self.num_states} states over {{{show(self.alphabet)}}})"

"""Certified robustness: can any n edits of a sequence change its label?

The answer is exact. A certified network gives every sequence the label that its automaton gives, so
it is enough to search the automaton: `cost[i, q]`, the least number of edits with which the first i
symbols lead to state q, is a shortest path in the product of sequence and automaton.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.alphabet import to_json_symbol
from kleene.errors import AlphabetError, ExtractionError, SettingError
from kleene.machine import Label, Symbol, Word
from kleene.model import Model
from kleene.proof import require
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify

Kind: TypeAlias = Literal["substitute", "insert", "delete"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MAX_EDITS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Edit:
    """One change of a sequence; `position` counts its symbols from 0, the text from 1."""

    kind: Kind
    position: int
    old: Symbol = None
    new: Symbol = None

    def __str__(self) -> str:
        if self.kind == "substitute":
            return f"substitute {self.old!r} at {self.position + 1} by {self.new!r}"
        if self.kind == "insert":
            return f"insert {self.new!r} before {self.position + 1}"
        return f"delete {self.old!r} at {self.position + 1}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        symbols = {"old": to_json_symbol(self.old), "new": to_json_symbol(self.new)}
        return {"kind": self.kind, "position": self.position, **symbols}


@dataclass(frozen=True, kw_only=True)
class Robustness:
    """The answer for one sequence."""

    sequence: Word
    label: Label
    budget: int
    """Up to how many edits were asked for."""
    kinds: tuple[Kind, ...]
    edits: tuple[Edit, ...] | None = None
    """A shortest change of the label, None where no edits within the budget change it."""
    edited: Word | None = None
    edited_label: Label | None = None

    @property
    def certified(self) -> bool:
        """Whether no edits within the budget change the label."""
        return self.edits is None

    @property
    def distance(self) -> int | None:
        """How many edits change the label at least, None where that is more than the budget."""
        return None if self.edits is None else len(self.edits)

    def __str__(self) -> str:
        if self.edits is None:
            many = f"{self.budget} symbol" + ("s" if self.budget != 1 else "")
            return f"certified: no edit of at most {many} changes the label {self.label!r}"
        count = len(self.edits)  # never 0: no edit, no other label
        change = "1 edit changes" if count == 1 else f"{count} edits change"
        steps = "; ".join(map(str, self.edits))
        return f"{change} {self.label!r} to {self.edited_label!r}: {steps}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "certified": self.certified,
            "label": to_json_symbol(self.label),
            "budget": self.budget,
            "kinds": list(self.kinds),
            "distance": self.distance,
            "edits": None if self.edits is None else [edit.to_dict() for edit in self.edits],
            "edited": None if self.edited is None else [to_json_symbol(s) for s in self.edited],
            "edited_label": None if self.edited is None else to_json_symbol(self.edited_label),
        }


class EditSearch:
    """Searches an automaton for edits that change labels; build it once for many sequences."""

    def __init__(
        self,
        dfa: DFA,
        *,
        edits: int = 1,
        kinds: Collection[str] = KINDS,
        substitutes: Mapping[Symbol, Collection[Symbol]] | None = None,
    ) -> None:
        """`substitutes` lists what each symbol may be replaced by; without it, by any other."""
        if not 0 <= edits <= MAX_EDITS:
            raise SettingError(f"edits must be 0 to {MAX_EDITS:,}, got {edits}")
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            shown = ", ".join(map(repr, unknown)) or "none"
            raise SettingError(f"kinds must be some of {', '.join(KINDS)}, got {shown}")
        self.dfa, self.budget = dfa, edits
        self.kinds = tuple(kind for kind in KINDS if kind in kinds)
        self._columns = dfa.columns
        self._allowed = None if substitutes is None else self._allow(substitutes)
        self._moves = np.asarray(dfa.transitions)
        self._distinct: NDArray[np.intp] = np.unique(self._moves, axis=1, return_index=True)[1]
        self._any = np.zeros((dfa.num_states, dfa.num_states), bool)  # from to: by some symbol
        self._any[np.arange(dfa.num_states)[:, None], self._moves] = True

    def _allow(
        self, substitutes: Mapping[Symbol, Collection[Symbol]]
    ) -> dict[int, NDArray[np.intp]]:
        for symbol in (s for old, new in substitutes.items() for s in (old, *new)):
            if symbol not in self._columns:
                raise AlphabetError(f"the substitute {symbol!r} is not in the alphabet; remove it")
        return {
            self._columns[old]: np.array([self._columns[s] for s in new if s != old], np.intp)
            for old, new in substitutes.items()
        }

    def __call__(self, sequence: Word) -> Robustness:
        """The answer for one sequence, whose symbols are all in the alphabet."""
        missing = [symbol for symbol in sequence if symbol not in self._columns]
        if missing:
            raise AlphabetError(
                f"the symbol {missing[0]!r} is not in the alphabet; the proof is about sequences "
                "over the alphabet only"
            )
        word = [self._columns[symbol] for symbol in sequence]
        cost, label = self._costs(word), self.dfa.run(sequence)
        ends = [q for q in range(self.dfa.num_states) if self.dfa.outputs[q] != label]
        best = min(ends, key=lambda q: int(cost[-1, q]), default=None)
        found: dict[str, Any] = {}
        if best is not None and cost[-1, best] <= self.budget:
            steps = self._trace(word, cost, best)
            found = {
                "edits": tuple(step for step in steps if isinstance(step, Edit)),
                "edited": _like(sequence, [_symbol(s) for s in steps if not _deletes(s)]),
                "edited_label": self.dfa.outputs[best],
            }
        return Robustness(
            sequence=sequence, label=label, budget=self.budget, kinds=self.kinds, **found
        )

    def _costs(self, word: Sequence[int]) -> NDArray[np.int32]:
        """The least number of edits to each state after each prefix, (position, state)."""
        far = self.budget + 1
        cost = np.full((len(word) + 1, self.dfa.num_states), far, np.int32)
        cost[0, self.dfa.initial] = 0
        self._insert(cost[0])
        for i, column in enumerate(word):
            here, after = cost[i], cost[i + 1]
            np.minimum.at(after, self._moves[:, column], here)
            if "substitute" in self.kinds:
                for other in self._others(column):
                    np.minimum.at(after, self._moves[:, other], here + 1)
            if "delete" in self.kinds:
                np.minimum(after, here + 1, out=after)
            self._insert(after)
        return cost

    def _insert(self, cost: NDArray[np.int32]) -> None:
        if "insert" not in self.kinds:
            return
        edits = int(cost.min())
        while edits < self.budget and (cost[cost <= self.budget] >= edits).any():
            reached = self._any[cost == edits].any(0)
            cost[reached & (cost > edits + 1)] = edits + 1
            edits += 1

    def _others(self, column: int) -> NDArray[np.intp]:
        """What a symbol may be replaced by; symbols that move all states alike count once."""
        if self._allowed is not None:
            return self._allowed.get(column, np.zeros(0, np.intp))
        return np.asarray(self._distinct[self._distinct != column])

    def _trace(
        self, word: Sequence[int], cost: NDArray[np.int32], state: int
    ) -> list[Edit | Symbol]:
        """The symbols kept and the edits made, along a cheapest way to a state at the end."""
        symbols, steps, i = self.dfa.alphabet, [], len(word)
        while i or cost[i, state]:
            spent = cost[i, state]
            step = self._back(word, cost, i, state, spent)
            kind, before, column = step
            if kind == "keep":
                steps.append(symbols[column])
            else:
                position = i if kind == "insert" else i - 1
                old = None if kind == "insert" else symbols[word[position]]
                new = None if kind == "delete" else symbols[column]
                steps.append(Edit(kind=kind, position=position, old=old, new=new))
            i, state = i - (kind != "insert"), before
        return steps[::-1]

    def _back(
        self, word: Sequence[int], cost: NDArray[np.int32], i: int, state: int, spent: int
    ) -> tuple[Any, int, int]:
        """The last step of a cheapest way: what is done, the state before, the symbol read."""
        if i:
            ways: list[tuple[str, int, Sequence[int]]] = [("keep", 0, [word[i - 1]])]
            if "substitute" in self.kinds:
                ways.append(("substitute", 1, self._others(word[i - 1]).tolist()))
            for kind, price, columns in ways:
                for column in columns:
                    before = (self._moves[:, column] == state) & (cost[i - 1] == spent - price)
                    if before.any():
                        return kind, int(before.argmax()), column
            if "delete" in self.kinds and cost[i - 1, state] == spent - 1:
                return "delete", state, -1
        before = self._any[:, state] & (cost[i] == spent - 1)
        origin = int(before.argmax())
        return "insert", origin, int((self._moves[origin] == state).argmax())


def robustness(
    model: Model,
    sequence: Word,
    *,
    edits: int = 1,
    kinds: Collection[str] = KINDS,
    substitutes: Mapping[Symbol, Collection[Symbol]] | None = None,
    certificate: Certificate | None = None,
) -> Robustness:
    """Decide whether edits of at most so many symbols can change the label of a sequence.

    Each symbol is kept, substituted or deleted, and symbols may be inserted; `kinds` says which.
    The model needs a proof: `certificate` is verified, without one the model is certified first.
    """
    dfa = certified_dfa(model, certificate)
    return EditSearch(dfa, edits=edits, kinds=kinds, substitutes=substitutes)(sequence)


def certified_share(results: Collection[Robustness], budget: int) -> list[float]:
    """The share of sequences whose label no n edits change, for n = 0 to `budget`."""
    distances = [budget + 1 if r.distance is None else r.distance for r in results]
    total = max(len(distances), 1)
    return [sum(d > n for d in distances) / total for n in range(budget + 1)]


def certified_dfa(model: Model, certificate: Certificate | None = None) -> DFA:
    """The automaton that the model is proved to be, or an error that says what is missing."""
    if certificate is not None:
        return require(model, certificate)
    outcome = certify(model)
    if not isinstance(outcome, Certificate):
        raise ExtractionError(f"robustness needs a proof of the model, got none: {outcome}")
    return outcome.dfa


def _symbol(step: Edit | Symbol) -> Symbol:
    return step.new if isinstance(step, Edit) else step


def _deletes(step: Edit | Symbol) -> bool:
    return isinstance(step, Edit) and step.kind == "delete"


def _like(sequence: Word, symbols: list[Symbol]) -> Word:
    return "".join(map(str, symbols)) if isinstance(sequence, str) else tuple(symbols)

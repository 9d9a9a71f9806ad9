"""Certified robustness: can any n edits of a sequence change its label?

The answer is exact. A certified network gives every sequence the label that its automaton gives, so
it is enough to search for a shortest path in the product of sequence and automaton.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

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
Node: TypeAlias = tuple[int, int]  # position and state
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

    def __init__(self, dfa: DFA, *, edits: int = 1, kinds: Collection[str] = KINDS) -> None:
        if not 0 <= edits <= MAX_EDITS:
            raise SettingError(f"edits must be 0 to {MAX_EDITS:,}, got {edits}")
        unknown = [kind for kind in kinds if kind not in KINDS]
        if unknown or not kinds:
            shown = ", ".join(map(repr, unknown)) or "none"
            raise SettingError(f"kinds must be some of {', '.join(KINDS)}, got {shown}")
        self.dfa, self.budget = dfa, edits
        self.kinds = tuple(kind for kind in KINDS if kind in kinds)
        self._moves = np.asarray(dfa.transitions).tolist()
        self._apart = [  # by state: two symbols, if there are, that lead to each next state
            [s for place in np.unique(row) for s in np.flatnonzero(row == place)[:2].tolist()]
            for row in np.asarray(dfa.transitions)
        ]

    def __call__(self, sequence: Word) -> Robustness:
        """The answer for one sequence, whose symbols are all in the alphabet."""
        missing = [symbol for symbol in sequence if symbol not in self.dfa.columns]
        if missing:
            raise AlphabetError(
                f"the symbol {missing[0]!r} is not in the alphabet; the proof is about sequences "
                "over the alphabet only"
            )
        label, edited = self.dfa.run(sequence), list(sequence)
        edits = self._search([self.dfa.columns[symbol] for symbol in sequence], label)
        found: dict[str, Any] = {}
        if edits is not None:
            for edit in reversed(edits):  # positions before an edit stay as they are
                new = [] if edit.kind == "delete" else [edit.new]
                edited[edit.position : edit.position + (edit.kind != "insert")] = new
            word = "".join(map(str, edited)) if isinstance(sequence, str) else tuple(edited)
            found = {"edits": tuple(edits), "edited": word, "edited_label": self.dfa.run(word)}
        return Robustness(
            sequence=sequence, label=label, budget=self.budget, kinds=self.kinds, **found
        )

    def _search(self, word: Sequence[int], label: Label) -> list[Edit] | None:
        """The edits on a shortest path to another label.

        Nodes are a position and a state; a symbol that is kept costs nothing, an edit costs 1.
        """
        start = (0, self.dfa.initial)
        cost = {start: 0}
        before: dict[Node, tuple[Node, Edit | None]] = {}
        waiting, done = deque([start]), set()
        while waiting:
            node = waiting.popleft()
            if node in done:
                continue
            done.add(node)
            if node[0] == len(word) and self.dfa.outputs[node[1]] != label:
                edits = []
                while node != start:
                    node, edit = before[node]
                    edits += [edit] if edit else []
                return edits[::-1]
            for after, edit in self._steps(word, *node):
                price = cost[node] + (edit is not None)
                if price <= min(self.budget, cost.get(after, self.budget + 1) - 1):
                    cost[after], before[after] = price, (node, edit)
                    (waiting.append if edit else waiting.appendleft)(after)
        return None

    def _steps(self, word: Sequence[int], i: int, state: int) -> Iterator[tuple[Node, Edit | None]]:
        """What can be done at a position in a state, and the node it leads to."""
        symbols, moves = self.dfa.alphabet, self._moves[state]
        if "insert" in self.kinds:
            for column in self._apart[state]:
                yield (i, moves[column]), Edit(kind="insert", position=i, new=symbols[column])
        if i == len(word):
            return
        own = symbols[word[i]]
        if "delete" in self.kinds:
            yield (i + 1, state), Edit(kind="delete", position=i, old=own)
        if "substitute" in self.kinds:
            for column in self._apart[state]:
                if column != word[i]:
                    edit = Edit(kind="substitute", position=i, old=own, new=symbols[column])
                    yield (i + 1, moves[column]), edit
        yield (i + 1, moves[word[i]]), None


def robustness(
    model: Model,
    sequence: Word,
    *,
    edits: int = 1,
    kinds: Collection[str] = KINDS,
    certificate: Certificate | None = None,
) -> Robustness:
    """Decide whether edits of at most so many symbols can change the label of a sequence.

    Each symbol is kept, substituted or deleted, and symbols may be inserted; `kinds` says which.
    The model needs a proof: `certificate` is verified, without one the model is certified first.
    """
    if certificate is not None:
        dfa = require(model, certificate)
    else:
        outcome = certify(model)
        if not isinstance(outcome, Certificate):
            raise ExtractionError(f"robustness needs a proof of the model, got none: {outcome}")
        dfa = outcome.dfa
    return EditSearch(dfa, edits=edits, kinds=kinds)(sequence)

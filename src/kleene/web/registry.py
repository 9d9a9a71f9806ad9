"""The models and automata of a server, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kleene.automata import DFA
from kleene.machine import Word
from kleene.model import Model
from kleene.web.entries import Automaton, Entry, Network


@dataclass(frozen=True)
class ModelRegistry:
    """All entries by name, the first being the one meant when none is named."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    @classmethod
    def load(cls, paths: Sequence[Path], words: Sequence[Any] = ()) -> ModelRegistry:
        """Load models (folders) and automata (JSON files)."""
        entries: dict[str, Entry] = {}
        for path in paths:
            name = _free(path.resolve().name.removesuffix(".json") or "model", entries)
            if path.is_file():
                entries[name] = Automaton(name, DFA.load(path))
            else:
                model = Model.load(path)
                entries[name] = Network(name, model, _known(model, words))
        return cls(entries)

    def __getitem__(self, name: str | None) -> Entry:
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            listed = ", ".join(self.entries)
            raise KeyError(f"no model {name[:80]!r} here; there is {listed}")
        return self.entries[name]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())


def _known(model: Model, words: Sequence[Any]) -> list[Word]:
    split = model.words(list(words))
    kept = [tuple(s for s in word if s in model.alphabet) for word in split]
    return ["".join(map(str, w)) for w in kept] if model.tokens == "chars" else list(kept)


def _free(name: str, taken: Mapping[str, Any]) -> str:
    """A name that no other entry has."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free

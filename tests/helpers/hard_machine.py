"""A memory-less network in hard mode as a `Machine`, stepped by the network itself."""

from __future__ import annotations

from collections.abc import Hashable

import torch

from kleene.automata.symbols import unknown_symbol
from kleene.data.alphabet import START, Alphabet
from kleene.machine import Label, Symbol
from kleene.model import Model
from kleene.passes.table import require_memoryless


class HardMachine:
    """A memory-less network in hard mode as a `Machine`, stepped by the network itself."""

    def __init__(self, model: Model) -> None:
        require_memoryless(model)
        self._model = model

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        """The symbols of the model."""
        return self._model.alphabet.symbols

    def start(self) -> Hashable:
        """The states after the start token."""
        return self._advance(None, START)

    def step(self, state: Hashable, symbol: Symbol) -> Hashable:
        """The states after one more symbol."""
        if symbol not in self._model.columns:
            raise unknown_symbol(symbol, self.alphabet)
        return self._advance(state, Alphabet.ids(self._model.columns[symbol]))

    def output(self, state: Hashable) -> Label:
        """The class of words that end in the states."""
        network = self._model.network
        with torch.inference_mode():
            scores = network.classify_states(torch.tensor([state], device=network.device))
        return self._model.classes[int(scores.argmax())]

    def _advance(self, state: Hashable | None, token: int) -> Hashable:
        network = self._model.network
        states = None if state is None else torch.tensor([state], device=network.device)
        with torch.inference_mode():
            _, after = network.advance(states, torch.tensor([token], device=network.device))
        return tuple(after[0].tolist())

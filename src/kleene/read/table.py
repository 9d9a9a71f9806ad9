"""Read the transition table off the network itself: no data, one batched step.

For a memory-less network in hard mode the next state depends on the state and the symbol alone
(Theorem 2), so that stepping from every state on every symbol gives the whole machine.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.alphabet import SPECIALS, START
from kleene.errors import ReadingError
from kleene.machine import Label, Symbol
from kleene.model import Model


@dataclass(frozen=True, kw_only=True)
class Table:
    """The machine inside a network: its states, where they lead, and how sure the network is."""

    states: tuple[tuple[int, ...], ...]
    """The global states reached from the start, each with one centroid per layer."""
    dfa: DFA
    probs: NDArray[np.float32]
    """Transition probabilities of the top layer, (state, symbol, centroid)."""
    start_probs: NDArray[np.float32]
    """Probabilities of the top layer after the start token, (centroid,)."""


def require_memoryless(model: Model) -> None:
    """A table needs states that say everything: no memory beside them, and the last one decides."""
    rnn, config = model.network.rnn, model.network.config
    if not rnn.num_states:
        raise ReadingError(
            "this network has no centroids (num_states=0), so it has no table of states; "
            "use the method kmeans or lstar"
        )
    if rnn.cell.has_memory:
        raise ReadingError(
            f"the cell {rnn.cell.name} carries a memory beside its state, so the next state does "
            "not follow from state and symbol alone; use the method counts or mean on words, or "
            "lstar, or train a gru"
        )
    if config.pooling != "last":
        raise ReadingError(
            f"this network pools its steps ({config.pooling}), so the last state does not decide; "
            "train with pooling='last', or use the method lstar"
        )


def read_table(model: Model) -> Table:
    """The machine of a memory-less network in hard mode, states reached from the start only."""
    require_memoryless(model)
    network, symbols = model.network, model.alphabet.symbols
    tokens = torch.arange(len(symbols), device=network.device) + len(SPECIALS)
    network.eval()
    with torch.inference_mode():
        start_probs, start = network.advance(None, tokens.new_tensor([START]))
        index = {tuple(start[0].tolist()): 0}
        rows, probs, new = [], [], [tuple(start[0].tolist())]
        while new:
            here = torch.tensor(new, device=network.device).repeat_interleave(len(symbols), 0)
            layers, after = network.advance(here, tokens.repeat(len(new)))
            probs.append(layers[-1].reshape(len(new), len(symbols), -1).cpu().numpy())
            targets = [tuple(row) for row in after.tolist()]
            new = []
            for target in targets:
                if target not in index:
                    index[target] = len(index)
                    new.append(target)
            rows.append(np.array([index[t] for t in targets]).reshape(-1, len(symbols)))
        states = torch.tensor(list(index), device=network.device)
        outputs = network.classify_states(states).argmax(-1).tolist()
    return Table(
        states=tuple(index),
        dfa=DFA(
            alphabet=symbols,
            transitions=np.concatenate(rows).astype(np.int32),
            outputs=tuple(model.classes[i] for i in outputs),
            names=tuple("/".join(map(str, state)) for state in index),
        ),
        probs=np.concatenate(probs),
        start_probs=start_probs[-1][0].cpu().numpy(),
    )


class HardMachine:
    """A memory-less network in hard mode as a `Machine`, stepped by the network itself."""

    def __init__(self, model: Model) -> None:
        require_memoryless(model)
        self._model = model
        self._columns = {symbol: i for i, symbol in enumerate(model.alphabet.symbols)}

    @property
    def alphabet(self) -> tuple[Symbol, ...]:
        """The symbols of the model."""
        return self._model.alphabet.symbols

    def start(self) -> Hashable:
        """The states after the start token."""
        return self._advance(None, START)

    def step(self, state: Hashable, symbol: Symbol) -> Hashable:
        """The states after one more symbol."""
        return self._advance(state, self._columns[symbol] + len(SPECIALS))

    def output(self, state: Hashable) -> Label:
        """The class of words that end in the states."""
        with torch.inference_mode():
            scores = self._model.network.classify_states(torch.tensor([state]))
        return self._model.classes[int(scores.argmax())]

    def _advance(self, state: Hashable | None, token: int) -> Hashable:
        states = None if state is None else torch.tensor([state])
        with torch.inference_mode():
            _, after = self._model.network.advance(states, torch.tensor([token]))
        return tuple(after[0].tolist())

"""The transition table of the network itself: no data, one batched step.

For a memory-less network in hard mode the next state depends on the state and the symbol alone
(Theorem 2), so one step from every state on every symbol gives the whole machine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.alphabet import START, Alphabet
from kleene.errors import ExtractionError
from kleene.model import Model
from kleene.nn.mode import inference

MAX_PROBABILITIES = 20_000_000
"""Larger arrays of probabilities are not kept."""
MAX_ROWS = 50_000  # states and symbols stepped at once


@dataclass(frozen=True, kw_only=True)
class NetworkTable:
    """The machine inside a network: its states, where they lead, and how sure the network is."""

    states: tuple[tuple[int, ...], ...]
    """The global states reached from the start, each with one centroid per layer."""
    dfa: DFA
    probs: NDArray[np.float32] | None
    """Transition probabilities of the top layer, (state, symbol, centroid); None if too many."""
    start_probs: NDArray[np.float32]
    """Probabilities of the top layer after the start token, (centroid,)."""


def require_memoryless(model: Model) -> None:
    """A table needs states that say everything: no memory beside them, and the last one decides."""
    rnn, config = model.network.rnn, model.network.config
    if not rnn.num_states:
        raise ExtractionError(
            "this network has no centroids (num_states=0), so it has no table of states; "
            "use the method lstar"
        )
    if rnn.cell.has_memory:
        raise ExtractionError(
            f"the cell {rnn.cell.name} carries a memory beside its state, so the next state does "
            "not follow from state and symbol alone; use the method counts or mean on words, or "
            "lstar, or train a gru"
        )
    if config.pooling != "last":
        raise ExtractionError(
            f"this network pools its steps ({config.pooling}), so the last state does not decide; "
            "train with pooling='last', or use the method lstar"
        )


def transition_table(model: Model) -> NetworkTable:
    """The machine of a memory-less network in hard mode, states reached from the start only."""
    require_memoryless(model)
    network, symbols = model.network, model.alphabet.symbols
    tokens = Alphabet.ids(torch.arange(len(symbols), device=network.device))
    with inference(network), torch.inference_mode():
        start_probs, start = network.advance(None, tokens.new_tensor([START]))
        index = {tuple(start[0].tolist()): 0}
        rows, probs, kept = [], [], 0
        waiting, most = [tuple(start[0].tolist())], max(1, MAX_ROWS // len(symbols))
        while waiting:
            new, waiting = waiting[:most], waiting[most:]
            here = torch.tensor(new, device=network.device).repeat_interleave(len(symbols), 0)
            layers, after = network.advance(here, tokens.repeat(len(new)))
            kept += layers[-1].numel()
            if kept <= MAX_PROBABILITIES:
                probs.append(layers[-1].reshape(len(new), len(symbols), -1).cpu().numpy())
            found, which = _in_order(after.cpu().numpy())
            for target in found:
                if target not in index:
                    index[target] = len(index)
                    waiting.append(target)
            numbers = np.array([index[target] for target in found])
            rows.append(numbers[which].reshape(-1, len(symbols)))
        states = torch.tensor(list(index), device=network.device)
        outputs = network.classify_states(states).argmax(-1).tolist()
    return NetworkTable(
        states=tuple(index),
        dfa=DFA(
            alphabet=symbols,
            transitions=np.concatenate(rows).astype(np.int32),
            outputs=tuple(model.classes[i] for i in outputs),
            names=tuple("/".join(map(str, state)) for state in index),
        ),
        probs=np.concatenate(probs) if kept <= MAX_PROBABILITIES else None,
        start_probs=start_probs[-1][0].cpu().numpy(),
    )


def _in_order(rows: NDArray[np.int64]) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """The different rows in the order of their first appearance, and the number of each row."""
    kinds, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return [tuple(row) for row in kinds[order].tolist()], rank[which.reshape(-1)]

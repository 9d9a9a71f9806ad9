"""Saturated LSTM gates for counting: open forget gates at the start, sharp gates at the end.

A counter drifts as long as its gates are only nearly 0 and nearly 1. Once all training words are
right, no gradient is left to close them. But scaling what the gates see of symbol and state,

    sigma(W x + R h + b + p c)  ->  sigma(f (W x + R h + b) + p c),

is scaling rows of W, R and b, and moves all gates towards 0 and 1 at once: annealing for gates, as
lowering the temperature is for states. Peepholes keep their size, so that a memory larger than any
seen in training (that of a deeper word) does not outvote symbol and state. A network sharpened a
little, trained for an epoch, sharpened again, ends up counting in whole steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from kleene.data.examples import Examples
from kleene.errors import SettingError
from kleene.nn.classifier import Classifier
from kleene.nn.state_regularized import StateRegularized
from kleene.training.stages import Stage


def set_forget_bias(network: Classifier, value: float = 1.0) -> None:
    """Set the bias of the forget gates so that they keep memory (Gers et al., 2000)."""
    rnn = _lstm(network)
    forget = slice(rnn.hidden_size, 2 * rnn.hidden_size)
    with torch.no_grad():
        for layer in range(rnn.num_layers):
            rnn.get_parameter(f"bias_ih_l{layer}")[forget] = value
            rnn.get_parameter(f"bias_hh_l{layer}")[forget] = 0.0


def sharpen_gates(network: Classifier, factor: float = 1.3) -> None:
    """Sharpen the input and forget gates and what is written: i, f and g, not the output gate.

    Peepholes stay as they are: scaled along, they close forget gates on words that are deeper than
    those of the training set.
    """
    if not factor > 0:
        raise SettingError(f"factor must be > 0, got {factor}; 1.3 sharpens a little")
    rnn = _lstm(network)
    rows = slice(0, 3 * rnn.hidden_size)
    with torch.no_grad():
        for layer in range(rnn.num_layers):
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                rnn.get_parameter(f"{name}_l{layer}")[rows] *= factor


def sharpening_stages(
    stage: Stage, *, rounds: int = 6, factor: float = 1.3, cooling: float = 0.8
) -> Sequence[Stage]:
    """Rounds of a stage, before each of which gates are sharpened and states cooled."""

    def prepare(network: Classifier, examples: Examples, seed: int) -> None:
        sharpen_gates(network, factor)
        if network.rnn.num_states:
            network.rnn.temperature *= cooling

    return [replace(stage, name=f"sharpen gates {i + 1}", prepare=prepare) for i in range(rounds)]


def _lstm(network: Classifier) -> StateRegularized:
    rnn = network.rnn
    if not rnn.cell.has_memory or not rnn.bias:
        raise SettingError(
            f"sharpening gates needs cell lstm or lstm-p with biases, got {rnn.cell.name}"
        )
    return rnn

"""`StateRegularized`: layers of one cell, each followed by its stochastic component."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch._compile import _disable_dynamo
from torch.nn.utils.rnn import PackedSequence

from kleene.errors import SettingError
from kleene.nn.cells import Cell
from kleene.nn.mode import OWN, Mode
from kleene.nn.packing import Initial, Packed, pack, reversal
from kleene.nn.recurrence import Component, Gates, Projected, Recurrence, Scan
from kleene.nn.scan import scan
from kleene.nn.similarity import Similarity, dot
from kleene.nn.trace import Trace, make_trace
from kleene.nn.transition import Transition, mixture

NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "peephole", "centroids", "log_temperature")
"""The weights of a layer, before the layer's number."""


class StateRegularized(nn.Module):
    """Layers of one cell, each followed by its own stochastic component; abstract.

    u_t = f(h_{t-1}, c_{t-1}, x_t),  alpha = softmax(similarity(u_t, S) / tau),  h_t = h(alpha, S)

    Args:
        cell: f, one step.
        input_size: the size of the input vectors.
        hidden_size: the size of the hidden vectors and centroids.
        num_layers: layers on top of each other, each with its own centroids.
        bias: whether the cell has the biases b_ih and b_hh.
        batch_first: whether tensors are (batch, time, size) instead of (time, batch, size).
        dropout: on the output of every layer but the last, while training.
        bidirectional: whether a second cell, with centroids of its own, reads from right to left;
            layers then count twice in the arguments `layer` of methods: 2 i + 1 is the reverse of
            layer i.
        num_states: the number of centroids; 0 for the plain network.
        transition: how the probabilities of the states become the next hidden vector.
        similarity: how near a vector is to a centroid.
        temperature: tau of the softmax.
        learn_temperature: whether tau is a parameter of the training.
        device: where the weights are.
        dtype: the type of the weights.
    """

    def __init__(
        self,
        cell: Cell,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        num_states: int = 10,
        transition: Transition = mixture,
        similarity: Similarity = dot,
        temperature: float = 1.0,
        learn_temperature: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        sizes = {"input_size": input_size, "hidden_size": hidden_size, "num_layers": num_layers}
        for name, value in {**sizes, "num_states": num_states}.items():
            if value < (name in sizes):
                raise SettingError(f"{name} must be at least {int(name in sizes)}, got {value}")
        self.cell, self.input_size, self.hidden_size = cell, input_size, hidden_size
        self.num_layers, self.bias, self.batch_first = num_layers, bias, batch_first
        self.dropout, self.bidirectional = float(dropout), bidirectional
        self.num_states, self.transition, self.similarity = num_states, transition, similarity

        def parameter(name: str, *shape: int) -> None:
            weight = torch.empty(shape, device=device, dtype=dtype)
            self.register_parameter(name, nn.Parameter(weight))

        rows, directions = cell.gates * hidden_size, 1 + bidirectional
        for layer in self.layers:
            own = self._suffix(layer)
            below = input_size if layer < directions else directions * hidden_size
            parameter(f"weight_ih{own}", rows, below)
            parameter(f"weight_hh{own}", rows, hidden_size)
            if bias:
                parameter(f"bias_ih{own}", rows)
                parameter(f"bias_hh{own}", rows)
            if cell.peepholes:
                parameter(f"peephole{own}", cell.peepholes, hidden_size)
            if num_states:
                parameter(f"centroids{own}", num_states, hidden_size)
                parameter(f"log_temperature{own}")
                self.get_parameter(f"log_temperature{own}").requires_grad_(learn_temperature)
        self.reset_parameters()
        self.temperature = temperature

    def reset_parameters(self) -> None:
        """Weights uniform in +-1/sqrt(hidden_size), as in torch; centroids in [-0.5, 0.5]."""
        bound = 1 / math.sqrt(self.hidden_size)
        for name, weight in self.named_parameters():
            if name.startswith("log_temperature"):
                nn.init.zeros_(weight)
            elif name.startswith("centroids"):
                nn.init.uniform_(weight, -0.5, 0.5)
            else:
                nn.init.uniform_(weight, -bound, bound)

    @property
    def layers(self) -> range:
        """The numbers of the layers, each direction counted."""
        return range(self.num_layers * (1 + self.bidirectional))

    def _suffix(self, layer: int) -> str:
        """The end of the names of a layer's weights, as in torch."""
        if not self.bidirectional:
            return f"_l{layer}"
        return f"_l{layer // 2}_reverse" if layer % 2 else f"_l{layer // 2}"

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of every layer and direction, as in torch; centroids included."""
        return [
            [
                self._weight(name, layer)
                for name in NAMES
                if hasattr(self, name + self._suffix(layer))
            ]
            for layer in self.layers
        ]

    @property
    def temperature(self) -> float:
        """Tau of the paper; setting it sets every layer's. (The mean, where layers differ.)"""
        if not self.num_states:
            return 1.0
        logs = [self._weight("log_temperature", layer).item() for layer in self.layers]
        return sum(math.exp(min(log, 700.0)) for log in logs) / len(logs)

    @temperature.setter
    def temperature(self, value: float) -> None:
        if not value > 0:
            raise SettingError(f"temperature must be > 0, got {value}")
        for layer in self.layers if self.num_states else ():
            with torch.no_grad():
                self._weight("log_temperature", layer).fill_(math.log(value))

    def centroids(self, layer: int = 0) -> Tensor:
        """The centroids of a layer, (state, hidden)."""
        if not self.num_states:
            raise SettingError("this network has no centroids; build it with num_states > 0")
        return self._weight("centroids", layer)

    def _weight(self, name: str, layer: int) -> Tensor:
        """A parameter, or what a parametrisation has put in its place."""
        name += self._suffix(layer)
        weight = self._parameters.get(name)  # quicker than by attribute
        return getattr(self, name) if weight is None else weight

    def recurrence(self, layer: int, mode: Mode = OWN) -> Recurrence:
        """The recurrent half of a layer, as the scan takes it."""
        component = None
        if mode.regularized and self.num_states:
            component = Component(
                centroids=self.centroids(layer),
                temperature=self._weight("log_temperature", layer).exp(),
                similarity=self.similarity,
                transition=mode.transition or self.transition,
                noise=self.training if mode.noise is None else mode.noise,
                blend=mode.blend,
            )
        return Recurrence(
            cell=self.cell,
            weight=self._weight("weight_hh", layer),
            bias=self._weight("bias_hh", layer) if self.bias else None,
            peephole=self._weight("peephole", layer) if self.cell.peepholes else None,
            component=component,
            hidden_noise=mode.hidden_noise,
        )

    def inputs(self, x: Tensor, layer: int = 0) -> Projected:
        """W x + b_ih of a layer, not yet computed: the scan may fold it into its loop."""
        bias = self._weight("bias_ih", layer) if self.bias else None
        return Projected(x=x, weight=self._weight("weight_ih", layer), bias=bias)

    def project(self, x: Tensor, layer: int = 0) -> Tensor:
        """W x + b_ih of a layer, (..., size) -> (..., gates*hidden)."""
        return self.inputs(x, layer).gates()

    def zeros(self, batch: int) -> Tensor:
        """The initial hidden vectors, (batch, hidden)."""
        weight = self._weight("weight_hh", 0)
        return weight.new_zeros(batch, self.hidden_size)

    def scan_layers(
        self,
        inputs: Gates,  # steps gates*hidden, the first layer's projected input
        batch_sizes: Sequence[int],
        hidden: Sequence[Tensor],
        memory: Sequence[Tensor | None],
        *,
        mode: Mode = OWN,
        with_hidden: bool = False,
    ) -> list[Scan]:
        """Run all layers over packed input, the outputs of one being the input of the next.

        `with_hidden` announces that the hidden vectors of the top layer will be used.
        """
        drops = self.training if mode.dropout is None else mode.dropout
        directions = 1 + self.bidirectional
        backwards = reversal(batch_sizes) if self.bidirectional else None
        scans: list[Scan] = []
        for layer in self.layers:
            order = backwards if layer % 2 else None  # None from left to right
            if order is not None:
                assert isinstance(inputs, Projected)
                inputs = self.inputs(inputs.x[order], layer)
            elif layer:
                below = torch.cat([one.hidden for one in scans[-directions:]], -1)
                inputs = self.inputs(nn.functional.dropout(below, self.dropout, drops), layer)
            recurrence = self.recurrence(layer, mode)
            h, c = hidden[layer], memory[layer]
            needed = with_hidden or layer + directions < len(self.layers)
            found = scan(recurrence, inputs, batch_sizes, h, c, with_hidden=needed)
            scans.append(found if order is None else found.reordered(order))
        return scans

    def end(
        self, x: Tensor, hidden: Sequence[Tensor], memory: Sequence[Tensor | None]
    ) -> tuple[Tensor, Tensor | None]:
        """One more step of all layers without the stochastic component: the top's u and c."""
        c = None
        for layer in range(self.num_layers):
            x_gates = self.project(x, layer).expand(hidden[layer].shape[0], -1)
            x, c = self.recurrence(layer).end(x_gates, hidden[layer], memory[layer])
        return x, c

    def forward(
        self, input: Tensor | PackedSequence, hx: Initial = None, *, mode: Mode = OWN
    ) -> tuple[Tensor | PackedSequence, Any]:
        """As `torch.nn.RNN`, `GRU` and `LSTM`: the outputs of all steps, and the last state."""
        # torch.compile takes minutes for a graph of all steps. (torch 2.6 has no is_exporting.)
        exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)
        if torch.compiler.is_dynamo_compiling() and not exporting():
            return self._forward_eagerly(input, hx, mode)
        return self._forward(input, hx, mode)

    def _forward(
        self, input: Tensor | PackedSequence, hx: Initial, mode: Mode
    ) -> tuple[Tensor | PackedSequence, Any]:
        packed, scans = self._run(input, hx, mode, with_hidden=True)
        top = scans[-1 - self.bidirectional :]
        hidden = torch.cat([one.hidden for one in top], -1) if len(top) > 1 else top[0].hidden
        output = packed.restore(hidden, self.batch_first)
        last = packed.restore_state([s.last_hidden for s in scans])
        if not self.cell.has_memory:
            return output, last
        return output, (last, packed.restore_state([s.last_memory for s in scans]))

    # Unlike torch.compiler.disable, this imports the compiler only when it is called.
    _forward_eagerly = _disable_dynamo(_forward)

    def trace(
        self, input: Tensor | PackedSequence, hx: Initial = None, *, mode: Mode = OWN
    ) -> Trace:
        """The record of one pass over the input, always (batch, time, ...).

        With `bidirectional` it is of the cells that read from left to right, and `trace.reverse` of
        the others.
        """
        packed, scans = self._run(input, hx, mode)
        order = packed.batch_sizes, packed.unsorted
        if not self.bidirectional:
            return make_trace(scans, *order)
        return replace(make_trace(scans[::2], *order), reverse=make_trace(scans[1::2], *order))

    def _run(
        self,
        input: Tensor | PackedSequence,
        hx: Initial,
        mode: Mode,
        with_hidden: bool = False,
    ) -> tuple[Packed, list[Scan]]:
        packed = pack(input, self.batch_first, self.input_size)
        shape = (len(self.layers), packed.batch, self.hidden_size)
        start = packed.initial(hx, self.zeros, shape, self.cell.has_memory)
        inputs, sizes = self.inputs(packed.data), packed.batch_sizes
        return packed, self.scan_layers(inputs, sizes, *start, mode=mode, with_hidden=with_hidden)

    def flatten_parameters(self) -> None:
        """Nothing to do; here so that code written for `torch.nn.LSTM` runs unchanged."""

    def extra_repr(self) -> str:
        """The settings that differ from torch's."""
        text = f"{self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"
        text += ", bidirectional=True" if self.bidirectional else ""
        if self.num_states:
            text += f", num_states={self.num_states}, transition={self.transition.name}"
            text += f", similarity={self.similarity.name}"
            if not self._weight("log_temperature", 0).is_meta:
                text += f", temperature={self.temperature:g}"
        return text

    def __prepare_scriptable__(self) -> NoReturn:
        """Called by `torch.jit.script`, which knows neither protocols nor dataclasses."""
        raise SettingError(
            "torch.jit.script is not supported; use torch.export.export or torch.jit.trace"
        )

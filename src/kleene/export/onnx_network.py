"""A classifier as an ONNX graph: words of any number and length in, scores out.

The recurrence is the one of `scan`, in centroid space, as ONNX's own loop over a padded batch: the
weights w of the centroids are carried, zero at the start, so that R h + b = w (S R^T) + b there
too. Past the end of a word a row keeps its state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from kleene.data.alphabet import END, START
from kleene.errors import SettingError
from kleene.export.onnx_graph import Graph, tensor
from kleene.nn.cells import GRU, LSTM, Elman
from kleene.nn.classifier import Classifier
from kleene.nn.pooling import MAX_SCALE, MEAN_SCALE
from kleene.nn.recurrence import Recurrence
from kleene.nn.similarity import Cosine
from kleene.nn.transition import Gumbel, Sample, SoftArgmax

FLOAT = 1  # ONNX's number of float32


def to_onnx(network: Classifier, about: Mapping[str, Any]) -> bytes:
    """The file of a network, as it runs in eval mode; `about` goes into the file's metadata.

    Inputs are `ids`, (batch, time), padded with any id, or `vectors`, (batch, time, size), and
    `lengths`, (batch,). Outputs are `scores` and `probabilities`, (batch, class), and, if the
    network has states, the `states` of the top layer, (batch, time + 1): the first is the state
    after the start token, and -1 marks the padding.
    """
    if isinstance(network.rnn.transition, Sample):
        raise SettingError(
            "ONNX export needs a deterministic transition, got 'sample'; "
            "set network.rnn.transition to soft_argmax or mixture first"
        )
    return _Export(network).model(about)


@dataclass(frozen=True, kw_only=True)
class _Layer:
    """The constants of one layer, by their names in the graph."""

    recurrence: Recurrence
    size: int
    """Size of what is carried: weights of the centroids, or the hidden vector itself."""
    hidden_weight: str  # size gates*hidden
    hidden_bias: str  # gates*hidden
    input_weight: str  # input gates*hidden
    input_bias: str  # gates*hidden
    centroids: str | None  # state hidden
    peephole: list[str]


class _Export:
    def __init__(self, network: Classifier) -> None:
        self.network, self.graph = network, Graph()
        self.layers = [self._layer(i) for i in range(network.rnn.num_layers)]
        self.batch = self.graph("Shape", "lengths")  # (1,), the number of words

    def _layer(self, layer: int) -> _Layer:
        rnn, graph = self.network.rnn, self.graph
        recurrence = rnn.recurrence(layer)
        component, zeros = recurrence.component, np.zeros(recurrence.weight.shape[0])
        R = _array(recurrence.weight).T
        S = None if component is None else _array(component.centroids)
        inputs = rnn.inputs(rnn.zeros(1), layer)  # for its weights alone
        return _Layer(
            recurrence=recurrence,
            size=len(R) if S is None else len(S),
            hidden_weight=graph.constant(R if S is None else S @ R),
            hidden_bias=graph.constant(_array(recurrence.bias, zeros)),
            input_weight=graph.constant(_array(inputs.weight).T),
            input_bias=graph.constant(_array(inputs.bias, zeros)),
            centroids=None if S is None else graph.constant(S),
            peephole=[graph.constant(row) for row in _array(recurrence.peephole, np.zeros(0))],
        )

    def model(self, about: Mapping[str, Any]) -> bytes:
        config, graph, head = self.network.config, self.graph, self.network.head
        if config.num_symbols:
            words = tensor("ids", np.int64, "batch", "time")
        else:
            words = tensor("vectors", np.float32, "batch", "time", config.input_size)
        over_time, mask = self._inputs()
        carried, memories, memory = [], [], ""
        for layer in self.layers:
            weights, last, memory, last_memory = self._run(layer, over_time, mask)
            over_time = self._hidden(layer, weights)
            carried.append(last)
            memories.append(last_memory)
        if config.pooling == "last":
            features = self._last(carried, memories)
        elif config.pooling == "states":
            features = [
                graph("Mul", self._pool(weights, mask, how), graph.constant(scale))
                for how, scale in (("mean", MEAN_SCALE), ("max", MAX_SCALE))
            ]
        else:
            parts = [part for part in (over_time, memory) if part]
            features = [self._pool(part, mask, config.pooling) for part in parts]
        joined = graph("Concat", *features, axis=-1)
        product = graph("MatMul", joined, graph.constant(_array(head.weight).T))
        scores = graph("Add", product, graph.constant(_array(head.bias)))
        shape = (np.float32, "batch", config.num_classes)
        outputs = [
            graph.output(scores, "scores", *shape),
            graph.output(graph("Softmax", scores, axis=-1), "probabilities", *shape),
        ]
        if self.layers[-1].centroids is not None:
            states = graph("ArgMax", weights, axis=-1, keepdims=1)
            real = graph("Where", mask, states, graph.integer(-1))
            states = graph("Transpose", graph("Squeeze", real, graph.integer([2])), perm=[1, 0])
            outputs.append(graph.output(states, "states", np.int64, "batch", "steps"))
        inputs = [words, tensor("lengths", np.int64, "batch")]
        return graph.model("classifier", inputs, outputs, about)

    def _inputs(self) -> tuple[str, str]:
        """Vectors of the start token and the symbols, time first, and which of them are real."""
        config, graph, one = self.network.config, self.graph, self.graph.integer([1])
        vectors = _array(self.network.embedding.weight)
        if config.num_symbols:
            start = graph.integer([[START]])
            first = graph("Expand", start, graph("Concat", one, self.batch, axis=0))
            ids = graph("Concat", first, graph("Transpose", "ids", perm=[1, 0]), axis=0)
            x = graph("Gather", graph.constant(vectors), ids, axis=0)
        else:
            shape = graph("Concat", one, self.batch, graph.integer([config.input_size]), axis=0)
            first = graph("Expand", graph.constant(vectors[START][None, None]), shape)
            x = graph("Concat", first, graph("Transpose", "vectors", perm=[1, 0, 2]), axis=0)
        steps = graph("Gather", graph("Shape", x), graph.integer(0), axis=0)
        count = graph("Range", graph.integer(0), steps, graph.integer(1))
        mask = graph("LessOrEqual", graph("Unsqueeze", count, one), "lengths")  # step 0: start
        return x, graph("Unsqueeze", mask, graph.integer([2]))  # (steps, batch, 1)

    def _run(self, layer: _Layer, x: str, mask: str) -> tuple[str, str, str, str]:
        """One layer along time: what it carried at every step and last; its memory likewise."""
        graph, cell = self.graph, layer.recurrence.cell
        x_gates = graph("Add", graph("MatMul", x, layer.input_weight), layer.input_bias)

        def turn(body: Graph, before: list[str], given: list[str]) -> tuple[list[str], list[str]]:
            u, c = self._step(body, layer, given[0], before[0], *before[1:])
            new = [self._weights(body, layer, u), *([c] if c else [])]
            pairs = zip(new, before, strict=True)
            after = [body("Where", given[1], one, other) for one, other in pairs]
            return after, after

        sizes = [layer.size, *([self.network.rnn.hidden_size] if cell.has_memory else [])]
        starts = [(self._zeros(size), np.float32) for size in sizes]
        inputs = [(x_gates, np.float32), (mask, np.bool_)]
        last, every = graph.scan(turn, starts, inputs, [np.float32 for _ in sizes])
        return every[0], last[0], (*every, "")[1], (*last, "")[1]

    def _step(
        self, graph: Graph, layer: _Layer, x_gates: str, carried: str, memory: str = ""
    ) -> tuple[str, str]:
        """u and c of one cell application, from what is carried: the equations of `cells`."""
        h_gates = graph("Add", graph("MatMul", carried, layer.hidden_weight), layer.hidden_bias)
        cell = layer.recurrence.cell
        if isinstance(cell, Elman):
            phi = "Tanh" if cell.nonlinearity == "tanh" else "Relu"
            return graph(phi, graph("Add", x_gates, h_gates)), ""
        if isinstance(cell, GRU):
            return _gru(graph, x_gates, h_gates, self._hidden(layer, carried, graph)), ""
        if isinstance(cell, LSTM):
            return _lstm(graph, graph("Add", x_gates, h_gates), memory, layer.peephole)
        raise SettingError(
            "the cell must be one of rnn, rnn-relu, gru, lstm, lstm-p to be exported to ONNX, "
            f"got {cell.name!r}; add it to kleene.export.onnx_network"
        )

    def _weights(self, graph: Graph, layer: _Layer, u: str) -> str:
        """The next weights of the centroids; u itself where there are none."""
        component = layer.recurrence.component
        if component is None:
            return u
        keys, offsets = component.similarity.keys(component.centroids)
        if isinstance(component.similarity, Cosine):
            norm = graph("ReduceL2", u, graph.integer([-1]), keepdims=1)
            u = graph("Div", u, graph("Max", norm, graph.constant(1e-12)))
        scores = graph("MatMul", u, graph.constant(_array(keys).T))
        if offsets is not None:
            scores = graph("Add", scores, graph.constant(_array(offsets)))
        transition = component.transition
        if isinstance(transition, SoftArgmax) or (
            isinstance(transition, Gumbel) and transition.hard
        ):
            depth, values = graph.integer(component.num_states), graph.constant([0, 1])
            return graph("OneHot", graph("ArgMax", scores, axis=-1, keepdims=0), depth, values)
        tau = graph.constant(component.temperature.detach().cpu().numpy())
        return graph("Softmax", graph("Div", scores, tau), axis=-1)

    def _last(self, carried: list[str], memories: list[str]) -> list[str]:
        """The features after the last symbol and, where there is one, the end token."""
        graph = self.graph
        if not self.network.config.end_token:
            last = self._hidden(self.layers[-1], carried[-1])
            return [part for part in (last, memories[-1]) if part]
        x, c = graph.constant(_array(self.network.embedding.weight)[END : END + 1]), ""
        for layer, weights, memory in zip(self.layers, carried, memories, strict=True):
            x_gates = graph("Add", graph("MatMul", x, layer.input_weight), layer.input_bias)
            x, c = self._step(graph, layer, x_gates, weights, memory)
        return [part for part in (x, c) if part]

    def _hidden(self, layer: _Layer, carried: str, graph: Graph | None = None) -> str:
        if layer.centroids is None:
            return carried
        return (graph or self.graph)("MatMul", carried, layer.centroids)

    def _pool(self, values: str, mask: str, how: str) -> str:
        """Mean or maximum over the real steps, (steps, batch, size) -> (batch, size)."""
        graph, axis = self.graph, self.graph.integer([0])
        filler = graph.constant(-np.inf if how == "max" else 0)
        real = graph("Where", mask, values, filler)
        if how == "max":
            return graph("ReduceMax", real, axis, keepdims=0)
        count = graph("ReduceSum", graph("Cast", mask, to=FLOAT), axis, keepdims=0)
        return graph("Div", graph("ReduceSum", real, axis, keepdims=0), count)

    def _zeros(self, size: int) -> str:
        graph = self.graph
        shape = graph("Concat", self.batch, graph.integer([size]), axis=0)
        return graph("Expand", graph.constant(0), shape)


def _gru(graph: Graph, x_gates: str, h_gates: str, hidden: str) -> str:
    x_r, x_z, x_n = graph.results("Split", 3, x_gates, axis=-1, num_outputs=3)
    h_r, h_z, h_n = graph.results("Split", 3, h_gates, axis=-1, num_outputs=3)
    r = graph("Sigmoid", graph("Add", x_r, h_r))
    z = graph("Sigmoid", graph("Add", x_z, h_z))
    n = graph("Tanh", graph("Add", x_n, graph("Mul", r, h_n)))
    kept = graph("Mul", graph("Sub", graph.constant(1), z), n)
    return graph("Add", kept, graph("Mul", z, hidden))


def _lstm(graph: Graph, gates: str, memory: str, peephole: list[str]) -> tuple[str, str]:
    a_i, a_f, a_g, a_o = graph.results("Split", 4, gates, axis=-1, num_outputs=4)
    if peephole:
        a_i = graph("Add", a_i, graph("Mul", peephole[0], memory))
        a_f = graph("Add", a_f, graph("Mul", peephole[1], memory))
    kept = graph("Mul", graph("Sigmoid", a_f), memory)
    c = graph("Add", kept, graph("Mul", graph("Sigmoid", a_i), graph("Tanh", a_g)))
    if peephole:
        a_o = graph("Add", a_o, graph("Mul", peephole[2], c))
    return graph("Mul", graph("Sigmoid", a_o), graph("Tanh", c)), c


def _array(value: Tensor | None, otherwise: Any = None) -> Any:
    """A tensor as numbers of double precision, so that products of weights lose nothing."""
    return otherwise if value is None else value.detach().cpu().double().numpy()

"""A classifier as an ONNX graph: words of any number and length in, probabilities out.

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
from kleene.export.onnx_cells import step
from kleene.export.onnx_graph import Graph, tensor
from kleene.nn.classifier import Classifier
from kleene.nn.pooling import MAX_SCALE, MEAN_SCALE
from kleene.nn.recurrence import Component, Recurrence
from kleene.nn.similarity import Cosine
from kleene.nn.transition import Gumbel, Sample, SoftArgmax


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
    """Of what is carried: weights of the centroids, or the hidden vector itself."""
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
        shape = self.graph("Shape", "lengths")
        self.batch = shape  # (1,), the number of words

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
        config, graph = self.network.config, self.graph
        if config.num_symbols:
            words = tensor("ids", np.int64, "batch", "time")
        else:
            words = tensor("vectors", np.float32, "batch", "time", config.input_size)
        x, mask = self._inputs()
        carried, memories, over_time = [], [], x
        memory = ""
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
        head = self.network.head
        joined = graph("Concat", *features, axis=-1)
        product = graph("MatMul", joined, graph.constant(_array(head.weight).T))
        scores = graph("Add", product, graph.constant(_array(head.bias)))
        outputs = [
            graph.output(scores, "scores", np.float32, "batch", config.num_classes),
            graph.output(
                graph("Softmax", scores, axis=-1),
                "probabilities",
                np.float32,
                "batch",
                config.num_classes,
            ),
        ]
        if self.layers[-1].centroids is not None:
            states = self._states(weights, mask)
            outputs.append(graph.output(states, "states", np.int64, "batch", "steps"))
        inputs = [words, tensor("lengths", np.int64, "batch")]
        return graph.model("classifier", inputs, outputs, about)

    def _inputs(self) -> tuple[str, str]:
        """Vectors of the start token and the symbols, time first, and which of them are real."""
        config, graph = self.network.config, self.graph
        vectors = _array(self.network.embedding.weight)
        one = graph.constant([1], np.int64)
        if config.num_symbols:
            start = graph.constant([[START]], np.int64)
            first = graph("Expand", start, graph("Concat", one, self.batch, axis=0))
            ids = graph("Concat", first, graph("Transpose", "ids", perm=[1, 0]), axis=0)
            x = graph("Gather", graph.constant(vectors), ids, axis=0)
        else:
            size = graph.constant([config.input_size], np.int64)
            shape = graph("Concat", one, self.batch, size, axis=0)
            first = graph("Expand", graph.constant(vectors[START][None, None]), shape)
            x = graph("Concat", first, graph("Transpose", "vectors", perm=[1, 0, 2]), axis=0)
        steps = graph("Gather", graph("Shape", x), graph.constant(0, np.int64), axis=0)
        zero, next_ = graph.constant(0, np.int64), graph.constant(1, np.int64)
        time = graph("Unsqueeze", graph("Range", zero, steps, next_), one)  # (steps, 1)
        mask = graph("LessOrEqual", time, "lengths")  # the start token is step 0
        return x, graph("Unsqueeze", mask, graph.constant([2], np.int64))  # (steps, batch, 1)

    def _run(self, layer: _Layer, x: str, mask: str) -> tuple[str, str, str, str]:
        """One layer along time: what it carried at every step and last; its memory likewise."""
        graph, cell = self.graph, layer.recurrence.cell
        product = graph("MatMul", x, layer.input_weight)
        x_gates = graph("Add", product, layer.input_bias)

        def turn(body: Graph, before: list[str], given: list[str]) -> tuple[list[str], list[str]]:
            u, c = self._step(body, layer, given[0], before[0], *before[1:])
            new = [self._weights(body, layer, u), *([c] if c else [])]
            after = [
                body("Where", given[1], one, other) for one, other in zip(new, before, strict=True)
            ]
            return after, after

        sizes = [layer.size, *([self.network.rnn.hidden_size] if cell.has_memory else [])]
        starts = [(self._zeros(size), np.float32) for size in sizes]
        inputs = [(x_gates, np.float32), (mask, np.bool_)]
        last, every = graph.scan(turn, starts, inputs, [np.float32 for _ in sizes])
        return every[0], last[0], (*every, "")[1], (*last, "")[1]

    def _step(
        self, graph: Graph, layer: _Layer, x_gates: str, carried: str, memory: str = ""
    ) -> tuple[str, str | None]:
        """u and c of one cell application, from what is carried."""
        product = graph("MatMul", carried, layer.hidden_weight)
        h_gates = graph("Add", product, layer.hidden_bias)
        cell = layer.recurrence.cell
        hidden = self._hidden(layer, carried, graph) if cell.reads_hidden else ""
        return step(graph, cell, x_gates, h_gates, hidden, memory or None, layer.peephole)

    def _weights(self, graph: Graph, layer: _Layer, u: str) -> str:
        """The next weights of the centroids; u itself where there are none."""
        component = layer.recurrence.component
        if component is None:
            return u
        keys, offsets = component.similarity.keys(component.centroids)
        if isinstance(component.similarity, Cosine):
            norm = graph("ReduceL2", u, graph.constant([-1], np.int64), keepdims=1)
            u = graph("Div", u, graph("Max", norm, graph.constant(1e-12)))
        scores = graph("MatMul", u, graph.constant(_array(keys).T))
        if offsets is not None:
            scores = graph("Add", scores, graph.constant(_array(offsets)))
        if _hard(component):
            values = graph.constant([0, 1])
            depth = graph.constant(component.num_states, np.int64)
            return graph("OneHot", graph("ArgMax", scores, axis=-1, keepdims=0), depth, values)
        tau = graph.constant(component.temperature.detach().cpu().numpy())
        return graph("Softmax", graph("Div", scores, tau), axis=-1)

    def _last(self, carried: list[str], memories: list[str]) -> list[str]:
        """The features after the last symbol and, where there is one, the end token."""
        graph = self.graph
        if not self.network.config.end_token:
            last = self._hidden(self.layers[-1], carried[-1])
            return [part for part in (last, memories[-1]) if part]
        x = graph.constant(_array(self.network.embedding.weight)[END : END + 1])
        c: str | None = None
        for layer, weights, memory in zip(self.layers, carried, memories, strict=True):
            product = graph("MatMul", x, layer.input_weight)
            x_gates = graph("Add", product, layer.input_bias)
            x, c = self._step(graph, layer, x_gates, weights, memory)
        return [part for part in (x, c) if part]

    def _hidden(self, layer: _Layer, carried: str, graph: Graph | None = None) -> str:
        if layer.centroids is None:
            return carried
        return (graph or self.graph)("MatMul", carried, layer.centroids)

    def _pool(self, values: str, mask: str, how: str) -> str:
        """Mean or maximum over the real steps, (steps, batch, size) -> (batch, size)."""
        graph, axis = self.graph, self.graph.constant([0], np.int64)
        if how == "max":
            real = graph("Where", mask, values, graph.constant(-np.inf))
            return graph("ReduceMax", real, axis, keepdims=0)
        total = graph(
            "ReduceSum", graph("Where", mask, values, graph.constant(0)), axis, keepdims=0
        )
        count = graph("ReduceSum", graph("Cast", mask, to=_FLOAT), axis, keepdims=0)
        return graph("Div", total, count)

    def _states(self, weights: str, mask: str) -> str:
        graph = self.graph
        states = graph("ArgMax", weights, axis=-1, keepdims=1)
        real = graph("Where", mask, states, graph.constant(-1, np.int64))
        return graph(
            "Transpose", graph("Squeeze", real, graph.constant([2], np.int64)), perm=[1, 0]
        )

    def _zeros(self, size: int) -> str:
        graph = self.graph
        shape = graph("Concat", self.batch, graph.constant([size], np.int64), axis=0)
        return graph("Expand", graph.constant(0), shape)


_FLOAT = 1  # ONNX's number of float32


def _hard(component: Component) -> bool:
    transition = component.transition
    return isinstance(transition, SoftArgmax) or (
        isinstance(transition, Gumbel) and transition.hard
    )


def _array(value: Tensor | None, otherwise: Any = None) -> Any:
    """A tensor as numbers of double precision, so that products of weights lose nothing."""
    return otherwise if value is None else value.detach().cpu().double().numpy()

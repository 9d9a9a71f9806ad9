"""Build ONNX graphs node by node, for networks and automata.

graph = Graph()
double = graph("Add", "x", "x")
content = graph.model("doubling", [tensor("x", np.float32, "batch")],
                      [graph.output(double, "y", np.float32, "batch")], {})
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from kleene.errors import extra

with extra("onnx"):
    from onnx import checker, helper, numpy_helper

OPSET = 18  # the first in which all reductions take their axes as an input
IR_VERSION = 8  # as old as that opset, so that older runtimes can read the file


class Graph:
    """Nodes and constants in the order in which they were added."""

    def __init__(self, prefix: str = "") -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix, self._count = prefix, 0

    def __call__(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its only result."""
        return self.results(operator, 1, *inputs, **attributes)[0]

    def results(self, operator: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node and return the names of its results."""
        names = [self._name(operator.lower()) for _ in range(count)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Add a constant."""
        name = self._name("constant")
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def integer(self, value: Any) -> str:
        """Add a constant of whole numbers."""
        return self.constant(value, np.int64)

    def scan(
        self,
        step: Callable[[Graph, list[str], list[str]], tuple[list[str], list[str]]],
        carried: Sequence[tuple[str, Any]],
        inputs: Sequence[tuple[str, Any]],
        outputs: Sequence[Any],
    ) -> tuple[list[str], list[str]]:
        """Add a loop over the first axis of the inputs, given as (name, type); `outputs` are types.

        `step(body, carried, inputs)` adds the nodes of one iteration to `body`, and returns the
        names of what is carried on and of the outputs. Returns the names of the last carried values
        and of the outputs of all iterations, stacked.
        """
        body = Graph(f"{self._name('body')}_")
        before = [body._name("carried") for _ in carried]
        given = [body._name("input") for _ in inputs]
        results = [
            [body("Identity", name) for name in names] for names in step(body, before, given)
        ]
        types = [*(dtype for _, dtype in carried), *(dtype for _, dtype in inputs)]
        ends = [*(dtype for _, dtype in carried), *outputs]
        graph = helper.make_graph(
            body.nodes,
            self._name("step"),
            [tensor(n, t) for n, t in zip([*before, *given], types, strict=True)],
            [tensor(n, t) for n, t in zip([*results[0], *results[1]], ends, strict=True)],
            body.constants,
        )
        sources = [name for name, _ in (*carried, *inputs)]
        options = {"body": graph, "num_scan_inputs": len(inputs)}
        names = self.results("Scan", len(ends), *sources, **options)
        return names[: len(carried)], names[len(carried) :]

    def output(self, name: str, public: str, dtype: Any, *shape: str | int) -> Any:
        """Give a result its public name."""
        self.nodes.append(helper.make_node("Identity", [name], [public]))
        return tensor(public, dtype, *shape)

    def model(
        self, name: str, inputs: list[Any], outputs: list[Any], about: Mapping[str, Any]
    ) -> bytes:
        """The contents of the file; `about` goes into its metadata, as JSON, under "kleene"."""
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="kleene"
        )
        helper.set_model_props(made, {"kleene": json.dumps(about)})
        checker.check_model(made)
        content: bytes = made.SerializeToString()
        return content

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}{kind}_{self._count}"


def tensor(name: str, dtype: Any, *shape: str | int) -> Any:
    """The description of an input or output; a name as an axis means any size."""
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, list(shape) or None)

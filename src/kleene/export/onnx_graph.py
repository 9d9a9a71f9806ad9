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
        self.nodes.append(_helper().make_node(operator, inputs, names, **attributes))
        return names

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Add a constant."""
        name = self._name("constant")
        array = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        self.constants.append(_onnx().numpy_helper.from_array(array, name))
        return name

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
        helper, body = _helper(), Graph(f"{self._name('body')}_")
        before = [body._name("carried") for _ in carried]
        given = [body._name("input") for _ in inputs]
        after, out = step(body, before, given)
        after, out = [[body("Identity", name) for name in names] for names in (after, out)]
        types = [dtype for _, dtype in carried]
        graph = helper.make_graph(
            body.nodes,
            self._name("step"),
            [tensor(n, t) for n, t in zip(before, types, strict=True)]
            + [tensor(n, t) for n, (_, t) in zip(given, inputs, strict=True)],
            [tensor(n, t) for n, t in zip(after, types, strict=True)]
            + [tensor(n, t) for n, t in zip(out, outputs, strict=True)],
            body.constants,
        )
        names = self.results(
            "Scan",
            len(carried) + len(outputs),
            *(name for name, _ in carried),
            *(name for name, _ in inputs),
            body=graph,
            num_scan_inputs=len(inputs),
        )
        return names[: len(carried)], names[len(carried) :]

    def output(self, name: str, public: str, dtype: Any, *shape: str | int) -> Any:
        """Give a result its public name."""
        self.nodes.append(_helper().make_node("Identity", [name], [public]))
        return tensor(public, dtype, *shape)

    def model(
        self, name: str, inputs: list[Any], outputs: list[Any], about: Mapping[str, Any]
    ) -> bytes:
        """The contents of the file; `about` goes into its metadata, as JSON, under "kleene"."""
        helper = _helper()
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        made = helper.make_model(
            graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="kleene"
        )
        helper.set_model_props(made, {"kleene": json.dumps(about)})
        _onnx().checker.check_model(made)
        content: bytes = made.SerializeToString()
        return content

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{self._prefix}{kind}_{self._count}"


def tensor(name: str, dtype: Any, *shape: str | int) -> Any:
    """The description of an input or output; a name as an axis means any size."""
    helper = _helper()
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, list(shape) or None)


def _helper() -> Any:
    return _onnx().helper


def _onnx() -> Any:
    with extra("onnx"):
        import onnx
        from onnx import checker, helper, numpy_helper  # noqa: F401  (attributes of the package)
    return onnx

"""The cells as ONNX nodes: the equations of `cells`, in the same order."""

from __future__ import annotations

from kleene.errors import SettingError
from kleene.export.onnx_graph import Graph
from kleene.nn.cells import GRU, LSTM, Cell, Elman


def step(
    graph: Graph,
    cell: Cell,
    x_gates: str,  # batch gates*hidden
    h_gates: str,  # batch gates*hidden
    hidden: str,  # batch hidden
    memory: str | None,  # batch hidden
    peephole: list[str],  # hidden, each
) -> tuple[str, str | None]:
    """Add one application of a cell; the names of u_t and c_t."""
    if isinstance(cell, Elman):
        phi = "Tanh" if cell.nonlinearity == "tanh" else "Relu"
        return graph(phi, graph("Add", x_gates, h_gates)), None
    if isinstance(cell, GRU):
        return _gru(graph, x_gates, h_gates, hidden), None
    if isinstance(cell, LSTM) and memory is not None:
        return _lstm(graph, graph("Add", x_gates, h_gates), memory, peephole)
    raise SettingError(
        "the cell must be one of rnn, rnn-relu, gru, lstm, lstm-p to be exported to ONNX, "
        f"got {cell.name!r}; add it to kleene.export.onnx_cells"
    )


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

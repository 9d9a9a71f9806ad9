"""An automaton as an ONNX graph: words as columns of its alphabet in, labels out.

A symbol outside the alphabet leads to one more state, the trap, which nothing leaves.
"""

from __future__ import annotations

import numpy as np

from kleene.automata import DFA
from kleene.automata.formats.json import to_plain
from kleene.export.onnx_graph import Graph, tensor

FORMAT = "kleene.onnx-dfa/1"


def to_onnx(dfa: DFA) -> bytes:
    """The file of an automaton: `ids`, (batch, time), and `lengths` in, `labels` and `states` out.

    Ids are columns of the alphabet; labels are numbers of the list in the file's metadata, and -1
    for words with other symbols.
    """
    labels = list(dict.fromkeys(dfa.outputs))
    numbers = {label: i for i, label in enumerate(labels)}
    states, width = dfa.transitions.shape
    table = np.full((states + 1, width + 1), states, dtype=np.int64)
    table[:-1, :-1] = dfa.transitions
    outputs = [*(numbers[label] for label in dfa.outputs), -1]

    graph = Graph()
    zero, one = graph.integer(0), graph.integer(1)
    known = graph(
        "And",
        graph("GreaterOrEqual", "ids", zero),
        graph("Less", "ids", graph.integer(width)),
    )
    columns = graph("Where", known, "ids", graph.integer(width))
    columns = graph("Transpose", columns, perm=[1, 0])
    count = graph("Concat", graph.integer([1]), graph("Shape", "lengths"), axis=0)
    padding = graph("Expand", graph.integer(width), count)
    columns = graph("Concat", columns, padding, axis=0)  # onnxruntime has no loop of no steps
    steps = graph("Squeeze", graph("Shape", columns, end=1))
    time = graph("Unsqueeze", graph("Range", zero, steps, one), graph.integer([1]))
    mask = graph("Less", time, "lengths")  # (time, batch)
    flat = graph.integer(table.ravel())
    row = graph.integer(width + 1)

    def turn(body: Graph, before: list[str], given: list[str]) -> tuple[list[str], list[str]]:
        place = body("Add", body("Mul", before[0], row), given[0])
        following = body("Gather", flat, place, axis=0)
        return [body("Where", given[1], following, before[0])], []

    initial = graph("Expand", graph.integer(dfa.initial), graph("Shape", "lengths"))
    (last,), _ = graph.scan(
        turn, [(initial, np.int64)], [(columns, np.int64), (mask, np.bool_)], []
    )
    label = graph("Gather", graph.integer(outputs), last, axis=0)
    about = {
        "format": FORMAT,
        "alphabet": [to_plain(symbol) for symbol in dfa.alphabet],
        "labels": [to_plain(label) for label in labels],
    }
    return graph.model(
        "automaton",
        [tensor("ids", np.int64, "batch", "time"), tensor("lengths", np.int64, "batch")],
        [
            graph.output(label, "labels", np.int64, "batch"),
            graph.output(last, "states", np.int64, "batch"),
        ],
        about,
    )

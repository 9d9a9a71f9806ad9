"""One layer, one step at a time: everything is built once, a step is one compiled call."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from kleene.nn.fused.blocks import run
from kleene.nn.fused.buffers import empty
from kleene.nn.fused.forward import fold, make_outputs, write_buffers, write_inputs
from kleene.nn.fused.kernels import forward as kernel
from kleene.nn.fused.kernels.records import Block, Job, place
from kleene.nn.fused.layout import layout
from kleene.nn.fused.plan import make_plan
from kleene.nn.inputs import LookedUp, Projected
from kleene.nn.recurrence import Recurrence


class Stepper:
    """Two rows of state per sequence, used in turns: a step reads one and writes the other."""

    def __init__(self, recurrence: Recurrence, inputs: Projected | LookedUp, start: Tensor) -> None:
        batch = len(start)
        memory = start if recurrence.cell.has_memory else None
        plan, tensors = make_plan(recurrence, inputs, layout((batch, batch)), start, memory)
        detached = {name: None if t is None else t.detach() for name, t in tensors.items()}
        self._outputs, self._inner = make_outputs(plan), plan.inner.empty()
        call = plan.arguments[:]
        self._tensors = write_inputs(plan, detached, call)
        write_buffers(plan, self._outputs, self._inner, call)
        self._folded = fold(plan, call)
        self._workspace = empty(kernel.workspace_size(plan, batch))
        call[place(Block, "workspace")] = self._workspace.data_ptr()
        call[place(Block, "end")] = batch
        self._starts = np.array([[batch, 0], [0, batch]])  # of the last step and this one, in turns
        self._calls = [call[:] for _ in range(3)]  # the first step, then two in turns
        for one, turn in zip(self._calls, (1, 0, 1), strict=True):
            one[place(Job, "starts")] = self._starts[turn].ctypes.data
            one[place(Block, "begin")] = 1
        self._calls[0][place(Block, "begin")], self._calls[0][place(Job, "time")] = 0, 1
        self._input = inputs.x if isinstance(inputs, Projected) else inputs.ids
        assert any(t.data_ptr() == self._input.data_ptr() for t in self._tensors)
        self._batch, self._plan, self._steps = batch, plan, 0

    def step(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None, Tensor | None]:
        """Hidden vectors, weights, scores and memory after one more input; later steps write over
        all but the first.
        """
        turn = self._steps % 2
        at = turn * self._batch
        self._input[at : at + self._batch] = x
        run(kernel.forward, [self._calls[turn + 1 if self._steps else 0]])
        self._steps += 1
        rows = slice(at, at + self._batch)
        outputs = {name: t for name, t in self._outputs.items() if t is not None}
        if not self._plan.states:
            return outputs["last_weights"].clone(), None, None, outputs.get("last_memory")
        hidden, weights = outputs["last_hidden"].clone(), outputs["weights"][rows]
        return hidden, weights, outputs["scores"][rows], outputs.get("last_memory")

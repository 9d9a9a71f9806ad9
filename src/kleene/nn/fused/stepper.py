"""One layer, one step at a time: everything is built once, a step is one compiled call."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from kleene.nn.fused.blocks import run
from kleene.nn.fused.buffers import empty
from kleene.nn.fused.forward import contiguous_inputs, fold, forward_buffers, make_outputs
from kleene.nn.fused.kernels import forward as kernel
from kleene.nn.fused.kernels.arguments import join
from kleene.nn.fused.kernels.records import Block
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
        self._tensors, self._outputs = contiguous_inputs(detached), make_outputs(plan)
        self._inner = plan.inner.empty()
        rows = forward_buffers(plan, self._outputs, self._inner)
        self._folded, job = fold(plan, self._tensors)
        self._workspace = empty(kernel.workspace_size(job, batch))
        self._starts = np.array([[batch, 0], [0, batch]])  # of the last step and this one, in turns
        place = self._workspace.data_ptr()
        later = Block(place, 0, batch, begin=1)
        jobs = [job._replace(starts=starts.ctypes.data) for starts in self._starts]
        first = join(Block(place, 0, batch), jobs[1]._replace(time=1), rows)
        self._calls = [first, *(join(later, one, rows) for one in jobs)]
        self._input = inputs.x if isinstance(inputs, Projected) else inputs.ids
        folded = self._tensors["x" if isinstance(inputs, Projected) else "ids"]
        assert folded is not None
        assert folded.data_ptr() == self._input.data_ptr()
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

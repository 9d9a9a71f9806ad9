"""One layer, one step at a time: everything is built once, a step is one compiled call."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from kleene.nn.fused.autograd import addresses, make_buffers, make_job
from kleene.nn.fused.buffers import empty
from kleene.nn.fused.fold import fold
from kleene.nn.fused.kernels import forward as kernel
from kleene.nn.fused.kernels.blas import one_thread
from kleene.nn.fused.kernels.records import ForwardBuffers
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
        self._tensors, self._buffers = fold(plan, detached), make_buffers(plan, keep=False)
        self._rows = ForwardBuffers(**addresses(self._buffers, ForwardBuffers._fields))
        job = make_job(plan, self._tensors)
        self._workspace = empty(kernel.workspace_size(job, batch))
        self._starts = np.array([[batch, 0], [0, batch]])  # of the last step and this one, in turns
        self._jobs = [job._replace(starts=starts.ctypes.data) for starts in self._starts]
        self._first = self._jobs[1]._replace(time=1)
        self._input = inputs.x if isinstance(inputs, Projected) else inputs.ids
        folded = self._tensors["x" if isinstance(inputs, Projected) else "ids"]
        assert folded is not None
        assert folded.data_ptr() == self._input.data_ptr()
        self._batch, self._plan, self._steps = batch, plan, 0

    def step(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Weights (hidden vectors without a component), scores and memory after one more input."""
        turn = self._steps % 2
        at = turn * self._batch
        self._input[at : at + self._batch] = x
        job = self._jobs[turn] if self._steps else self._first
        with one_thread():
            begin, workspace = min(self._steps, 1), self._workspace.data_ptr()
            kernel.forward(job, self._rows, workspace, 0, self._batch, begin)
        self._steps += 1
        carried, scores = self._buffers["last_weights"], self._buffers.get("scores")
        assert carried is not None
        rows = None if scores is None else scores[at : at + self._batch]
        return carried, rows, self._buffers.get("last_memory")

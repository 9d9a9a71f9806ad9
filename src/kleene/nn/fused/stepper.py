"""One layer, one step at a time: everything is built once, a step is one compiled call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from kleene.nn.fused.autograd import address, make_job, make_record
from kleene.nn.fused.buffers import floats
from kleene.nn.fused.dispatch import prepare
from kleene.nn.fused.fold import fold
from kleene.nn.fused.kernels import forward as fore
from kleene.nn.fused.kernels.blas import alone
from kleene.nn.fused.kernels.records import Record
from kleene.nn.fused.layout import layout
from kleene.nn.inputs import LookedUp, Projected

if TYPE_CHECKING:
    from kleene.nn.scan import Recurrence


class Stepper:
    """Two rows of state per sequence, written in turns: a step reads one and writes the other."""

    def __init__(self, recurrence: Recurrence, inputs: Projected | LookedUp, start: Tensor) -> None:
        batch = len(start)
        memory = start if recurrence.cell.has_memory else None
        settings, given = prepare(recurrence, inputs, layout((batch, batch)), start, memory)
        self._held = fold(
            settings, {n: None if t is None else t.detach() for n, t in given.items()}
        )
        self._record = make_record(settings, keep=False)
        self._rows = Record(*map(address, self._record))
        job = make_job(settings, self._held)
        self._scratch = floats(fore.room(job, batch))
        self._turns = np.array([[batch, 0], [0, batch]])
        self._jobs = [job._replace(starts=turn.ctypes.data) for turn in self._turns]
        self._start = self._jobs[1]._replace(time=1)
        self._input = inputs.x if isinstance(inputs, Projected) else inputs.ids
        held = self._held["x" if isinstance(inputs, Projected) else "ids"]
        assert held is not None
        assert held.data_ptr() == self._input.data_ptr()
        self._batch, self._settings, self._steps = batch, settings, 0

    def step(self, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Weights (hidden vectors without a component), scores and memory after one more input."""
        turn = self._steps % 2
        at = turn * self._batch
        self._input[at : at + self._batch] = x
        job = self._jobs[turn] if self._steps else self._start
        with alone():
            begin, scratch = min(self._steps, 1), self._scratch.data_ptr()
            fore.forward(job, self._rows, scratch, 0, self._batch, begin)
        self._steps += 1
        _, scores, _, carried, memory = self._record[:5]
        assert carried is not None
        return carried, None if scores is None else scores[at : at + self._batch], memory

"""The fused node by torch's own operations, for whoever differentiates its gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding, linear, normalize

from kleene.nn.cells import Cell
from kleene.nn.transition import Transition


@dataclass(frozen=True)
class Plain:
    """The same outputs from the same tensors."""

    cell: Cell
    transition: Transition | None

    def __call__(
        self,
        settings: Any,
        X: Tensor | None,
        ids: Tensor | None,
        x: Tensor | None,
        W: Tensor | None,
        bias: Tensor | None,
        H0: Tensor,
        M: Tensor,
        h_bias: Tensor | None,
        keys: Tensor,
        offsets: Tensor | None,
        noise: Tensor | None,
        inverse: Tensor,
        peephole: Tensor | None,
        c0: Tensor,
    ) -> tuple[Tensor | None, ...]:
        """Weights, scores and memory of all steps, and the last weights and memory."""
        if x is not None:
            assert W is not None
            X = linear(x, W, bias)
        elif ids is not None:
            assert X is not None
            X = embedding(ids, X)
        assert X is not None
        cell, d = self.cell, settings.hidden
        c: Tensor | None = c0 if cell.has_memory else None
        peephole = peephole if cell.peepholes else None
        carried: Tensor | None = None
        outputs: list[list[Tensor]] = [[], [], []]
        last: list[list[Tensor]] = [[], [] if c is None else [c[settings.sizes[0] :]]]
        for t, (start, n) in enumerate(zip(settings.starts, settings.sizes, strict=True)):
            if carried is None:
                product = H0.expand(settings.batch, -1)[:n]
            else:
                product = linear(carried[:n], M.T, h_bias)
                if not settings.states and cell.reads_hidden:
                    product = torch.cat([product, carried[:n]], -1)
            c = None if c is None else c[:n]
            h = product[:, -d:] if cell.reads_hidden else None
            gates = product[:, :-d] if cell.reads_hidden else product
            carried, c = cell.step(X[start : start + n], gates, h, c, peephole)
            if self.transition is not None:
                query = normalize(carried, dim=-1) if settings.unit else carried
                score = linear(query, keys, offsets)
                drawn = None if noise is None else noise[start : start + n]
                carried = self.transition(score, 1 / inverse, drawn)
                outputs[1].append(score)
            outputs[0].append(carried)
            running = settings.sizes[t + 1] if t + 1 < len(settings.sizes) else 0
            last[0].insert(0, carried[running:])
            if c is not None:
                outputs[2].append(c)
                last[1].insert(0, c[running:])
        return tuple(torch.cat(part) if part else None for part in [*outputs, *last])

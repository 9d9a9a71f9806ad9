"""The fused node by torch's operations, for gradients of its gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor

from kleene.nn.inputs import Gates, LookedUp, Projected
from kleene.nn.loop import last_steps, loop
from kleene.nn.recurrence import Recurrence
from kleene.nn.transition import Transition

if TYPE_CHECKING:
    from kleene.nn.fused.plan import Plan


@dataclass(frozen=True)
class Drawn:
    """A transition with its noise already drawn."""

    transition: Transition
    noise: Tensor | None

    @property
    def name(self) -> str:
        """The name of the transition."""
        return self.transition.name

    def draw(self, steps: int, states: int, like: Tensor, noise: bool) -> Tensor | None:
        """The noise drawn before."""
        return self.noise

    def __call__(self, scores: Tensor, temperature: Tensor, noise: Tensor | None) -> Tensor:
        """Apply the transition."""
        return self.transition(scores, temperature, noise)


@dataclass(frozen=True)
class Plain:
    """The fused node as a function of its tensors."""

    recurrence: Recurrence

    def __call__(
        self,
        plan: Plan,
        X: Tensor | None,
        ids: Tensor | None,
        x: Tensor | None,
        W: Tensor | None,
        bias: Tensor | None,
        hidden: Tensor,
        R: Tensor,
        h_bias: Tensor | None,
        S: Tensor | None,
        temperature: Tensor | None,
        noise: Tensor | None,
        peephole: Tensor | None,
        c0: Tensor | None,
    ) -> tuple[Tensor | None, ...]:
        """The results of the fused node, in its order."""
        inputs: Gates
        if x is not None:
            assert W is not None
            inputs = Projected(x=x, weight=W, bias=bias)
        else:
            assert X is not None
            inputs = X if ids is None else LookedUp(ids=ids, table=X)
        component = self.recurrence.component
        if component is not None:
            assert S is not None
            assert temperature is not None
            drawn = Drawn(component.transition, noise)
            component = component._replace(centroids=S, temperature=temperature, transition=drawn)
        recurrence = self.recurrence._replace(
            weight=R, bias=h_bias, peephole=peephole, component=component
        )
        sizes = plan.layout.sizes.tolist()
        found = loop(recurrence, inputs, sizes, hidden, c0)
        last = found.carried[last_steps(sizes)]
        results = (found.carried, found.scores, found.memory, last, found.last_memory)
        mixed = None if S is None else last @ S
        return (*results, found.hidden if plan.with_hidden else None, mixed)

"""How long a search may take: table look-ups, and CPU seconds where a limit was given."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from time import thread_time

import numpy as np
from numpy.typing import NDArray

FIRST_RATE = 5e7
"""Look-ups a second until the search has measured its own rate."""


@dataclass
class Budget:
    """Counts look-ups in `work`; compiled code stops at `limit`.

    Look-ups alone make a search repeatable; `seconds` of CPU time are an additional limit.
    """

    look_ups: float = inf
    seconds: float = inf
    work: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    started: float = field(default_factory=thread_time)

    @property
    def elapsed(self) -> float:
        """CPU seconds since the search began."""
        return thread_time() - self.started

    @property
    def limit(self) -> float:
        """The value of `work` at which compiled code stops."""
        if self.seconds == inf:
            return self.look_ups
        elapsed, done = self.elapsed, float(self.work[0])
        rate = done / elapsed if elapsed > 0.05 and done > 1e5 else FIRST_RATE
        return min(self.look_ups, done + max(self.seconds - elapsed, 0) * rate)

    @property
    def is_spent(self) -> bool:
        """Whether the search must stop."""
        return bool(self.work[0] >= self.look_ups) or self.elapsed >= self.seconds

    def part(self, share: float) -> Budget:
        """A budget of its own: a share of what is left."""
        look_ups = (self.look_ups - float(self.work[0])) * share
        return Budget(
            look_ups=float(self.work[0]) + look_ups,
            seconds=self.elapsed + max(self.seconds - self.elapsed, 0) * share,
            work=self.work,
            started=self.started,
        )

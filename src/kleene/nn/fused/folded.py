"""What `fold` made of a network's weights, from one pass without gradients to the next.

It is found by a fingerprint of the weights themselves: that reads them once, a tenth of the work of
folding them, and sees every write, through `.data` and NumPy too.
"""

from __future__ import annotations

from typing import TypeAlias

from torch import Tensor

MAX_KEPT, MAX_FLOATS = 8, 1 << 20
"""How many layers' folded weights are kept, and of how many floats each at most."""

Key: TypeAlias = tuple[int, ...]
_kept: dict[Key, Tensor] = {}  # the latest last


def find(key: Key | None) -> Tensor | None:
    """The folded weights kept under a key."""
    found = None if key is None else _kept.pop(key, None)
    if key is not None and found is not None:
        _kept[key] = found
    return found


def keep(key: Key | None, folded: Tensor) -> None:
    """Keep folded weights, which nothing writes to any more."""
    if key is None:
        return
    _kept[key] = folded
    for oldest in list(_kept)[:-MAX_KEPT]:
        _kept.pop(oldest, None)


def forget() -> None:
    """Give all of them back."""
    _kept.clear()

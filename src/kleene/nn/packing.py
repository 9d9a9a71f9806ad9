"""From any form of input to packed sequences, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from kleene.errors import SettingError

Initial: TypeAlias = Tensor | tuple[Tensor, Tensor] | None


class Packed(NamedTuple):
    """The steps of all sequences in packed order, and how to undo it."""

    data: Tensor  # steps size
    batch_sizes: tuple[int, ...]
    batch: int
    unbatched: bool = False
    source: PackedSequence | None = None

    @property
    def unsorted(self) -> Tensor | None:
        """The position of each input sequence in the sorted order."""
        return None if self.source is None else self.source.unsorted_indices

    def initial(
        self,
        given: Initial,
        zeros: Callable[[int], Tensor],
        shape: tuple[int, int, int],
        has_memory: bool,
    ) -> tuple[list[Tensor], list[Tensor | None]]:
        """The hidden vectors and memories to start from, per layer, in the sorted order."""
        layers = range(shape[0])
        if given is None:
            start = zeros(self.batch)
            return [start for _ in layers], [start if has_memory else None for _ in layers]
        tensors = (given,) if isinstance(given, Tensor) else tuple(given)
        if len(tensors) != 1 + has_memory:
            needed = "a pair (h_0, c_0)" if has_memory else "one tensor h_0"
            raise SettingError(f"the initial state must be {needed}, got {len(tensors)} tensors")
        parts = [self._sort(tensor, shape) for tensor in tensors]
        return [parts[0][i] for i in layers], [parts[1][i] if has_memory else None for i in layers]

    def _sort(self, state: Tensor, shape: tuple[int, int, int]) -> Tensor:
        state = state[:, None] if self.unbatched and state.dim() == 2 else state
        if tuple(state.shape) != shape:
            raise SettingError(
                "the initial state must have shape (num_layers, batch, hidden_size) = "
                f"{shape}, got {tuple(state.shape)}"
            )
        order = None if self.source is None else self.source.sorted_indices
        return state if order is None else state[:, order]

    def restore(self, hidden: Tensor, batch_first: bool) -> Tensor | PackedSequence:
        """Outputs of all steps in the form of the input."""
        if self.source is not None:
            return self.source._replace(data=hidden)
        if self.unbatched:
            return hidden
        output = hidden.reshape(len(self.batch_sizes), self.batch, hidden.shape[-1])
        return output.transpose(0, 1) if batch_first else output

    def restore_state(self, layers: Sequence[Tensor | None]) -> Tensor:
        """Last states of all layers, (layer, batch, hidden), in the order of the input."""
        tensors = cast("list[Tensor]", layers)
        state = tensors[0][None] if len(tensors) == 1 else torch.stack(tensors)
        if self.unsorted is not None:
            state = state[:, self.unsorted]
        return state[:, 0] if self.unbatched else state


def reversal(batch_sizes: Sequence[int]) -> Tensor:
    """The packed rows of all sequences read backwards; applied twice it changes nothing."""
    starts = list(accumulate(batch_sizes, initial=0))
    lengths: list[int] = []
    for t, (n, after) in enumerate(pairwise([*batch_sizes, 0])):
        lengths = [t + 1] * (n - after) + lengths
    rows = [starts[lengths[b] - 1 - t] + b for t, n in enumerate(batch_sizes) for b in range(n)]
    return torch.tensor(rows, dtype=torch.int64)


def pack(input: Tensor | PackedSequence, batch_first: bool, input_size: int) -> Packed:
    """Pack a padded batch, a single sequence or torch's own packed sequences."""
    size = (input.data if isinstance(input, PackedSequence) else input).shape[-1]
    if size != input_size:
        raise SettingError(
            f"the last dimension of the input must be input_size = {input_size}, got {size}"
        )
    if isinstance(input, PackedSequence):
        sizes = tuple(input.batch_sizes.tolist())
        return Packed(data=input.data, batch_sizes=sizes, batch=sizes[0], source=input)
    if input.dim() == 2:
        return Packed(data=input, batch_sizes=(1,) * len(input), batch=1, unbatched=True)
    if input.dim() != 3:
        raise SettingError(
            "the input must be a tensor of 2 or 3 dimensions or a PackedSequence, "
            f"got shape {tuple(input.shape)}"
        )
    steps = input.transpose(0, 1) if batch_first else input
    time, batch = steps.shape[:2]
    return Packed(data=steps.reshape(time * batch, size), batch_sizes=(batch,) * time, batch=batch)

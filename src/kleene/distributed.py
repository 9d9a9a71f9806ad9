"""Processes that share one piece of work, as `torchrun` starts them; alone, nothing happens.

    torchrun --nproc-per-node 4 -m kleene train data.tsv --out model

Every worker runs the same program on its own share and meets the others in sums, maxima and
gathered arrays. Nothing is pickled: what travels are arrays, and JSON as bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kleene.errors import KleeneError, WorkerError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

T = TypeVar("T")
Array = TypeVar("Array", bound="NDArray[Any]")

PATIENCE = timedelta(days=1)
"""How long a worker waits for the others, one of which may be reading a large corpus; the death of
one is noticed at once."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """One of `size` processes; the one of rank 0 writes and speaks for all."""

    rank: int = 0
    size: int = 1
    device: str = "cpu"
    """Where tensors must be to travel."""

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    @property
    def alone(self) -> bool:
        """Whether there are no others."""
        return self.size == 1

    def share(self, items: Iterable[T]) -> Iterator[T]:
        """Every `size`-th item, so that each is some worker's and none is two workers'."""
        return islice(items, self.rank, None, self.size)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all workers, in place."""
        return self._reduced(values, "SUM")

    def total(self, values: Array) -> Array:
        """The sum over all workers of an array."""
        return self._of_array(values, "SUM")

    def most(self, values: Array) -> Array:
        """The greatest of all workers, entry by entry."""
        return self._of_array(values, "MAX")

    def gathered(self, rows: Array) -> Array:
        """The rows of all workers, in the order of their ranks."""
        if self.alone:
            return rows
        import numpy as np
        import torch
        from torch import distributed

        sizes = np.zeros(self.size, dtype=np.int64)
        sizes[self.rank] = len(rows)
        sizes = self.total(sizes)
        padded = np.zeros((int(sizes.max()), *rows.shape[1:]), rows.dtype)
        padded[: len(rows)] = rows
        mine = torch.from_numpy(padded).to(self.device)
        parts = [torch.empty_like(mine) for _ in range(self.size)]
        with _watched():
            distributed.all_gather(parts, mine)
        kept = [p.cpu().numpy()[:n] for p, n in zip(parts, sizes.tolist(), strict=True)]
        return cast(Array, np.concatenate(kept))

    def agreed(self, value: Any = None) -> Any:
        """What the first worker says, to all; a value that JSON can hold."""
        if self.alone:
            return value
        text = json.dumps(value).encode() if self.first else b""
        return json.loads(self._said(text))

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Let all workers raise the mistake that one of them meets inside."""
        mistake: KleeneError | None = None
        try:
            yield
        except KleeneError as error:
            if self.alone:
                raise
            mistake = error
        if self.alone:
            return
        text = b"" if mistake is None else f"{mistake}\0".encode()
        told = self._said(text).decode()
        if told:
            raise mistake or KleeneError(told.split("\0")[0])

    def spread(self, tensors: Iterable[Tensor]) -> None:
        """Give all workers the first one's content of some tensors."""
        if self.alone:
            return
        from torch import distributed

        for tensor in tensors:
            moved = tensor.detach().to(self.device).contiguous()
            with _watched():
                distributed.broadcast(moved, 0)
            tensor.detach().copy_(moved)

    def part(self, batch: Array) -> tuple[Array, bool]:
        """This worker's words of a batch, and whether they count.

        In a batch of fewer words than workers, those left over look at a word that is another's.
        """
        mine = cast(Array, batch[self.rank :: self.size])
        return (mine, True) if len(mine) else (cast(Array, batch[:1]), False)

    def _said(self, text: bytes) -> bytes:
        """What all workers say, one after the other."""
        import numpy as np

        return self.gathered(np.frombuffer(text, np.uint8)).tobytes()

    def _of_array(self, values: Array, kind: str) -> Array:
        if self.alone:
            return values
        import numpy as np
        import torch

        moved = torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
        return cast(Array, self._reduced(moved, kind).cpu().numpy())

    def _reduced(self, values: Tensor, kind: str) -> Tensor:
        if not self.alone:
            from torch import distributed

            with _watched():
                distributed.all_reduce(values, getattr(distributed.ReduceOp, kind))
        return values


ALONE = Workers()


@contextmanager
def joined(device: str | None = None) -> Iterator[Workers]:
    """The workers that torchrun started, this one among them; `ALONE` where it did not."""
    rank, size = launched()
    if size == 1:
        yield ALONE
        return
    import torch
    from torch import distributed

    cuda = device is not None and device.startswith("cuda")
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
    with _watched():
        distributed.init_process_group("nccl" if cuda else "gloo", timeout=PATIENCE)
    try:
        yield Workers(rank=rank, size=size, device="cuda" if cuda else "cpu")
    finally:
        distributed.destroy_process_group()


def launched() -> tuple[int, int]:
    """The rank of this process and the number of all, as torchrun tells them."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


@contextmanager
def _watched() -> Iterator[None]:
    """Say it plainly when another worker does not answer any more."""
    try:
        yield
    except RuntimeError as error:  # what gloo and nccl raise when a connection is lost
        reason = " ".join(str(error).split())[:100]
        raise WorkerError(
            f"another worker of this job is gone ({reason}); torchrun tells which and why; "
            "start the job again, training with --resume, with as many workers as you like"
        ) from None

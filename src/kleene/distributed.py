"""Training in several processes, as `torchrun` starts them; with one process, nothing happens.

    torchrun --nproc-per-node 4 -m kleene train data.tsv --out model

Every process runs the same program on its share of each batch, in torch's
`DistributedDataParallel`. Only arrays are sent, so that nothing is pickled.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kleene.errors import WorkerError

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")
Array = TypeVar("Array", bound="NDArray[Any]")

TIMEOUT = timedelta(days=1)
"""How long a process waits for the others, one of which may be reading a large corpus; the death
of one is noticed at once."""


@dataclass(frozen=True, kw_only=True)
class ProcessGroup:
    """One of `world_size` processes; the one of rank 0 writes files and messages for all."""

    rank: int = 0
    world_size: int = 1
    device: str = "cpu"
    """Where tensors must be to be sent."""

    @property
    def is_main(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def shard(self, items: Iterable[T]) -> Iterator[T]:
        """This process's share: every `world_size`-th item."""
        return islice(items, self.rank, None, self.world_size)

    def shard_batch(self, batch: Array) -> tuple[Array, bool]:
        """This process's examples of a batch, and whether they count.

        In a batch of fewer examples than processes, those left over get an example of another
        process, which does not count.
        """
        mine = cast(Array, batch[self.rank :: self.world_size])
        return (mine, True) if len(mine) else (cast(Array, batch[:1]), False)

    def all_reduce_array(self, values: Array) -> Array:
        """The sum over all processes, entry by entry."""
        if self.world_size == 1:
            return values
        import numpy as np
        import torch
        from torch import distributed

        moved = torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
        with connected():
            distributed.all_reduce(moved)
        return cast(Array, moved.cpu().numpy())

    def broadcast(self, value: bool = False) -> bool:
        """The main process's value, in all processes; each waits for the others."""
        import numpy as np

        return bool(self.all_reduce_array(np.array([value and self.is_main], np.int64))[0])


SINGLE_PROCESS = ProcessGroup()


@contextmanager
def init_process_group(device: str | None = None) -> Iterator[ProcessGroup]:
    """The processes that torchrun started, this one among them; else `SINGLE_PROCESS`."""
    rank, world_size = rank_and_world_size()
    if world_size == 1:
        yield SINGLE_PROCESS
        return
    import torch
    from torch import distributed

    cuda = device is not None and device.startswith("cuda")
    if cuda:
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
    with connected():
        distributed.init_process_group("nccl" if cuda else "gloo", timeout=TIMEOUT)
    try:
        yield ProcessGroup(rank=rank, world_size=world_size, device="cuda" if cuda else "cpu")
    finally:
        distributed.destroy_process_group()


def rank_and_world_size() -> tuple[int, int]:
    """The rank of this process and the number of all, from torchrun's environment variables."""
    if not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= os.environ.keys():
        return 0, 1
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


@contextmanager
def connected() -> Iterator[None]:
    """Turn a lost connection into a clear error."""
    try:
        yield
    except RuntimeError as error:  # what gloo and nccl raise when a connection is lost
        reason = " ".join(str(error).split())[:100]
        raise WorkerError(
            f"another process of this job has ended ({reason}); torchrun shows which and why; "
            "start the job again, training with --resume, with any number of processes"
        ) from None

"""Process groups forked from the test: what torchrun does, without its start-up time."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
import traceback
from collections.abc import Callable
from typing import Any

import torch

from kleene.distributed import ProcessGroup, init_process_group

PATIENCE = 240  # seconds


def run_processes(size: int, work: Callable[[ProcessGroup], Any]) -> list[Any]:
    """What `work` returns, or the error it raises, in each of `size` processes."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("fork")
    pipes, processes = [], []
    for rank in range(size):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(work, rank, size, port, there))
        process.start()
        there.close()
        pipes.append(here)
        processes.append(process)
    results = [_received(pipe) for pipe in pipes]
    for process in processes:
        process.join(PATIENCE)
    return results


def _received(pipe: Any) -> Any:
    try:
        return pickle.loads(pipe.recv_bytes()) if pipe.poll(PATIENCE) else TimeoutError()
    except EOFError:
        return None  # the process died


def _run(work: Callable[[ProcessGroup], Any], rank: int, size: int, port: int, pipe: Any) -> None:
    torch.set_num_threads(1)
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size)}
    try:
        with init_process_group() as process_group:
            result = work(process_group)
    except Exception as error:
        traceback.print_exc()
        result = error
    pipe.send_bytes(pickle.dumps(result))  # tensors by value: this process ends
    os._exit(0)  # nothing of the test process is to be tidied up here

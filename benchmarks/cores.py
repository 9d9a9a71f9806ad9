"""What a second core is worth here: half a batch in one process, and in two at once.

    python benchmarks/cores.py [--seconds 3]

Two threads that share a batch cannot gain more than two processes that share nothing. Where the
"cores" are two threads of one core, as on many rented machines, that is little. Writes
results/cores.json, a
table for each CPU model.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from multiprocessing.synchronize import Barrier

import torch
from peers import SHAPES, network
from timing import write_for_cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    results = []
    for cell in ("LSTM-P", "GRU"):
        for shape in ("A", "C"):
            alone, both = (at_once(count, cell, shape, given.seconds) for count in (1, 2))
            results.append(
                {
                    "cell": cell,
                    "shape": shape,
                    "alone ms": 1e3 * alone,
                    "both ms": 1e3 * both,
                    "most that two threads can gain": 2 * alone / both,
                }
            )
            print(results[-1], flush=True)
    write_for_cpu("cores", {"results": results})


def at_once(count: int, cell: str, shape: str, seconds: float) -> float:
    """Median seconds of a train step of half a batch while `count` processes run it."""
    context = multiprocessing.get_context("spawn")
    ready, times = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=work, args=(ready, times, cell, shape, seconds))
        for _ in range(count)
    ]
    for process in processes:
        process.start()
    medians = [times.get() for _ in processes]
    for process in processes:
        process.join()
    return statistics.mean(medians)


def work(
    ready: Barrier, times: multiprocessing.Queue[float], cell: str, shape: str, seconds: float
) -> None:
    torch.set_num_threads(1)
    T, B, d, k, n = SHAPES[shape]
    ours, x = network(cell, d, k, n), torch.randn(T, B // 2, n)

    def step() -> None:
        ours.zero_grad(set_to_none=True)
        ours(x)[0].sum().backward()

    step()
    ready.wait()
    taken, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    times.put(statistics.median(taken))


if __name__ == "__main__":
    main()

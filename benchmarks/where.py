"""Where the time of a pass goes: matrix products, the rest of the compiled loops, Python and torch.

    python benchmarks/where.py [--seconds 2]

For the rows in which a goal is hard to reach. Process time, one thread, medians of one interleaved
run; the time inside compiled loops is measured by a clock around them. Writes results/where.json, a
table for each CPU model.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import torch
from peers import SHAPES, forward_products, network, peer, products
from recurrent import quiet, trained
from timing import interleave, process_time, write_for_cpu

from kleene.nn.fused import load_kernels, passes

ROWS = (("inference", "A"), ("inference", "C"), ("one", "A"), ("one", "C"), ("train", "D"))


class Clock:
    """Adds up the time inside compiled functions, one entry a call of `run`."""

    def __init__(self) -> None:
        self.spent, self.totals = 0.0, list[float]()
        for name in ("forward_kernel", "backward_kernel"):
            made = getattr(passes, name)
            setattr(passes, name, lambda cell, made=made: self._timed(made(cell)))

    def _timed(self, compiled: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object) -> object:
            start = process_time()
            result = compiled(*args)
            self.spent += process_time() - start
            return result

        return call

    def around(self, run: Callable[[], object]) -> Callable[[], None]:
        """The same, its time inside compiled functions kept."""

        def timed() -> None:
            self.spent = 0.0
            run()
            self.totals.append(self.spent)

        return timed


def measure(row: str, shape: str, cell: str, seconds: float, clock: Clock) -> dict[str, object]:
    T, B, d, k, n = SHAPES[shape]
    B = 1 if row == "one" else B
    ours, torchs, x = network(cell, d, k, n), peer(cell, d, n), torch.randn(T, B, n)
    if row == "train":
        runs = [trained(module, lambda m=module: m(x)[0]) for module in (torchs, ours)]
        alone = products(cell, T, B, d, k, n)
    else:
        runs = [quiet(lambda m=module: m(x)) for module in (torchs, ours)]
        alone = forward_products(cell, T, B, d, k, n)
    clock.totals.clear()
    times = interleave(
        {"torch.nn": runs[0], "fused": clock.around(runs[1]), "products": alone},
        seconds,
        process_time,
    )
    loops = statistics.median(clock.totals)
    found = {"torch.nn": times["torch.nn"], "fused": times["fused"], "loops": loops}
    found |= {"products": times["products"], "around": times["fused"] - loops}
    ms = {name: round(1e3 * value, 3) for name, value in found.items()}
    return {"row": row, "cell": cell, "shape": shape, "milliseconds": ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    load_kernels()  # compiled before the clock goes around them
    clock, results = Clock(), []
    for row, shape in ROWS:
        for cell in ("LSTM-P", "GRU"):
            results.append(measure(row, shape, cell, given.seconds, clock))
            print(results[-1], flush=True)
    write_for_cpu("where", {"results": results})


if __name__ == "__main__":
    main()

"""A train step and a forward pass against torch.nn, as ratios of one interleaved run.

    python benchmarks/recurrent.py [--seconds 5] [--rows train,tokens,packed,inference,one,threads]

Process time with one thread, wall time with two. Variants take turns in timing blocks, as a
training loop runs one of them all the time; a train step and a batch of one also step by step
(`alternating`), as the loops of two networks in turns would, each with the other's data in the
caches. The gain of a second thread is the median of five such runs. Writes results/recurrent.json,
in which each CPU model has its own table and rows that are not asked for stay.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from peers import SHAPES, network, peer, products
from timing import RESULTS, interleave, machine, processor, write_results
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence

from kleene.nn.fused import load_kernels
from kleene.nn.recurrence import LookedUp

BARS = {
    "train": {"LSTM-P": {"A": 0.60, "B": 0.45, "C": 0.45, "D": 0.85},
              "GRU": {"A": 0.55, "B": 0.55, "C": 0.45, "D": 0.27}},
    "tokens": {"LSTM-P": {"A": 0.45, "C": 0.35}, "GRU": {"A": 0.45, "C": 0.40}},
    "packed": {"LSTM-P": {"A": 0.25, "C": 0.20}, "GRU": {"A": 0.35, "C": 0.30}},
    "inference": {"LSTM-P": {"A": 0.60, "C": 0.50}, "GRU": {"A": 0.55, "C": 0.45}},
    "one": {"LSTM-P": {"A": 0.75, "C": 0.40}, "GRU": {"A": 0.30, "C": 0.19}},
    "threads": {"LSTM-P": {"A": 1.6, "C": 1.6}, "GRU": {"A": 1.6, "C": 1.6}},
}  # fmt: skip
VOCABULARY, RUNS = 28, 5
ALTERNATING = ("train", "one")
Variants = dict[str, Callable[[], object]]


def trained(module: nn.Module, run: Callable[[], Tensor]) -> Callable[[], None]:
    """Forward and backward of all outputs."""

    def step() -> None:
        module.zero_grad(set_to_none=True)
        run().sum().backward()

    return step


def quiet(run: Callable[[], object]) -> Callable[[], object]:
    """Without gradients."""
    return torch.inference_mode()(run)


def train(cell: str, shape: str) -> Variants:
    T, B, d, k, n = SHAPES[shape]
    ours, torchs, x = network(cell, d, k, n), peer(cell, d, n), torch.randn(T, B, n)
    return {
        "torch.nn": trained(torchs, lambda: torchs(x)[0]),
        "fused": trained(ours, lambda: ours(x)[0]),
        "products": products(cell, T, B, d, k, n),
    }


def tokens(cell: str, shape: str) -> Variants:
    T, B, d, k, n = SHAPES[shape]
    ours, torchs = network(cell, d, k, n), peer(cell, d, n)
    ids, table = torch.randint(VOCABULARY, (T, B)), nn.Embedding(VOCABULARY, n)
    start = ours.zeros(B)
    memory = start if ours.cell.has_memory else None
    both = nn.ModuleList([ours, table])

    def run() -> Tensor:
        inputs = LookedUp(ids=ids.reshape(-1), table=ours.project(table.weight))
        return ours.scan_layers(inputs, [B] * T, [start], [memory], with_hidden=True)[0].hidden

    return {
        "torch.nn": trained(nn.ModuleList([torchs, table]), lambda: torchs(table(ids))[0]),
        "fused": trained(both, run),
    }


def packed(cell: str, shape: str) -> Variants:
    T, B, d, k, n = SHAPES[shape]
    ours, torchs = network(cell, d, k, n), peer(cell, d, n)
    lengths = torch.randint(1, T + 1, (B,)).tolist()
    x = pack_sequence([torch.randn(length, n) for length in lengths], enforce_sorted=False)
    return {
        "torch.nn": trained(torchs, lambda: torchs(x)[0].data),
        "fused": trained(ours, lambda: ours(x)[0].data),
    }


def inference(cell: str, shape: str, batch: int | None = None) -> Variants:
    T, B, d, k, n = SHAPES[shape]
    ours, torchs, x = network(cell, d, k, n), peer(cell, d, n), torch.randn(T, batch or B, n)
    return {"torch.nn": quiet(lambda: torchs(x)), "fused": quiet(lambda: ours(x))}


def one(cell: str, shape: str) -> Variants:
    return inference(cell, shape, batch=1)


def threads(cell: str, shape: str) -> Variants:
    T, B, d, k, n = SHAPES[shape]
    ours, x = network(cell, d, k, n), torch.randn(T, B, n)
    step = trained(ours, lambda: ours(x)[0])

    def with_threads(count: int) -> Callable[[], None]:
        def run() -> None:
            torch.set_num_threads(count)
            step()

        return run

    return {"one": with_threads(1), "two": with_threads(2)}


def measure(rows: list[str], seconds: float) -> Iterator[dict[str, object]]:
    for row in rows:
        for cell, bars in BARS[row].items():
            for shape, bar in bars.items():
                torch.manual_seed(0)
                torch.set_num_threads(1)
                found = (
                    gain(cell, shape, seconds)
                    if row == "threads"
                    else turns(row, cell, shape, seconds)
                )
                key = {"row": row, "cell": cell, "shape": shape, "bar": bar}
                yield key | {"met": met(row, found["ratio"], bar)} | found
    torch.set_num_threads(1)


def met(row: str, ratio: float, bar: float) -> bool:
    """Whether a goal is reached: a gain of at least so much, or a share of at most so much."""
    return ratio >= bar if row == "threads" else ratio <= bar


def turns(row: str, cell: str, shape: str, seconds: float) -> dict[str, Any]:
    """Milliseconds of every variant, and the ratio to torch.nn."""
    variants = globals()[row](cell, shape)
    times = interleave(variants, seconds, time.process_time)
    found: dict[str, Any] = {"ratio": times["fused"] / times["torch.nn"]}
    if row in ALTERNATING:
        both = {name: variants[name] for name in ("torch.nn", "fused")}
        single = interleave(both, seconds / 2, time.process_time, block=0)
        found["alternating"] = single["fused"] / single["torch.nn"]
    return found | {"milliseconds": {name: 1e3 * t for name, t in times.items()}}


def gain(cell: str, shape: str, seconds: float) -> dict[str, Any]:
    """The speed-up by a second thread, in wall time: the median of several runs."""
    variants = threads(cell, shape)
    runs = [interleave(variants, seconds / RUNS, time.perf_counter) for _ in range(RUNS)]
    gains = [times["one"] / times["two"] for times in runs]
    middle = runs[gains.index(statistics.median(gains))]
    ms = {name: 1e3 * t for name, t in middle.items()}
    return {"ratio": statistics.median(gains), "runs": gains, "milliseconds": ms}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rows", default=",".join(BARS))
    parser.add_argument("--name", default="recurrent")
    given = parser.parse_args()
    rows = given.rows.split(",")
    file = RESULTS / f"{given.name}.json"
    tables = json.loads(file.read_text()) if file.exists() else {}
    known = tables.get(processor(), {"results": []})["results"]
    results = [result for result in known if result["row"] not in rows]
    for table_of_one in tables.values():
        for result in table_of_one["results"]:  # other goals since
            bar = result["bar"] = BARS[result["row"]][result["cell"]][result["shape"]]
            result["met"] = met(result["row"], result["ratio"], bar)
    load_kernels()
    for result in measure(rows, given.seconds):
        results.append(result)
        print(result["row"], result["cell"], result["shape"], f"{result['ratio']:.3f}", flush=True)
        tables[processor()] = {"machine": machine(), "results": results}
        write_results(file, tables)


if __name__ == "__main__":
    main()

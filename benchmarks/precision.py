"""What bfloat16 and int8 would gain in inference, and what they would change.

    python benchmarks/precision.py [--seconds 1]

The matrix products of a pass without gradients by torch, in float32, in bfloat16 and in int8 with
scales per pass (`torch.ao`'s dynamic quantisation), conversions of the rows included, since gates
and softmax stay in float32. Process time on one thread, medians of one interleaved run.

The change is that of an untrained network with weights in bfloat16 (everything else in float32):
the largest difference of a hidden vector's entry, and the share of steps in another state. Writes
results/precision.json, a table for each CPU model.
"""

from __future__ import annotations

import argparse
import copy
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from peers import SHAPES, network
from timing import interleave, process_time, write_for_cpu
from torch import Tensor, nn

Product = Callable[[Tensor], Tensor]


def flags() -> list[str]:
    """Instructions for products in low precision that this CPU has."""
    info = Path("/proc/cpuinfo")
    text = info.read_text() if info.exists() else ""
    known = ("avx512_bf16", "avx512_vnni", "avx_vnni", "amx_bf16", "amx_int8")
    return [name for name in known if name in text]


def products(weight: Tensor) -> dict[str, Product]:
    """Rows times the transposed weight, float32 in and out."""
    low = weight.bfloat16()
    linear = nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    linear.weight.data = weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantised = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(linear), {nn.Linear}, dtype=torch.qint8
        )
    return {
        "float32": lambda rows: rows @ weight.T,
        "bfloat16": lambda rows: (rows.bfloat16() @ low.T).float(),
        "int8": quantised,
    }


def variants(shape: str, batch: int) -> dict[str, Callable[[], None]]:
    """A pass of an LSTM: input at once, then a recurrent product and scores for every step."""
    time, _, d, k, size = SHAPES[shape]
    new = torch.randn
    x, weights, u, carried = new(time * batch, size), new(batch, k), new(batch, d), None
    carried = new(time * batch, k)
    W, M, keys, S = (products(w) for w in (new(4 * d, size), new(4 * d, k), new(k, d), new(d, k)))

    def of(kind: str) -> Callable[[], None]:
        @torch.inference_mode()
        def run() -> None:
            W[kind](x)
            for _ in range(time):
                M[kind](weights)
                keys[kind](u)
            S[kind](carried)

        return run

    return {kind: of(kind) for kind in W}


@torch.inference_mode()
def change(shape: str, cell: str) -> dict[str, float]:
    time, batch, d, k, size = SHAPES[shape]
    torch.manual_seed(0)
    exact, x = network(cell, d, k, size), torch.randn(time, batch, size)
    rounded = copy.deepcopy(exact)
    for weight in rounded.parameters():
        weight.copy_(weight.bfloat16().float())
    a, b = exact.trace(x), rounded.trace(x)
    return {
        "largest_difference": (a.hidden - b.hidden).abs().max().item(),
        "other_states": (a.states != b.states).float().mean().item(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    results = []
    for shape in ("A", "C"):
        for batch in (SHAPES[shape][1], 1):
            times = interleave(variants(shape, batch), given.seconds, process_time)
            ms = {name: round(1e3 * t, 3) for name, t in times.items()}
            results.append({"shape": shape, "batch": batch, "milliseconds": ms})
            print(results[-1], flush=True)
    changes = [
        {"shape": shape, "cell": cell} | change(shape, cell)
        for shape in ("A", "C")
        for cell in ("LSTM-P", "GRU")
    ]
    print(changes)
    found = {"instructions": flags(), "results": results, "changes": changes}
    write_for_cpu("precision", found)


if __name__ == "__main__":
    main()

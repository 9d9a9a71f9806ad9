"""How the cost of a train step grows with time, batch, hidden size and states, beside torch.nn.

    python benchmarks/scaling.py [--seconds 0.1]

Writes results/scaling.json, a table for each CPU model, and results/scaling.png, a picture of this
one: microseconds per step of one sequence. Along time the batch is 4, so that 10,000 steps fit into
memory and patience.
"""

from __future__ import annotations

import argparse

import matplotlib as mpl
import torch
from peers import network, peer
from recurrent import trained
from timing import RESULTS, interleave, process_time, write_for_cpu

BASE = {"time": 50, "batch": 64, "hidden": 100, "states": 50}
RANGES = {
    "time": [10, 100, 1000, 10_000],
    "batch": [1, 8, 64, 256],
    "hidden": [16, 64, 256],
    "states": [5, 20, 50, 200],
}


def point(cell: str, seconds: float, **changed: int) -> dict[str, float]:
    """Microseconds per step of one sequence, of both networks."""
    at = BASE | ({"batch": 4} if "time" in changed else {}) | changed
    ours = network(cell, at["hidden"], at["states"], at["hidden"])
    torchs = peer(cell, at["hidden"], at["hidden"])
    x = torch.randn(at["time"], at["batch"], at["hidden"])
    times = interleave(
        {
            "torch.nn": trained(torchs, lambda: torchs(x)[0]),
            "fused": trained(ours, lambda: ours(x)[0]),
        },
        seconds,
        process_time,
    )
    return {name: 1e6 * t / at["time"] / at["batch"] for name, t in times.items()}


def draw(results: dict[str, dict[str, list[dict[str, float]]]]) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(RANGES), figsize=(14, 3.4), layout="constrained")
    for axis, (name, values) in zip(axes, RANGES.items(), strict=True):
        for cell, style in (("LSTM-P", "-"), ("GRU", "--")):
            for kind, colour in (("torch.nn", "tab:gray"), ("fused", "tab:blue")):
                costs = [p[kind] for p in results[cell][name]]
                axis.loglog(values, costs, style, color=colour, marker="o", label=f"{cell} {kind}")
        axis.set_xlabel(name)
        axis.set_xticks(values, [str(value) for value in values])
        axis.minorticks_off()
    axes[0].set_ylabel("microseconds per step and sequence")
    axes[0].legend(fontsize=7)
    figure.savefig(RESULTS / "scaling.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    results = {
        cell: {
            name: [point(cell, given.seconds, **{name: value}) for value in values]
            for name, values in RANGES.items()
        }
        for cell in ("LSTM-P", "GRU")
    }
    write_for_cpu("scaling", {"base": BASE, "ranges": RANGES, "microseconds": results})
    draw(results)
    for cell, rows in results.items():
        for name, points in rows.items():
            costs = (
                f"{v}: {p['fused'] / p['torch.nn']:.2f}"
                for v, p in zip(RANGES[name], points, strict=True)
            )
            print(cell, name, "ratio to torch.nn", ", ".join(costs))


if __name__ == "__main__":
    main()

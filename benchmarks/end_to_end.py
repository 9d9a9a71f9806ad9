"""What a user waits for: an epoch of a text classifier, and a language's exact automaton.

    python benchmarks/end_to_end.py [--texts 640] [--rounds 3]

The epoch is forward, loss, backward and Adam over texts of a mean length of 230 out of 20,000
words, in process seconds, beside Embedding + nn.LSTM in the same run, on packed sequences and on
padded ones. Seconds to the automaton, training and reading, are those of
experiments/results/tomita.json. Writes
results/end_to_end.json, a table for each CPU model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from timing import write_for_cpu
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_sequence, pad_sequence

from kleene.nn import SRLSTM

VOCABULARY, HIDDEN, STATES, MEAN_LENGTH, BATCH = 20_000, 128, 10, 230, 32
TOMITA = Path(__file__).parents[1] / "experiments" / "results" / "tomita.json"
Batches = list[tuple[list[Tensor], Tensor]]


def texts(count: int, seed: int = 0) -> Batches:
    """Batches of texts of similar length, as a loader would make them, and their labels."""
    rng = np.random.default_rng(seed)
    lengths = np.sort(rng.lognormal(np.log(MEAN_LENGTH) - 0.125, 0.5, count).astype(int) + 1)
    words = [torch.from_numpy(rng.integers(0, VOCABULARY, length)) for length in lengths]
    labels = torch.from_numpy(rng.integers(0, 2, count))
    starts = rng.permutation(np.arange(0, count, BATCH))
    return [(words[i : i + BATCH], labels[i : i + BATCH]) for i in starts]


class Torchs(nn.Module):
    """Embedding + nn.LSTM on packed sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
        self.rnn = nn.LSTM(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, 2)

    def forward(self, words: list[Tensor]) -> Tensor:
        """Scores of the classes."""
        packed = pack_sequence(words, enforce_sorted=False)
        packed = packed._replace(data=self.embedding(packed.data))
        scores: Tensor = self.head(self.rnn(packed)[1][0][0])
        return scores


class Padded(Torchs):
    """Embedding + nn.LSTM on a padded batch: faster than packed, at the price of empty steps."""

    def forward(self, words: list[Tensor]) -> Tensor:
        """Scores of the classes; zeros stand in front, so that the last step is a word's."""
        ids = pad_sequence(words, padding_side="left")
        scores: Tensor = self.head(self.rnn(self.embedding(ids))[1][0][0])
        return scores


class Ours(Torchs):
    """The same with states; the embedding's rows are projected in the loop."""

    def __init__(self, peephole: bool) -> None:
        super().__init__()
        self.rnn = SRLSTM(HIDDEN, HIDDEN, num_states=STATES, peephole=peephole)


def epoch(network: nn.Module, batches: Batches) -> Callable[[], float]:
    """Process seconds of one epoch."""
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)

    def run() -> float:
        start = time.process_time()
        for words, labels in batches:
            optimizer.zero_grad(set_to_none=True)
            nn.functional.cross_entropy(network(words), labels).backward()
            optimizer.step()
        return time.process_time() - start

    return run


def automata() -> dict[str, float]:
    """Median process seconds from words to the exact automaton, per language."""
    if not TOMITA.exists():
        return {}
    rows = json.loads(TOMITA.read_text())["rows"]
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["result"]["exact"]:
            seconds = row["result"]["fit_seconds"] + row["result"]["extract_seconds"]
            found.setdefault(f"Tomita {row['key']['grammar']}", []).append(seconds)
    return {name: round(statistics.median(times), 1) for name, times in sorted(found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=640, help="in an epoch")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    batches = texts(given.texts)
    runs = {
        "Embedding + nn.LSTM, packed": epoch(Torchs(), batches),
        "Embedding + nn.LSTM, padded": epoch(Padded(), batches),
        "SRLSTM": epoch(Ours(peephole=False), batches),
        "SRLSTM with peepholes": epoch(Ours(peephole=True), batches),
    }
    for network in (Torchs(), Ours(peephole=True)):
        epoch(network, batches[:1])()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(given.rounds):
        for name, run in runs.items():
            taken[name].append(run())
            print(name, f"{taken[name][-1]:.1f} s", flush=True)
    seconds = {name: statistics.median(times) for name, times in taken.items()}
    base = next(iter(seconds.values()))
    steps = sum(len(text) for words, _ in batches for text in words)
    write_for_cpu(
        "end_to_end",
        {
            "texts": given.texts,
            "mean_length": round(steps / given.texts, 1),
            "seconds_per_epoch": {name: round(s, 2) for name, s in seconds.items()},
            "ratio": {name: round(s / base, 3) for name, s in seconds.items()},
            "seconds_to_exact_automaton": automata(),
        },
    )
    for name, s in seconds.items():
        print(f"{name}: {s:.2f} s an epoch, ratio {s / base:.2f}")


if __name__ == "__main__":
    main()

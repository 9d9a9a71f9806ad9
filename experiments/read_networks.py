"""Networks of others, read by `kleene.read`: TAYSIR 2023, and stock torch networks on Tomita 1-7.

TAYSIR: three networks of track 1, their words half for the search and half held out. Tomita: a
plain `nn.GRU` and `nn.LSTM` trained by the loop below; the network "has" the language if it labels
all words up to length 12 right, and the reading is exact if its automaton is the language. Beside
it, AALpy's own KV with its random-word oracle, one word a query, on the same networks.

Run: KLEENE_DATA=... python experiments/read_networks.py [--seeds 3] [--rows taysir tomita]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from itertools import product
from pathlib import Path
from typing import Any

import torch
from ledger import Ledger
from safetensors.torch import load_file
from torch import nn

import kleene as kl
from kleene.adapt import Classify

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
TAYSIR = ("1.2", "1.5", "1.9")
LENGTHS = [*range(16), 20, 25, 30]
START, END = 2, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("KLEENE_DATA", "data")))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", nargs="+", default=["taysir", "tomita"])
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("read_networks")
    for name in TAYSIR if "taysir" in options.rows else ():
        work = lambda n=name: taysir(options.data / "networks", n, options.seconds)  # noqa: E731
        show(ledger.run(work, network=f"taysir {name}", seed=0))
    tasks = product(range(options.seeds), range(1, 8), ("gru", "lstm"))
    for seed, grammar, cell in tasks if "tomita" in options.rows else ():
        work = lambda g=grammar, c=cell, s=seed: tomita(g, c, s, options.seconds)  # noqa: E731
        show(ledger.run(work, network=f"tomita {grammar} {cell}", seed=seed))


def show(row: dict[str, Any]) -> None:
    print(row["key"], {k: v for k, v in row["result"].items() if k != "front"}, flush=True)


def taysir(folder: Path, name: str, seconds: float) -> dict[str, Any]:
    """One of the competition's networks."""
    about = json.loads((folder / f"taysir-{name}.json").read_text())
    with gzip.open(folder / f"taysir-{name}.words.tsv.gz", "rt") as file:
        words = [tuple(map(int, line.split("\t")[0].split())) for line in file]
    network = build(about, load_file(folder / f"taysir-{name}.safetensors"))
    special = (about["start"], about["end"])
    alphabet = [i for i in range(about["symbols"]) if i not in special]
    started = time.process_time()
    reading = kl.read(network, alphabet, words, seconds=seconds)
    return figures(reading) | {"read_cpu_seconds": round(time.process_time() - started, 2)}


def build(about: dict[str, Any], weights: dict[str, torch.Tensor]) -> Classify:
    """The network that the file of shapes describes, with its weights."""
    rnn = CELLS[about["cell"]](
        about["symbols"],
        about["hidden_size"],
        num_layers=about["layers"],
        bidirectional=about["bidirectional"],
    )
    parts = {name: w for name, w in weights.items() if name.startswith("rnn")}
    rnn.load_state_dict(
        {
            name.split(".", 1)[1].replace("_l0", f"_l{name.split('.')[0][3:]}"): w
            for name, w in parts.items()
        }
    )
    layers: list[nn.Module] = []
    for i in range(about["dense"]):
        weight, bias = weights[f"dense{i}.weight"], weights[f"dense{i}.bias"]
        layer = nn.Linear(weight.shape[1], weight.shape[0])
        layer.load_state_dict({"weight": weight, "bias": bias})
        layers.append(layer)
    head = nn.Sequential(*layers, nn.Sigmoid())
    return kl.adapt.torch(rnn, head, embed=about["symbols"], start=about["start"], end=about["end"])


def tomita(grammar: int, cell: str, seed: int, seconds: float) -> dict[str, Any]:
    """A stock network on a language: does it have it, and is it read?"""
    language = kl.languages.tomita(grammar)
    words, labels = language.sample(2000, lengths=LENGTHS, seed=seed)
    network = train_stock(cell, [[*map(int, word)] for word in words], labels, seed)
    short = ["".join(letters) for n in range(13) for letters in product("01", repeat=n)]
    answers = network(short)
    has = all(bool(a) == language.contains(w) for a, w in zip(answers, short, strict=True))
    started = time.process_time()
    reading = kl.read(network, "01", words, seconds=seconds, seed=seed)
    agrees = all(
        reading.dfa.run(word) == answer for word, answer in zip(short, answers, strict=True)
    )
    recognizer = reading.dfa.recognizer(1) if len(set(answers)) > 1 else reading.dfa
    return figures(reading) | {
        "read_cpu_seconds": round(time.process_time() - started, 2),
        "network_has_language": has,
        "agrees_with_network_up_to_12": agrees,
        "exact": len(set(answers)) > 1 and recognizer == language.dfa,
    }


def train_stock(cell: str, words: list[list[int]], labels: list[bool], seed: int) -> Classify:
    """A plain torch network of width 32, batches of one length, short words first."""
    torch.manual_seed(seed)
    embedding, rnn = nn.Embedding(4, 16), CELLS[cell](16, 32, batch_first=True)
    head = nn.Linear(32, 2)
    weights = [*embedding.parameters(), *rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(weights, lr=3e-3)
    by_length: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        by_length.setdefault(len(word), []).append(i)
    limit, started = 4, time.process_time()
    while time.process_time() - started < 20:
        right = total = 0
        for length in sorted(by_length):
            if length > limit:
                break
            rows = torch.tensor([[START, *words[i], END] for i in by_length[length]])
            truth = torch.tensor([int(labels[i]) for i in by_length[length]])
            for part in torch.randperm(len(rows)).split(64):
                out, _ = rnn(embedding(rows[part]))
                scores = head(out[:, -1])
                optimizer.zero_grad()
                nn.functional.cross_entropy(scores, truth[part]).backward()
                nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
                right += int((scores.argmax(-1) == truth[part]).sum())
                total += len(part)
        if right == total and limit >= max(by_length):
            break
        limit += 2 * (right / total > 0.97)
    return kl.adapt.torch(rnn, head, embed=embedding, start=START, end=END, ids={"0": 0, "1": 1})


def figures(reading: Any) -> dict[str, Any]:
    return {
        "states": reading.dfa.num_states,
        "held_out_error": reading.chosen.held_out_error,
        "held_out_words": reading.chosen.held_out_words,
        "random_error": reading.chosen.random_error,
        "queries": reading.queries,
        "front": [point.to_dict() for point in reading.front],
    }


if __name__ == "__main__":
    main()

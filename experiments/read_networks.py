"""Networks of others, read by `kleene.read`: TAYSIR 2023, and stock torch networks on Tomita 1-7.

TAYSIR: three networks of track 1, their words half for the search and half held out. Tomita: a
plain `nn.GRU` and `nn.LSTM` trained by the loop below; the network "has" the language if it labels
all words up to length 12 right, and the reading is exact if its automaton is the language. Beside
it, AALpy's own KV with its random-word oracle, one prefix a query, on the same networks and within
the same time.

Run: KLEENE_DATA=... python experiments/read_networks.py [--seeds 3] [--rows taysir tomita]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from aalpy.base import SUL
from aalpy.learning_algs import run_KV
from aalpy.oracles import RandomWordEqOracle
from ledger import Ledger
from safetensors.torch import load_file
from torch import nn

import kleene as kl
from kleene.extraction.adapters import Classify

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
    read_seconds = round(time.process_time() - started, 2)
    return figures(reading) | {
        "read_cpu_seconds": read_seconds,
        "aalpy": by_aalpy(network, alphabet, words[::10], seconds=seconds),
    }


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
    read_seconds = round(time.process_time() - started, 2)
    return figures(reading) | {
        "read_cpu_seconds": read_seconds,
        "aalpy": by_aalpy(network, "01", short, seconds=seconds),
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


class OneWordAtATime(SUL):  # type: ignore[misc]
    """A network as AALpy's documentation shows it: every prefix is one call."""

    def __init__(self, network: Classify, seconds: float) -> None:
        super().__init__()
        self.network, self.word = network, []
        self.deadline = time.process_time() + seconds

    def pre(self) -> None:
        """Begin a word."""
        self.word = []

    def post(self) -> None:
        """Nothing to clean up."""

    def step(self, letter: Any) -> Any:
        """The label after one more symbol."""
        if time.process_time() > self.deadline:
            raise TimeoutError
        if letter is not None:
            self.word.append(letter)
        return self.network([tuple(self.word)])[0]


def by_aalpy(
    network: Classify, alphabet: Sequence[Any], words: Sequence[Any], *, seconds: float
) -> dict[str, Any]:
    """AALpy's KV with 1,000 random words for each equivalence query, within the same time."""
    sul = OneWordAtATime(network, seconds)
    oracle = RandomWordEqOracle(list(alphabet), sul, num_walks=1000, max_walk_len=20)
    started = time.process_time()
    try:
        machine = run_KV(list(alphabet), sul, oracle, automaton_type="moore", print_level=0)
    except TimeoutError:
        return {"stopped": True, "cpu_seconds": round(time.process_time() - started, 2)}
    dfa = kl.DFA.from_aalpy(machine).minimize()
    wrong = sum(dfa.run(w) != y for w, y in zip(words, network(words), strict=True))
    return {
        "stopped": False,
        "states": dfa.num_states,
        "error": wrong / len(words),
        "cpu_seconds": round(time.process_time() - started, 2),
    }


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

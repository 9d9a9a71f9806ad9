"""Networks of the benchmark: trained on known languages, kept as safetensors with a manifest.

Every network is made from a seed and a number of passes, never from a clock, so that the same
machine makes the same bytes again; the manifest has their SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from extraction_benchmark.tasks import Task, tasks
from safetensors.torch import load, save
from torch import Tensor, nn
from transformer import Transformer

import kleene as kl
from kleene.files import write_atomically
from kleene.machine import Word

PASSES, LEARNING_RATE, BATCH, PASSED = 60, 5e-3, 128, 0.97
EMBEDDING = 16
CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "gru-32": {"cell": "gru", "width": 32},
    "lstm-32": {"cell": "lstm", "width": 32},
    "rnn-32": {"cell": "rnn", "width": 32},
    "gru-64x2": {"cell": "gru", "width": 64, "layers": 2},
    "bi-gru-32": {"cell": "gru", "width": 32, "bidirectional": True},
    "gru-16": {"cell": "gru", "width": 16},
    "ssm-64": {"cell": "ssm", "width": 64},
    "lstm-64x2": {"cell": "lstm", "width": 64, "layers": 2},
    "transformer": {"cell": "transformer"},
    "lstm-128": {"cell": "lstm", "width": 128},
    "gru-256": {"cell": "gru", "width": 256},
}
EACH = 6
"""Architectures of each task; the next task goes on where one stopped."""
SR_TASKS = {"sr-gru": ("tomita3", "tomita4", "tomita7"), "sr-lstm": ("tomita4", "dyck1")}
QUICK = ("tomita4", "tomita5", "random5", "random12", "SL.4", "dyck1")


class Recurrent(nn.Module):
    """A stock torch network over token ids, (batch, time), with a linear head."""

    def __init__(self, symbols: int, about: dict[str, Any]) -> None:
        super().__init__()
        layers, both = about.get("layers", 1), about.get("bidirectional", False)
        self.embedding = nn.Embedding(symbols + 1, EMBEDDING)
        self.rnn = CELLS[about["cell"]](
            EMBEDDING, about["width"], layers, batch_first=True, bidirectional=both
        )
        self.head = nn.Linear(about["width"] * (1 + both), 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores of the two labels."""
        _, state = self.rnn(self.embedding(ids))
        h = state[0] if isinstance(state, tuple) else state
        return self.head(torch.cat([*h[-2:]], -1) if self.rnn.bidirectional else h[-1])

    def states(self, ids: Tensor) -> Tensor:
        """All that the network remembers after each token, (batch, time, size)."""
        x, state, found = self.embedding(ids), None, []
        for t in range(ids.shape[1]):
            _, state = self.rnn(x[:, t : t + 1], state)
            parts = state if isinstance(state, tuple) else (state,)
            found.append(torch.cat([layer for part in parts for layer in part], -1))
        return torch.stack(found, 1)


class StateSpace(nn.Module):
    """Two layers of x_t = a * x_{t-1} + B u_t with a diagonal a in (-1, 1), gated between."""

    def __init__(self, symbols: int, about: dict[str, Any]) -> None:
        super().__init__()
        width = about["width"]
        self.embedding = nn.Embedding(symbols + 1, width)
        self.decay = nn.ParameterList(nn.Parameter(2 * torch.randn(width)) for _ in range(2))
        self.into = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.gate = nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(2))
        self.head = nn.Linear(width, 2)

    def _layers(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        u, remembered = self.embedding(ids), []
        for decay, into, gate in zip(self.decay, self.into, self.gate, strict=True):
            a, v, x = torch.tanh(decay), into(u), torch.zeros_like(u[:, 0])
            found = []
            for t in range(ids.shape[1]):
                x = a * x + v[:, t]
                found.append(x)
            states = torch.stack(found, 1)
            remembered.append(states)
            u = u + nn.functional.glu(gate(states), -1)
        return u, torch.cat(remembered, -1)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores of the two labels."""
        return self.head(self._layers(ids)[0][:, -1])

    def states(self, ids: Tensor) -> Tensor:
        """Both layers' states after each token, (batch, time, size)."""
        return self._layers(ids)[1]


class Attention(nn.Module):
    """The transformer of `experiments/transformer.py`; it keeps no state."""

    def __init__(self, symbols: int, about: dict[str, Any]) -> None:
        super().__init__()
        self.network = Transformer(symbols + 1)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores of the two labels."""
        return self.network(ids + 1)


def build(symbols: int, about: dict[str, Any]) -> nn.Module:
    """An untrained network; the token after the symbols begins every word."""
    kinds: dict[str, Callable[..., nn.Module]] = {"ssm": StateSpace, "transformer": Attention}
    return kinds.get(about["cell"], Recurrent)(symbols, about)


def encode(words: Sequence[Word], alphabet: Sequence[Any]) -> dict[int, tuple[list[int], Tensor]]:
    """Words by length: their places and their token ids with the start token, (word, 1 + time)."""
    ids = {symbol: i for i, symbol in enumerate(alphabet)}
    by_length: dict[int, list[int]] = {}
    for place, word in enumerate(words):
        by_length.setdefault(len(word), []).append(place)
    start = len(ids)
    return {
        length: (places, torch.tensor([[start, *(ids[s] for s in words[i])] for i in places]))
        for length, places in sorted(by_length.items())
    }


def train(network: nn.Module, words: list[Word], labels: list[bool], task: Task, seed: int) -> int:
    """Adam on batches of one length, short words first; returns the passes it took."""
    random = torch.Generator().manual_seed(seed)
    rate = LEARNING_RATE / (5 if isinstance(network, Attention) else 1)
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    truth, limit = torch.tensor(labels, dtype=torch.long), 4
    encoded = encode(words, task.language.alphabet)
    for passed in range(1, PASSES + 1):  # noqa: B007
        right = total = 0
        for length, (places, ids) in encoded.items():
            if length > limit:
                break
            goals = truth[places]
            for part in torch.randperm(len(ids), generator=random).split(BATCH):
                scores = network(ids[part])
                optimizer.zero_grad()
                nn.functional.cross_entropy(scores, goals[part]).backward()
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
                right += int((scores.argmax(-1) == goals[part]).sum())
                total += len(part)
        if right == total and limit >= max(encoded):
            break
        limit += 2 * (right > PASSED * total)
    return passed


@dataclass(frozen=True, kw_only=True)
class Network:
    """A trained network: its labels, and its states where it reads from left to right."""

    name: str
    task: Task
    module: nn.Module | None
    model: kl.Model | None = None

    def __call__(self, words: Sequence[Word]) -> list[bool]:
        """The label of each word."""
        answers = np.zeros(len(words), dtype=bool)
        if self.model is not None:
            return [bool(label) for label in self.model.predict(words)]
        with torch.inference_mode():
            for places, ids in encode(words, self.task.language.alphabet).values():
                for part in torch.arange(len(ids)).split(512):
                    answers[np.array(places)[part]] = self.module(ids[part]).argmax(-1).bool()
        return answers.tolist()

    @property
    def has_states(self) -> bool:
        """Whether `states` can be asked for."""
        backward = getattr(getattr(self.module, "rnn", None), "bidirectional", False)
        return hasattr(self.module, "states") and not backward

    def states(self, words: Sequence[Word]) -> list[np.ndarray]:
        """What the network remembers after each prefix of each word, (1 + time, size)."""
        found: dict[int, np.ndarray] = {}
        with torch.inference_mode():
            for places, ids in encode(words, self.task.language.alphabet).values():
                found |= dict(zip(places, self.module.states(ids).numpy(), strict=True))
        return [found[i] for i in range(len(words))]


def plan(quick: bool) -> list[tuple[str, str, int]]:
    """(task, architecture, seed) of every network."""
    names, made, place = list(ARCHITECTURES), [], 0
    for task in QUICK if quick else tasks():
        for _ in range(1 if quick else EACH):
            made.append((task, names[place % len(names)], place))
            place += 1
    if not quick:
        made += [(task, kind, 0) for kind, listed in SR_TASKS.items() for task in listed]
    return made


def default_folder() -> Path:
    """Where networks are kept."""
    cache = os.environ.get("KLEENE_CACHE", Path.home() / ".cache" / "kleene")
    return Path(cache) / "extraction_benchmark"


def make(folder: Path, task: Task, architecture: str, seed: int) -> dict[str, Any]:
    """Train one network and write it; returns its entry of the manifest."""
    name = f"{task.name}-{architecture}-{seed}"
    words, labels = task.training(seed)
    torch.manual_seed(seed)
    if architecture in SR_TASKS:
        classifier = kl.SequenceClassifier(
            cell=architecture.removeprefix("sr-").replace("lstm", "lstm-p"),
            learn="network", random_state=seed,
        ).fit(words, labels)  # fmt: skip
        classifier.save(folder / name)
        content = (folder / name / "model.safetensors").read_bytes()
        network, passes = Network(name=name, task=task, module=None, model=classifier.model), 0
    else:
        module = build(len(task.language.alphabet), ARCHITECTURES[architecture])
        passes = train(module, words, labels, task, seed)
        content = save(module.state_dict())
        write_atomically(folder / f"{name}.safetensors", content)
        network = Network(name=name, task=task, module=module.eval())
    tests = task.tests(seed)
    accuracy = {
        kind: float(np.mean(np.array(network(t)) == [task.language.contains(w) for w in t]))
        for kind, t in {"training": words, **tests}.items()
    }
    return {
        "name": name, "task": task.name, "architecture": architecture, "seed": seed,
        "passes": passes, "accuracy": accuracy, "sha256": hashlib.sha256(content).hexdigest(),
    }  # fmt: skip


def manifest(folder: Path) -> dict[str, dict[str, Any]]:
    """The networks in a folder, by name."""
    file = folder / "manifest.json"
    return json.loads(file.read_text()) if file.exists() else {}


def make_all(folder: Path, *, quick: bool, again: int = 0) -> list[dict[str, Any]]:
    """Train the networks that are not there yet; make `again` so many and compare the bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = []
    for number, (task, architecture, seed) in enumerate(plan(quick)):
        name = f"{task}-{architecture}-{seed}"
        known = manifest(folder)
        if name not in known or number < again:
            entry = make(folder, tasks()[task], architecture, seed)
            if known.get(name, entry)["sha256"] != entry["sha256"]:
                raise SystemExit(f"{name} has other weights than the manifest says")
            print(name, entry["passes"], entry["accuracy"], flush=True)
            text = json.dumps({**known, name: entry}, indent=1)
            write_atomically(folder / "manifest.json", text)
        entries.append(manifest(folder)[name])
    return entries


def open_network(folder: Path, entry: dict[str, Any]) -> Network:
    """A network of the manifest."""
    name, task = entry["name"], tasks()[entry["task"]]
    if entry["architecture"] in SR_TASKS:
        return Network(name=name, task=task, module=None, model=kl.load(folder / name))
    module = build(len(task.language.alphabet), ARCHITECTURES[entry["architecture"]])
    module.load_state_dict(load((folder / f"{name}.safetensors").read_bytes()))
    return Network(name=name, task=task, module=module.eval())

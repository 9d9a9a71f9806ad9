"""The paper's two theorems, as experiments on random networks."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import pytest
import torch
from torch import Tensor

from kleene.data.alphabet import START
from kleene.data.batch import Batch, make_batch
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.mode import HARD
from kleene.nn.trace import Trace

torch.set_num_threads(1)

SYMBOLS = (4, 5, 6)
SEEDS = range(4)


def random_network(seed: int, **settings: object) -> Classifier:
    torch.manual_seed(seed)
    config = {"num_symbols": 7, "num_classes": 2, "input_size": 3, "hidden_size": 4}
    config |= {"num_states": 5, **settings}
    network = Classifier(NetworkConfig(**config)).double().eval().requires_grad_(False)
    with torch.no_grad():
        for name, weight in network.rnn.named_parameters():
            if not name.startswith("log_temperature"):
                weight.normal_(std=1.5)
    return network


def all_words(longest: int) -> Batch:
    words = [w for n in range(longest + 1) for w in itertools.product(SYMBOLS, repeat=n)]
    return make_batch([np.array(word, dtype=np.int64) for word in words])


def padded(batch: Batch) -> Tensor:
    """Tokens by row and time, the start token first; 0 in the padding."""
    tokens = np.zeros((len(batch), 1 + len(batch.batch_sizes)), dtype=np.int64)
    tokens[:, 0] = START
    for t, (start, n) in enumerate(
        zip(np.cumsum(batch.batch_sizes) - batch.batch_sizes, batch.batch_sizes, strict=True)
    ):
        tokens[:n, t + 1] = batch.tokens[start : start + n]
    return torch.from_numpy(tokens)


def spread(batch: Batch, trace: Trace, layer: int = 0) -> float:
    """How far next-state distributions differ between histories that should not matter.

    Grouped by the states of all layers, the next symbol, and the states that the layers below
    have already moved to.
    """
    tokens, states = padded(batch), trace.global_states
    groups: dict[tuple, list[Tensor]] = defaultdict(list)
    for row, length in enumerate(batch.lengths):
        for t in range(1, length + 1):
            before, moved = states[row, t - 1].tolist(), states[row, t, :layer].tolist()
            key = (*before, int(tokens[row, t]), *moved)
            groups[key].append(trace.layers[layer].probs[row, t])
    several = [torch.stack(group) for group in groups.values() if len(group) > 1]
    assert len(several) >= 5
    return max(float((group - group[0]).abs().max()) for group in several)


@pytest.mark.parametrize("similarity", ["dot", "euclidean", "cosine"])
@pytest.mark.parametrize("cell", ["rnn", "gru"])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_only_state_and_symbol_decide(cell, similarity, seed) -> None:
    """Under sampling, the next state's distribution is that of (state, symbol), whatever came."""
    network = random_network(seed, cell=cell, similarity=similarity, transition="sample")
    batch = all_words(4)
    trace = network.trace(batch)
    assert spread(batch, trace) < 1e-12
    probs, _ = network.advance(trace.global_states[:, 0], padded(batch)[:, 1])
    longer = torch.from_numpy(batch.lengths > 0)
    torch.testing.assert_close(probs[0][longer], trace.probs[longer, 1])


def test_theorem_1_for_the_states_of_several_layers() -> None:
    network = random_network(0, num_layers=2, transition="sample")
    batch = all_words(5)
    trace = network.trace(batch)
    assert spread(batch, trace, layer=0) < 1e-12
    assert spread(batch, trace, layer=1) < 1e-12


@pytest.mark.parametrize("settings", [{"transition": "mixture"}, {"cell": "lstm"}], ids=str)
def test_theorem_1_needs_its_premises(settings) -> None:
    """A mixture remembers in its weights, an LSTM in its memory: there, history does matter."""
    network = random_network(0, **{"transition": "sample", **settings})
    batch = all_words(4)
    assert spread(batch, network.trace(batch)) > 1e-3


def hard_table(network: Classifier) -> tuple[int, dict[tuple[int, int], int], float]:
    """The start state, all transitions between reachable states, and the closest call of all."""
    closest = float("inf")

    def step(states: Tensor | None, token: int) -> int:
        nonlocal closest
        probs, after = network.advance(states, torch.tensor([token]))
        first, second = probs[0][0].log().topk(2).values.tolist()
        closest = min(closest, (first - second) * network.rnn.temperature)
        return int(after)

    start = step(None, START)
    table: dict[tuple[int, int], int] = {}
    agenda = [start]
    for state in agenda:
        for symbol in SYMBOLS:
            table[state, symbol] = step(torch.tensor([[state]]), symbol)
            if table[state, symbol] not in agenda:
                agenda.append(table[state, symbol])
    return start, table, closest


@pytest.mark.parametrize("transition", ["mixture", "gumbel"])
@pytest.mark.parametrize("similarity", ["dot", "euclidean", "cosine"])
@pytest.mark.parametrize("cell", ["rnn", "gru"])
@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_2_a_cold_network_is_a_deterministic_table(
    cell, similarity, transition, seed
) -> None:
    """As the temperature falls, the soft network follows the table read off its hard steps."""
    network = random_network(seed, cell=cell, similarity=similarity, transition=transition)
    start, table, closest = hard_table(network)
    batch = all_words(5)
    tokens, expected = padded(batch), torch.full((len(batch), 6), -1)
    for row, length in enumerate(batch.lengths):
        expected[row, 0] = start
        for t in range(1, length + 1):
            expected[row, t] = table[int(expected[row, t - 1]), int(tokens[row, t])]

    assert torch.equal(network.trace(batch, mode=HARD).states, expected)

    doubt = []
    for coldness in (1e-1, 1e-2, 1e-3):
        network.rnn.temperature = coldness * closest
        trace = network.trace(batch)
        doubt.append(float((1 - trace.probs[trace.mask].max(-1).values).max()))
    assert torch.equal(trace.states, expected)
    assert doubt[-1] <= doubt[0]
    assert doubt[-1] < 1e-12
    assert torch.equal(network(batch).argmax(-1), network.classify_states(last(trace)).argmax(-1))


def last(trace: Trace) -> Tensor:
    return trace.global_states[torch.arange(len(trace.lengths)), trace.lengths - 1]


def test_theorem_2_needs_the_cold() -> None:
    """Some random network, warm, leaves the table that it follows when cold."""
    batch = all_words(5)
    left = 0
    for seed in range(10):
        network = random_network(seed, temperature=1.0)
        expected = network.trace(batch, mode=HARD).states
        left += not torch.equal(network.trace(batch).states, expected)
    assert left > 0

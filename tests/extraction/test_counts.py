"""Counts and means against plain loops over the network's own traces."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch
from built_models import random_model

from kleene.data.batch import make_batch
from kleene.extraction.extract import extract
from kleene.machine import Word
from kleene.model import Model

WORDS: list[Word] = ["", "abba", "bbabab", "aab", "bbbbbb", "abab", "baaab", "aaaaaa"]


def traces(model: Model) -> list[tuple[Word, np.ndarray, np.ndarray]]:
    """Each word with its states and its probabilities, one word at a time."""
    found = []
    for word in WORDS:
        with torch.inference_mode():
            trace = model.network.trace(make_batch(model.alphabet.encode_many([word])))
        assert trace.probs is not None
        found.append((word, trace.global_states[0].numpy(), trace.probs[0].numpy()))
    return found


@pytest.mark.parametrize("cell", ["gru", "lstm-p", "rnn"])
@pytest.mark.parametrize("seed", range(4))
def test_counts_is_algorithm_1(cell: str, seed: int) -> None:
    model = random_model(seed, cell=cell)
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for word, states, _ in traces(model):
        for t, symbol in enumerate(word):
            counts[str(states[t][0]), str(symbol)][str(states[t + 1][0])] += 1
    raw = extract(model, WORDS, method="counts", seconds=0).raw
    for (state, symbol), votes in counts.items():
        kept = raw.name(raw.step(raw.names.index(state), symbol))
        assert votes[kept] == max(votes.values())
    assert {(s, a) for s in raw.names if s != "sink" for a in "ab"} - set(counts) == set(
        extract(model, WORDS, method="counts").unseen
    )


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("seed", range(4))
def test_mean_is_the_papers_mean_of_the_largest_probability(cell: str, seed: int) -> None:
    model = random_model(seed, cell=cell)
    phi: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for word, states, probs in traces(model):
        for t, symbol in enumerate(word):
            step = phi[str(states[t][0]), str(symbol)]
            step[str(states[t + 1][0])].append(float(probs[t + 1].max()))
    raw = extract(model, WORDS, method="mean").raw
    for (state, symbol), successors in phi.items():
        means = {after: np.mean(largest) for after, largest in successors.items()}
        kept = raw.name(raw.step(raw.names.index(state), symbol))
        assert means[kept] == pytest.approx(max(means.values()), abs=1e-6)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("seed", range(4))
def test_the_mass_of_an_ambiguity_is_the_mean_probability(cell: str, seed: int) -> None:
    model = random_model(seed, cell=cell)
    rows = defaultdict(list)
    for word, states, probs in traces(model):
        for t, symbol in enumerate(word):
            rows[str(states[t][0]), symbol].append(probs[t + 1])
    for one in extract(model, WORDS, method="counts").ambiguities:
        if one.symbol is not None:
            mean = np.mean(rows[one.state, one.symbol], axis=0)
            seen = sum(
                mean[int(s)] for s in {str(s[0]) for _, all_, _ in traces(model) for s in all_}
            )
            assert one.mass == pytest.approx(mean[int(str(one.next_state))] / seen, abs=1e-5)
            assert one.rival_mass == pytest.approx(mean[int(str(one.rival))] / seen, abs=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_a_state_has_the_label_of_most_prefixes_that_end_there(seed: int) -> None:
    model = random_model(seed, cell="lstm")
    votes: dict[str, Counter[bool]] = defaultdict(Counter)
    for word, states, _ in traces(model):
        for t in range(len(word) + 1):
            with torch.inference_mode():
                batch = make_batch(model.alphabet.encode_many([word[:t]]))
                votes[str(states[t][0])][bool(model.network(batch).argmax())] += 1
    raw = extract(model, WORDS, method="counts").raw
    for state, labels in votes.items():
        assert labels[raw.output(raw.names.index(state))] == max(labels.values())

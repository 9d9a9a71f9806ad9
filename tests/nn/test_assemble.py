"""Modules of one's own training loop, as a model."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch
from torch import nn

import kleene as kl
from kleene.data.examples import Examples
from kleene.errors import ModelError
from kleene.evaluation.metrics import evaluate
from kleene.extraction.extract import extract
from kleene.extraction.words import encode_words

START = 2


def modules(kind: str, layers: int = 1, seed: int = 0):
    torch.manual_seed(seed)
    layer = getattr(kl.nn, kind)(4, 6, num_layers=layers, num_states=5, batch_first=True)
    return nn.Embedding(3, 4), layer, nn.Linear(6, 2)


@pytest.mark.parametrize("kind", ["SRRNN", "SRGRU", "SRLSTM"])
@pytest.mark.parametrize("layers", [1, 2])
def test_the_model_scores_as_the_loop_did(kind: str, layers: int) -> None:
    embedding, layer, head = modules(kind, layers)
    model = kl.Model.from_modules(embedding, layer, head, (0, 1), ("no", "yes"), start=START)
    for word in [(), (0,), (1, 1, 0), (0, 1, 1, 0, 1)]:
        out, _ = layer(embedding(torch.tensor([[START, *word]])))
        expected = head(out[:, -1])
        ids = encode_words(model, [word])
        batch = next(iter(Examples(words=ids, labels=np.zeros(1, np.int64)).in_order(1)))
        assert torch.allclose(model.network(batch), expected, atol=1e-6)


def test_a_network_of_a_loop_of_ones_own_is_read_and_proved() -> None:
    """Whether the last symbol is 1: learned by a plain loop, then extracted and certified."""
    torch.manual_seed(1)
    embedding, head = nn.Embedding(3, 4), nn.Linear(8, 2)
    layer = kl.nn.SRGRU(4, 8, num_states=3, temperature=0.3, batch_first=True)
    weights = [p for m in (embedding, layer, head) for p in m.parameters()]
    optimizer = torch.optim.Adam(weights, lr=0.02)
    words = torch.tensor(list(product((0, 1), repeat=5)))
    x = torch.cat([torch.full((len(words), 1), START), words], 1)
    for _ in range(150):
        out, _ = layer(embedding(x))
        loss = nn.functional.cross_entropy(head(out[:, -1]), words[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model = kl.Model.from_modules(embedding, layer, head, (0, 1), (False, True), start=START)
    reading = extract(model)
    assert reading.faithful
    assert [reading.dfa.run(word) for word in [(0,), (1,), (1, 0), (0, 0, 1)]] == [
        False,
        True,
        False,
        True,
    ]
    examples = Examples(words=encode_words(model, words.tolist()), labels=words[:, -1].numpy())
    assert evaluate(model.network, examples).accuracy == 1


def test_parts_that_do_not_fit_are_named() -> None:
    embedding, layer, head = modules("SRGRU")
    with pytest.raises(ModelError, match="SRRNN, SRGRU or SRLSTM, got GRU"):
        kl.Model.from_modules(embedding, nn.GRU(4, 6), head, "ab", (0, 1), start=START)
    with pytest.raises(ModelError, match="classes must be 2"):
        kl.Model.from_modules(embedding, layer, head, "ab", (0, 1, 2), start=START)
    with pytest.raises(ModelError, match="rows of the embedding, 0 to 2"):
        kl.Model.from_modules(embedding, layer, head, "ab", (0, 1), start=9)
    with pytest.raises(ModelError, match="size 6, got 5"):
        kl.Model.from_modules(embedding, layer, nn.Linear(5, 2), "ab", (0, 1), start=START)

"""States taught by n-grams: the start of texts whose states have weights (`pooling="states"`).

A linear classifier of words and pairs of words gives every step of a text a weight per class: that
of its word, and of the pair that ends there. The weights are clustered into as many kinds as the
network has states. On short windows of the training texts the network then learns to be, at every
step, in the state of the step's kind: loss = - mean_t log alpha_t[kind_t]. So each state stands for
words that speak about as strongly for the same class, one state for words that say nothing. For a
cell without memory the kind of a step follows from that of the step before and the word, so that
what it learns is a finite automaton over words.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from kleene.data.batch import Batch, make_batch
from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.nn.pooling import MEAN_SCALE, pool
from kleene.training.embeddings import init_ppmi_embeddings
from kleene.training.ngram_weights import NgramWeights, Texts, ngram_weights, read_texts
from kleene.training.step_kinds import StepKinds, step_kinds

WINDOW, WINDOWS, STEPS = 12, 128, 800
"""Symbols of a window, windows of a batch, and batches."""
MANY = 500_000
"""Symbols of all texts, below which half as many batches do."""
LEARNING_RATE = 3e-3
DEVIATION = 0.3
"""Root mean square of what the words' weights add to the entries of their vectors."""
TEXTS, PENALTY = 4_000, 100.0
"""Texts that the first head is fitted to, and the inverse strength of its penalty."""
UNTAUGHT = -100


def init_ngram_states(network: Classifier, examples: TrainingData, seed: int) -> None:
    """Set embedding, cell, centroids and head of a network to what n-grams teach it.

    A network that does not classify its states gets PPMI embeddings only.
    """
    config = network.config
    init_ppmi_embeddings(network, examples, seed)
    texts = read_texts(examples, seed)
    if config.pooling != "states" or not len(texts.ids):
        return
    weights = ngram_weights(texts, config.num_symbols, config.num_classes, seed)
    _add_weights(network, weights, texts, seed)
    kinds = step_kinds(weights, texts, config, seed)
    _teach(network, texts, kinds, seed)
    _fit_head(network, texts)


def _add_weights(network: Classifier, weights: NgramWeights, texts: Texts, seed: int) -> None:
    """Add the words' weights to their vectors, each class in a random direction."""
    table = network.embedding.weight
    rms = math.sqrt(float(np.square(weights.words[texts.ids]).sum(1).mean()))
    random = np.random.default_rng(seed)
    directions = random.standard_normal((weights.words.shape[1], table.shape[1]))
    added = weights.words @ directions * (DEVIATION / max(rms, 1e-6))
    with torch.no_grad():
        table += torch.from_numpy(added).to(table)


def _teach(network: Classifier, texts: Texts, kinds: StepKinds, seed: int) -> None:
    """Train on random windows with the kinds as targets of every step."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed % 2**31)
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    network.train()
    steps = STEPS if len(texts.ids) >= MANY else STEPS // 2
    for step in range(steps):
        falling = 0.5 * (1 + math.cos(math.pi * step / steps)) + 0.01
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * falling * min(1, (step + 1) / 30)
        batch, targets = _windows(texts, kinds, random)
        scores = network.observe(batch)[1][-1].scores
        component = network.rnn.recurrence(network.rnn.num_layers - 1).component
        assert scores is not None
        assert component is not None
        loss = cross_entropy(
            scores / component.temperature,
            torch.from_numpy(targets).to(scores.device),
            ignore_index=UNTAUGHT,
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()


def _windows(
    texts: Texts, kinds: StepKinds, random: np.random.Generator
) -> tuple[Batch, NDArray[np.int64]]:
    """Windows of random texts, and the kinds of their steps, the start token's first, packed.

    A window inside a text begins after a word that the network has not seen: its first step is not
    taught.
    """
    rows = random.integers(0, len(texts.lengths), WINDOWS)
    lengths = np.minimum(texts.lengths[rows], WINDOW)
    first = random.integers(0, texts.lengths[rows] - lengths + 1)
    begin = texts.starts[rows] + first
    spans = [slice(a, a + n) for a, n in zip(begin.tolist(), lengths.tolist(), strict=True)]
    batch = make_batch([texts.ids[span] for span in spans])
    targets = make_batch([kinds.of_steps[span] for span in spans]).tokens.copy()
    targets[:WINDOWS][first[batch.order] > 0] = UNTAUGHT
    start = np.full(WINDOWS, kinds.neutral)
    return batch, np.concatenate([start, targets]).astype(np.int64)


def _fit_head(network: Classifier, texts: Texts) -> None:
    """Fit the head to the mean of the states in some texts, by logistic regression.

    The maximum has no weight at first, so that each step adds the weights of its states.
    """
    from sklearn.linear_model import LogisticRegression

    words = np.split(texts.ids, texts.starts[1:])[:TEXTS]
    examples = Examples(words=words, labels=texts.labels[:TEXTS])
    found, labels = [], []
    with inference(network):
        for batch in examples.in_order(64):
            alpha, sizes = network.observe(batch)[1][-1].weights, [len(batch), *batch.batch_sizes]
            assert alpha is not None
            assert batch.labels is not None
            found.append(MEAN_SCALE * pool(alpha, sizes, mean=True).cpu().numpy())
            labels.append(batch.labels)
    if len(np.unique(texts.labels[:TEXTS])) < max(network.config.num_classes, 2):
        return
    linear = LogisticRegression(C=PENALTY, max_iter=1000)
    linear.fit(np.concatenate(found), np.concatenate(labels))
    weight, bias = linear.coef_, linear.intercept_
    if len(weight) == 1:
        weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[:, : weight.shape[1]] = torch.from_numpy(weight)
        network.head.bias.copy_(torch.from_numpy(bias))

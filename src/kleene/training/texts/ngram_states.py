"""States taught by n-grams: the start of texts whose states have weights (`pooling="states"`).

A linear classifier of words and pairs of words gives every step of a text a weight per class: that
of its word, and of the pairs that end there. The weights are clustered into as many kinds as the
network has states. On windows of the training texts the network then learns to be, at every step,
in the state of the step's kind: loss = - mean_t log alpha_t[kind_t]; with two classes, a weight
between two kinds belongs to both in part. So each state stands for words that speak about as
strongly for the same class, one state for words that say nothing, and the weight of a state in the
head is that of its kind. For a cell without memory the kind of a step follows from that of the step
before and the word, so that what it learns is a finite automaton over words.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from kleene.arrays import Ints
from kleene.data.batch import Batch, make_batch
from kleene.data.examples import Examples
from kleene.nn.classifier import Classifier
from kleene.nn.mode import inference
from kleene.nn.pooling import MEAN_SCALE, pool
from kleene.training.optimizers import Adam
from kleene.training.texts.embeddings import init_ppmi_embeddings
from kleene.training.texts.ngrams import (
    DISTANCE,
    SYMBOLS_PER_COUNT,
    NgramWeights,
    Texts,
    ngram_weights,
    read_texts,
)
from kleene.training.texts.step_kinds import StepKinds, step_kinds

WINDOW, WINDOWS = 24, 128
"""Symbols of a window, and windows of a batch."""
PASSES, LEAST, MOST = 2, 400, 4_000
"""How often every symbol is taught, about; and batches, at least and at most."""
LEARNING_RATE, BETAS = 8e-3, (0.9, 0.99)
DEVIATION = 0.3
"""Root mean square of what the words' weights add to the entries of their vectors."""
HEAD_TEXTS, PENALTY = 4_000, 100.0
"""Texts that a head is fitted to, and the inverse strength of its penalty."""
SETTINGS = {
    "distance": DISTANCE,
    "symbols_per_count": SYMBOLS_PER_COUNT,
    "window": WINDOW,
    "windows": WINDOWS,
    "passes": PASSES,
    "learning_rate": LEARNING_RATE,
}
"""What a result depends on, for those who keep it."""


def init_ngram_states(network: Classifier, examples: Examples, seed: int) -> bool:
    """Set embedding, cell, centroids and head of a network to what n-grams teach it.

    A network that does not classify its states gets PPMI embeddings only. Returns whether it was
    taught.
    """
    config = network.config
    init_ppmi_embeddings(network, examples, seed)
    texts = read_texts(examples, seed)
    if config.pooling != "states" or not len(texts.ids):
        return False
    weights = ngram_weights(texts, config.num_symbols, config.num_classes, seed)
    _add_weights(network, weights, texts, seed)
    kinds = step_kinds(weights, texts, config, seed)
    _teach(network, texts, kinds, seed)
    if config.num_classes == 2:
        _set_head(network, texts, kinds, weights)
    else:
        _fit_head(network, texts)
    return True


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
    """Train on random windows with the kinds as targets of every step, without dropout."""
    random = np.random.default_rng(seed)
    torch.manual_seed(seed % 2**31)
    optimizer = Adam(network.parameters(), LEARNING_RATE, BETAS, fused=True)
    network.eval()
    steps = int(np.clip(PASSES * len(texts.ids) / (WINDOW * WINDOWS), LEAST, MOST))
    component = network.rnn.recurrence(network.rnn.num_layers - 1).component
    assert component is not None
    for step in range(steps):
        falling = 0.5 * (1 + math.cos(math.pi * step / steps)) + 0.01
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * falling * min(1, (step + 1) / 30)
        batch, where, taught = _windows(texts, random)
        scores = network.scans(batch)[-1].scores  # the start token's steps first
        assert scores is not None
        logs = (scores / component.temperature).log_softmax(-1)
        of_steps = np.r_[np.full(len(batch), kinds.neutral), kinds.of_steps[where]]
        of_next = np.r_[np.zeros(len(batch), np.float32), kinds.of_next[where]]
        kind, share, counts = (
            torch.from_numpy(values).to(logs.device)[:, None]
            for values in (of_steps, of_next, taught)
        )
        after = (kind + 1).clamp_max(logs.shape[1] - 1)
        fits = logs.gather(1, kind) * (1 - share) + logs.gather(1, after) * share
        loss = -(fits * counts).sum() / counts.sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()


def _windows(texts: Texts, random: np.random.Generator) -> tuple[Batch, Ints, NDArray[np.float32]]:
    """Windows of random texts, the places of their symbols, and which steps are taught, packed.

    A window inside a text begins after words that the network has not seen: its first symbol is not
    taught. The start token is.
    """
    rows = random.integers(0, len(texts.lengths), WINDOWS)
    lengths = np.minimum(texts.lengths[rows], WINDOW)
    first = random.integers(0, texts.lengths[rows] - lengths + 1)
    begin = texts.starts[rows] + first
    places = [np.arange(a, a + n) for a, n in zip(begin.tolist(), lengths.tolist(), strict=True)]
    batch = make_batch(places)
    where = batch.tokens.astype(np.int64, copy=False)
    batch = replace(batch, tokens=texts.ids[where].astype(np.int64, copy=False))
    taught = np.ones(WINDOWS + len(where), np.float32)
    taught[WINDOWS : 2 * WINDOWS][first[batch.order] > 0] = 0
    return batch, where, taught


def _set_head(network: Classifier, texts: Texts, kinds: StepKinds, weights: NgramWeights) -> None:
    """Give each state the weight of its kind, so that a step adds what its n-grams would.

    Weights fitted to the training texts would trust the states too much, which know these texts.

    Slope and bias are those of texts that the n-grams had not seen. What the network's mean weight
    is off in some texts goes to the bias.
    """
    some, alpha = _some_means(network, texts)
    line = np.zeros(alpha.shape[1], np.float32)
    line[: len(kinds.weights)] = kinds.weights[:, 0]
    off = float(np.mean(some.means(weights.of_steps(some)[:, 0])) - np.mean(alpha @ line))
    slopes = torch.from_numpy(weights.slope * line / MEAN_SCALE)
    with torch.no_grad():
        head = network.head
        head.weight.zero_()
        head.bias.copy_(torch.tensor([-0.5, 0.5]) * (weights.bias + weights.slope * off))
        head.weight[:, : len(line)] = torch.stack([-slopes, slopes]) / 2


def _some_means(network: Classifier, texts: Texts) -> tuple[Texts, NDArray[np.float32]]:
    """The first texts, and the mean of each state's probability in them, (text, state)."""
    some = texts.select(np.arange(len(texts.lengths)) < HEAD_TEXTS)
    words = np.split(some.ids, some.starts[1:])
    found = np.zeros((len(words), network.config.num_states), np.float32)
    with inference(network):
        for batch in Examples(words=words, labels=some.labels).in_order(64):
            alpha, sizes = network.scans(batch)[-1].weights, [len(batch), *batch.batch_sizes]
            assert alpha is not None
            found[batch.order] = pool(alpha, sizes, mean=True).cpu().numpy()
    return some, found


def _fit_head(network: Classifier, texts: Texts) -> None:
    """Fit the head to the mean of the states in some texts, by logistic regression.

    The maximum has no weight at first, so that each step adds the weights of its states.
    """
    from sklearn.linear_model import LogisticRegression

    some, alpha = _some_means(network, texts)
    if len(np.unique(some.labels)) < max(network.config.num_classes, 2):
        return
    linear = LogisticRegression(C=PENALTY, max_iter=1000).fit(MEAN_SCALE * alpha, some.labels)
    with torch.no_grad():
        network.head.weight.zero_()
        network.head.weight[:, : alpha.shape[1]] = torch.from_numpy(linear.coef_)
        network.head.bias.copy_(torch.from_numpy(linear.intercept_))

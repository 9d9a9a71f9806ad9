"""Captum's integrated gradients on our networks: a peer for experiments, and a truth for tests.

Captum is not needed for anything else; `pip install captum` brings it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Floats, Ints
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.batch import Batch
from kleene.explain.scoring import margins
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference


@dataclass(frozen=True)
class CaptumGradients:
    """`captum.attr.IntegratedGradients` over the embeddings of one word after the other."""

    steps: int = 32

    def __call__(self, network: Classifier, encoded: Sequence[Ints], classes: Ints) -> list[Floats]:
        """Midpoints of the path from zeros to the embeddings, of the log-odds of the class."""
        from captum.attr import IntegratedGradients

        table = network.embedding.weight.detach()
        weights = []
        with inference(network, grad=True):
            for word, label in zip(encoded, classes, strict=True):
                vectors = table[torch.from_numpy(word)][None]  # word time size
                method = IntegratedGradients(_LogOdds(network, int(label)))
                found = method.attribute(vectors, n_steps=self.steps, method="riemann_middle")
                weights.append(found[0].sum(-1).float().cpu().numpy())
        return weights


@dataclass(frozen=True)
class _LogOdds:
    """Log-odds of a class as a function of the embeddings of words of one length."""

    network: Classifier
    label: int

    def __call__(self, vectors: Tensor) -> Tensor:
        """(word, time, size) -> (word,)."""
        words, steps, size = vectors.shape
        rows = Alphabet.ids(np.arange(steps * words))
        batch = Batch(
            tokens=rows,
            batch_sizes=np.full(steps, words),
            lengths=np.full(words, steps),
            order=np.arange(words),
        )
        specials = self.network.embedding.weight.detach()[:FIRST_SYMBOL]
        own = vectors.transpose(0, 1).reshape(-1, size)
        weight = {"embedding.weight": torch.cat([specials, own])}
        scores = torch.func.functional_call(self.network, weight, (batch,))
        return margins(scores, torch.full((words,), self.label))

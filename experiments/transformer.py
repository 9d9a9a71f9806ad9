"""A small transformer that classifies sequences: a peer, about as large as the plain networks.

Two layers of width 64 with four heads, sines and cosines for the positions, the mean over time
classified. In training positions start at a random offset, so that those of longer words are not
new. Adam with a falling rate; kept is the epoch that is best on a tenth of the words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy

import numpy as np
import torch
from torch import Tensor, nn

WIDTH, HEADS, LAYERS, INNER = 64, 4, 2, 128
POSITIONS, OFFSETS = 512, 64
EPOCHS, PATIENCE, BATCH_SIZE, LEARNING_RATE = 100, 30, 64, 1e-3
HELD_OUT = 0.1


class Transformer(nn.Module):
    """Symbols to the logits of two classes; padding is symbol 0."""

    def __init__(self, symbols: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols + 1, WIDTH, padding_idx=0)
        layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, INNER, dropout=0.1, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, 2)
        angles = torch.arange(POSITIONS)[:, None] * torch.exp(
            torch.arange(0, WIDTH, 2) * (-math.log(10_000) / WIDTH)
        )
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], 1))

    def forward(self, words: Tensor, offset: int = 0) -> Tensor:
        """The logits of padded words whose first symbol is at position `offset`."""
        empty = words == 0
        x = self.embedding(words) + self.positions[offset : offset + words.shape[1]]
        x = self.layers(x, src_key_padding_mask=empty)
        kept = (~empty)[..., None]
        return self.head((x * kept).sum(1) / kept.sum(1))


class TransformerClassifier:
    """Fit and predict strings; the same seed gives the same network."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def fit(self, words: Sequence[str], labels: Sequence[bool]) -> TransformerClassifier:
        """Learn from labelled words."""
        self.symbols = {symbol: i for i, symbol in enumerate(sorted(set("".join(words))), 1)}
        torch.manual_seed(self.seed)
        random = np.random.default_rng(self.seed)
        held_out = random.random(len(words)) < HELD_OUT
        kept, others = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        x, y = self._padded(words), torch.tensor(labels, dtype=torch.long)
        self.network = Transformer(len(self.symbols))
        optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
        best, weights, stale = -1.0, deepcopy(self.network.state_dict()), 0
        for self.epochs in range(1, EPOCHS + 1):
            self.network.train()
            for rows in np.array_split(random.permutation(kept), len(kept) // BATCH_SIZE):
                optimizer.zero_grad()
                logits = self.network(x[rows], int(random.integers(OFFSETS)))
                nn.functional.cross_entropy(logits, y[rows]).backward()
                nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                optimizer.step()
            falling.step()
            accuracy = float((self._answers(x[others]) == y[others]).float().mean())
            stale += 1
            if accuracy > best:
                best, weights, stale = accuracy, deepcopy(self.network.state_dict()), 0
            if best == 1 or stale >= PATIENCE:
                break
        self.network.load_state_dict(weights)
        return self

    def predict(self, words: Sequence[str]) -> np.ndarray:
        """The label of each word."""
        return self._answers(self._padded(words)).numpy().astype(bool)

    def _answers(self, x: Tensor) -> Tensor:
        self.network.eval()
        with torch.no_grad():
            return torch.cat([self.network(part).argmax(1) for part in x.split(256)])

    def _padded(self, words: Sequence[str]) -> Tensor:
        ids = [torch.tensor([self.symbols[symbol] for symbol in word]) for word in words]
        return nn.utils.rnn.pad_sequence(ids, batch_first=True)

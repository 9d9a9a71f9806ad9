"""Stock recurrent networks of torch, with their hidden vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.errors import SettingError
from kleene.extraction.adapters.tokens import Tokens, decide, device, evaluating
from kleene.machine import Label, Symbol


class Recurrent:
    """A stock torch network; `hidden`, `step` and `out` only make sense in one direction."""

    def __init__(
        self,
        rnn: Any,
        head: Callable[[Any], Any],
        *,
        embed: int | Callable[[Any], Any],
        tokens: Tokens,
    ) -> None:
        self.rnn, self.head, self.embed, self.tokens = rnn, head, embed, tokens
        self.memory = rnn.mode == "LSTM"
        self.directions = 2 if rnn.bidirectional else 1
        self.size = rnn.num_layers * self.directions * rnn.hidden_size
        if getattr(rnn, "proj_size", 0):
            raise SettingError("an LSTM with proj_size cannot be read; use adapt.module instead")

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
        """The label of each word."""
        return self.classify(words)

    def classify(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
        """The label of each word."""
        labels: list[Label] = [None] * len(words)
        with self._inference():
            for part, rows in self.tokens.by_length(words):
                found = self._labels(self._run(rows, None))
                for i, label in zip(part.tolist(), found, strict=True):
                    labels[i] = label
        return labels

    def hidden(self, words: Sequence[Sequence[Symbol]]) -> Floats:
        """The vectors after the start token and each word, (word, size)."""
        vectors = np.zeros((len(words), self.size * (1 + self.memory)), dtype=np.float32)
        with self._inference():
            for part, rows in self.tokens.by_length(words, end=False):
                vectors[part] = self._flat(self._run(rows, None))
        return vectors

    def step(self, vectors: Floats, symbol: Symbol) -> Floats:
        """The vectors after one more symbol."""
        rows = np.full((len(vectors), 1), self.tokens([symbol])[0], dtype=np.int64)
        with self._inference():
            return self._flat(self._run(rows, vectors))

    def out(self, vectors: Floats) -> list[Label]:
        """The labels of words that end with these vectors."""
        with self._inference():
            end = np.tile(np.array(self.tokens.end, dtype=np.int64), (len(vectors), 1))
            return self._labels(self._run(end, vectors))

    @contextmanager
    def _inference(self) -> Iterator[None]:
        import torch

        with evaluating(self.rnn, self.head, self.embed), torch.inference_mode():
            yield

    def _run(self, rows: Ints, vectors: Floats | None) -> Any:
        """The final state, of h or of (h, c), each (layer, word, size)."""
        import torch

        if not rows.shape[1]:  # torch's networks refuse to run over no steps
            zeros = np.zeros((len(rows), self.size * (1 + self.memory)), dtype=np.float32)
            return self._state(zeros if vectors is None else vectors)
        x = torch.from_numpy(rows).to(device(self.rnn))
        if isinstance(self.embed, int):
            x = torch.nn.functional.one_hot(x, self.embed).to(self.rnn.all_weights[0][0].dtype)
        else:
            x = self.embed(x)
        x = x if self.rnn.batch_first else x.transpose(0, 1)
        return self.rnn(x, None if vectors is None else self._state(vectors))[1]

    def _labels(self, state: Any) -> list[Label]:
        import torch

        h = state[0] if self.memory else state
        return decide(self.head(torch.cat([*h[-self.directions :]], -1)))

    def _flat(self, state: Any) -> Floats:
        import torch

        parts = state if self.memory else (state,)
        joined = torch.cat([part.transpose(0, 1).flatten(1) for part in parts], -1)
        vectors: Floats = joined.float().cpu().numpy()
        return vectors

    def _state(self, vectors: Floats) -> Any:
        import torch

        weight = self.rnn.all_weights[0][0]
        parts = torch.split(torch.from_numpy(vectors).to(weight), self.size, -1)
        shape = (len(vectors), -1, self.rnn.hidden_size)
        states = [part.reshape(shape).transpose(0, 1).contiguous() for part in parts]
        return tuple(states) if self.memory else states[0]

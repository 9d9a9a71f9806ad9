"""Adapters: anybody's trained network as something that `kleene.read` can ask.

Every adapter is called with a batch of sequences of symbols and returns one label for each. Those
of one-directional torch networks also show their hidden vectors (`WhiteBox`), so that states can be
found by clustering. `start` and `end` are token ids that the network expects around a sequence;
`ids` maps symbols to token ids where the symbols are not the ids themselves. Nothing is unpickled:
pass live objects, or load weights with `torch.load(..., weights_only=True)` or safetensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from kleene.arrays import Floats, Ints
from kleene.errors import ModelError, SettingError
from kleene.machine import Label, Symbol

Classify = Callable[[Sequence[Sequence[Symbol]]], Any]
"""A batch of sequences -> one label for each, as a list, an array or a tensor."""

BATCH = 512


@runtime_checkable
class WhiteBox(Protocol):
    """A left-to-right network whose hidden vectors can be looked at."""

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> Sequence[Label]:
        """The label of each word."""
        ...

    def hidden(self, words: Sequence[Sequence[Symbol]]) -> Floats:
        """The vectors after the start token and each word, (word, size)."""
        ...

    def step(self, vectors: Floats, symbol: Symbol) -> Floats:
        """The vectors after one more symbol."""
        ...

    def out(self, vectors: Floats) -> Sequence[Label]:
        """The labels of words that end with these vectors."""
        ...


def torch(
    rnn: Any,
    head: Callable[[Any], Any],
    *,
    embed: int | Callable[[Any], Any],
    start: int | None = None,
    end: int | None = None,
    ids: Mapping[Symbol, int] | None = None,
) -> Classify:
    """Adapt `torch.nn.RNN`, `GRU` or `LSTM` of any number of layers, with any head.

    `embed` turns token ids into vectors: an `nn.Embedding`, any callable, or a number n for one-hot
    vectors of size n. `head` maps the final hidden vector of the last layer, both directions
    joined, to scores; the label is the argmax, or whether a single score is above 0.
    """
    network = _Recurrent(rnn, head, embed=embed, tokens=_Tokens(start, end, ids))
    return network.classify if rnn.bidirectional else network


def module(
    module: Any,
    *,
    start: int | None = None,
    end: int | None = None,
    ids: Mapping[Symbol, int] | None = None,
) -> Classify:
    """Adapt any `torch.nn.Module` from token ids, (batch, time), to scores, (batch, class).

    Sequences of one length make a batch, so that no padding is needed.
    """
    import torch

    def scores(rows: Ints) -> Any:
        with _evaluating(module), torch.inference_mode():
            return module(torch.from_numpy(rows).to(_device(module)))

    return _ByLength(_Tokens(start, end, ids), scores)


def onnx(
    path: str | Path,
    *,
    start: int | None = None,
    end: int | None = None,
    ids: Mapping[Symbol, int] | None = None,
) -> Classify:
    """Adapt an ONNX file from token ids, (batch, time), to scores, (batch, class), or labels."""
    try:
        import onnxruntime
    except ImportError:
        raise SettingError("reading ONNX needs onnxruntime; run pip install onnxruntime") from None
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is not an ONNX model that can be run: {reason}") from None
    name = session.get_inputs()[0].name

    def scores(rows: Ints) -> Any:
        return session.run(None, {name: rows})[0]

    return _ByLength(_Tokens(start, end, ids), scores)


def sklearn(pipeline: Any, *, separator: str | None = " ") -> Classify:
    """Adapt a scikit-learn pipeline over texts: symbols are joined by `separator`.

    With `separator=None` the pipeline gets the sequences as they are.
    """

    def classify(words: Sequence[Sequence[Symbol]]) -> Any:
        return pipeline.predict(words if separator is None else _texts(words, separator))

    return classify


def transformers(folder: str | Path, *, separator: str = " ") -> Classify:
    """Adapt a Hugging Face sequence classifier from a local folder with safetensors weights."""
    try:
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        message = "reading a transformer needs its library; run pip install transformers"
        raise SettingError(message) from None
    import torch

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        network = AutoModelForSequenceClassification.from_pretrained(
            str(folder), local_files_only=True, use_safetensors=True
        )
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{folder} has no sequence classifier: {reason}") from None
    names = network.config.id2label

    def classify(words: Sequence[Sequence[Symbol]]) -> list[Label]:
        labels: list[Label] = []
        with _evaluating(network), torch.inference_mode():
            for at in range(0, len(words), BATCH // 8):
                texts = _texts(words[at : at + BATCH // 8], separator)
                inputs = tokenizer(texts, return_tensors="pt", padding=True, truncation=True)
                labels += [names[i] for i in network(**inputs).logits.argmax(-1).tolist()]
        return labels

    return classify


class _Tokens:
    """From sequences of symbols to rows of token ids."""

    def __init__(
        self, start: int | None, end: int | None, ids: Mapping[Symbol, int] | None
    ) -> None:
        self.start = [] if start is None else [start]
        self.end = [] if end is None else [end]
        self._ids = ids

    def __call__(self, symbols: Sequence[Symbol]) -> list[int]:
        try:
            return [int(s) if self._ids is None else self._ids[s] for s in symbols]  # type: ignore[call-overload]
        except (KeyError, TypeError, ValueError):
            raise SettingError(
                f"symbols must be token ids, or `ids` must map them to some, got {symbols!r:.60}"
            ) from None

    def by_length(
        self, words: Sequence[Sequence[Symbol]], *, end: bool = True
    ) -> Iterator[tuple[Ints, Ints]]:
        """Indices of words of one length, and their ids with start and end, (word, time)."""
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            for part in np.split(same, range(BATCH, len(same), BATCH)):
                last = self.end if end else []
                rows = [[*self.start, *self(words[i]), *last] for i in part]
                yield part, np.array(rows, dtype=np.int64).reshape(len(part), -1)


class _ByLength:
    """A network that takes rows of ids of one length."""

    def __init__(self, tokens: _Tokens, scores: Callable[[Ints], Any]) -> None:
        self._tokens, self._scores = tokens, scores

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
        labels: list[Label] = [None] * len(words)
        for part, rows in self._tokens.by_length(words):
            for i, label in zip(part.tolist(), _decide(self._scores(rows)), strict=True):
                labels[i] = label
        return labels


class _Recurrent:
    """A stock torch network; `hidden`, `step` and `out` only make sense in one direction."""

    def __init__(
        self,
        rnn: Any,
        head: Callable[[Any], Any],
        *,
        embed: int | Callable[[Any], Any],
        tokens: _Tokens,
    ) -> None:
        self.rnn, self.head, self.embed, self.tokens = rnn, head, embed, tokens
        self.memory = rnn.mode == "LSTM"
        if getattr(rnn, "proj_size", 0):
            raise SettingError("an LSTM with proj_size cannot be read; use adapt.module instead")

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
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
        sizes = self.rnn.num_layers * self.rnn.hidden_size * (1 + self.memory)
        vectors = np.zeros((len(words), sizes), dtype=np.float32)
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

        with _evaluating(self.rnn, self.head, self.embed), torch.inference_mode():
            yield

    def _run(self, rows: Ints, vectors: Floats | None) -> Any:
        """The final state, of h or of (h, c), each (layer, word, size)."""
        import torch

        if not rows.shape[1]:  # torch's networks refuse to run over no steps
            size = self.rnn.num_layers * self.rnn.hidden_size
            zeros = np.zeros((len(rows), size * (1 + self.memory)), dtype=np.float32)
            return self._state(zeros if vectors is None else vectors)
        device = _device(self.rnn)
        x = torch.from_numpy(rows).to(device)
        if isinstance(self.embed, int):
            x = torch.nn.functional.one_hot(x, self.embed).to(self.rnn.all_weights[0][0].dtype)
        else:
            x = self.embed(x)
        x = x if self.rnn.batch_first else x.transpose(0, 1)
        return self.rnn(x, None if vectors is None else self._state(vectors))[1]

    def _labels(self, state: Any) -> list[Label]:
        import torch

        h = state[0] if self.memory else state
        directions = 1 + self.rnn.bidirectional
        return _decide(self.head(torch.cat([*h[-directions:]], -1)))

    def _flat(self, state: Any) -> Floats:
        import torch

        parts = state if self.memory else (state,)
        joined = torch.cat([part.transpose(0, 1).flatten(1) for part in parts], -1)
        vectors: Floats = joined.float().cpu().numpy()
        return vectors

    def _state(self, vectors: Floats) -> Any:
        import torch

        weight = self.rnn.all_weights[0][0]
        whole, size = (
            torch.from_numpy(vectors).to(weight),
            self.rnn.num_layers * self.rnn.hidden_size,
        )
        parts = torch.split(whole, size, -1)
        shape = (len(vectors), self.rnn.num_layers, self.rnn.hidden_size)
        states = [part.reshape(shape).transpose(0, 1).contiguous() for part in parts]
        return tuple(states) if self.memory else states[0]


def _decide(scores: Any) -> list[Label]:
    """The class of highest score; a single score says yes above 0; labels stay as they are."""
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores)
    if values.ndim == 1 and values.dtype.kind != "f":
        return list(values.tolist())
    if values.ndim == 1 or values.shape[-1] == 1:
        return list((values.reshape(-1) > 0).tolist())
    if values.ndim != 2:
        raise SettingError(f"scores must be of shape (batch, class), got {values.shape}")
    return list(values.argmax(-1).tolist())


def _texts(words: Sequence[Sequence[Symbol]], separator: str) -> list[str]:
    return [separator.join(map(str, word)) for word in words]


def _device(module: Any) -> Any:
    return next(iter(module.parameters())).device


@contextmanager
def _evaluating(*parts: Any) -> Iterator[None]:
    """Modules in eval mode, and back as they were."""
    modules = [m for part in parts if hasattr(part, "modules") for m in part.modules()]
    modes = [m.training for m in modules]
    for m in modules:
        m.training = False
    try:
        yield
    finally:
        for m, mode in zip(modules, modes, strict=True):
            m.training = mode

"""Anybody's trained network as a callable for `kleene.extract`, and as an extraction asks it.

Every adapter takes a batch of sequences of symbols and returns one label for each. `start` and
`end` are token ids that the network expects around a sequence; `ids` maps symbols to token ids, if
the symbols are not the ids themselves. Nothing is unpickled: pass live objects, or load weights
with `torch.load(..., weights_only=True)` or safetensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kleene.arrays import Ints
from kleene.automata.symbols import spell
from kleene.data.alphabet import Alphabet, Ids
from kleene.errors import ExtractionError, ModelError, SettingError, extra
from kleene.files import check_regular
from kleene.machine import Label, Symbol, Word

Classify = Callable[[Sequence[Sequence[Symbol]]], Any]
"""A batch of sequences -> one label for each, as a list, an array or a tensor."""
BATCH = 512
PROBES = 8  # words that are asked about twice
MAX_BYTES = 2**36  # of a file

__all__ = ["Classify", "ExternalNetwork", "module", "onnx", "torch"]


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
    import torch

    directions = 2 if rnn.bidirectional else 1

    def scores(rows: Ints) -> Any:
        weight = rnn.all_weights[0][0]
        with _evaluating(rnn, head, embed), torch.inference_mode():
            if rows.shape[1]:
                x = torch.from_numpy(rows).to(weight.device)
                if isinstance(embed, int):
                    x = torch.nn.functional.one_hot(x, embed).to(weight.dtype)
                else:
                    x = embed(x)
                state = rnn(x if rnn.batch_first else x.transpose(0, 1))[1]
                h = state[0] if rnn.mode == "LSTM" else state  # (layer, word, size)
            else:  # torch's networks refuse to run over no steps
                size = getattr(rnn, "proj_size", 0) or rnn.hidden_size
                h = weight.new_zeros(directions, len(rows), size)
            return head(torch.cat([*h[-directions:]], -1))

    return _ByLength(scores, start, end, ids)


def module(
    module: Any,
    *,
    start: int | None = None,
    end: int | None = None,
    ids: Mapping[Symbol, int] | None = None,
) -> Classify:
    """Adapt any `torch.nn.Module` from token ids, (batch, time), to scores, (batch, class).

    A batch has sequences of one length, so there is no padding.
    """
    import torch

    def scores(rows: Ints) -> Any:
        first = next(iter(module.parameters()), None)
        with _evaluating(module), torch.inference_mode():
            return module(torch.from_numpy(rows).to("cpu" if first is None else first.device))

    return _ByLength(scores, start, end, ids)


def onnx(
    path: str | Path,
    *,
    start: int | None = None,
    end: int | None = None,
    ids: Mapping[Symbol, int] | None = None,
) -> Classify:
    """Adapt an ONNX file from token ids, (batch, time), to scores, (batch, class), or labels."""
    with extra("onnx"):
        import onnxruntime
    try:
        check_regular(path, MAX_BYTES)
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is not an ONNX model that can be run: {reason}") from None
    name = session.get_inputs()[0].name
    return _ByLength(lambda rows: session.run(None, {name: rows})[0], start, end, ids)


class ExternalNetwork:
    """A network that Kleene did not train; its classes are the labels that it has given so far."""

    reads_symbols = True

    def __init__(self, classify: Classify, alphabet: Iterable[Symbol], longest: int = 0) -> None:
        self.alphabet = Alphabet(alphabet)
        if not self.alphabet.symbols:
            raise ExtractionError("the alphabet is empty; name at least one symbol")
        self.longest = longest
        self.class_ids: dict[Label, int] = {}
        self._classify = classify

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels in the order of their first appearance."""
        return tuple(self.class_ids)

    def words(self, texts: Sequence[Any]) -> list[Word]:
        """Sequences stay as they are."""
        return [text if isinstance(text, str) else tuple(text) for text in texts]

    def classify(self, words: Sequence[Ids]) -> Ints:
        """The class of every word, asked in batches."""
        found: list[int] = []
        for at in range(0, len(words), BATCH * 4):
            part = [self.symbols(word) for word in words[at : at + BATCH * 4]]
            labels = _as_list(self._classify(part))
            if len(labels) != len(part):
                raise ExtractionError(
                    f"classify must return one label for each of {len(part)} sequences, got "
                    f"{len(labels)}"
                )
            found += self.number(labels).tolist()
        return np.array(found, dtype=np.int64)

    def number(self, labels: Iterable[Label]) -> Ints:
        """The classes of labels; a new label makes a new class."""
        ids = self.class_ids
        return np.array([ids.setdefault(label, len(ids)) for label in labels], dtype=np.int64)

    def symbols(self, word: Ids) -> Word:
        """A word as a user writes it: a string if all symbols are characters."""
        return spell(self.alphabet.decode(word), self.alphabet.symbols)

    def require_repeatable(self, words: Sequence[Ids]) -> None:
        """Refuse a network that answers differently when it is asked again."""
        probes = words[:PROBES]
        if (self.classify(probes) != self.classify(probes)).any():
            raise ExtractionError(
                "the network answers differently when it is asked again; switch its dropout and "
                "sampling off (module.eval())"
            )


@dataclass(frozen=True)
class _ByLength:
    """A network that takes rows of token ids of one length, (word, time)."""

    scores: Callable[[Ints], Any]
    start: int | None
    end: int | None
    ids: Mapping[Symbol, int] | None

    def __call__(self, words: Sequence[Sequence[Symbol]]) -> list[Label]:
        """The label of each word."""
        labels: list[Label] = [None] * len(words)
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            for part in np.split(same, range(BATCH, len(same), BATCH)):
                rows = [self._tokens(words[i]) for i in part]
                scores = self.scores(np.array(rows, dtype=np.int64).reshape(len(part), -1))
                for i, label in zip(part.tolist(), _decide(scores), strict=True):
                    labels[i] = label
        return labels

    def _tokens(self, word: Sequence[Symbol]) -> list[int]:
        """The token ids of a word, with start and end."""
        try:
            own = [int(s) if self.ids is None else self.ids[s] for s in word]  # type: ignore[call-overload]
        except (KeyError, TypeError, ValueError):
            raise SettingError(
                f"symbols must be token ids, or `ids` must map them to some, got {word!r:.60}"
            ) from None
        around = [[] if one is None else [one] for one in (self.start, self.end)]
        return [*around[0], *own, *around[1]]


def _decide(scores: Any) -> list[Label]:
    """The class of highest score; True for a single score above 0; labels stay as they are."""
    values = np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores)
    if values.ndim == 1 and values.dtype.kind != "f":
        return list(values.tolist())
    if values.ndim == 1 or values.shape[-1] == 1:
        return list((values.reshape(-1) > 0).tolist())
    if values.ndim != 2:
        raise SettingError(f"scores must be of shape (batch, class), got {values.shape}")
    return list(values.argmax(-1).tolist())


@contextmanager
def _evaluating(*parts: Any) -> Iterator[None]:
    """Put modules into eval mode and restore them."""
    modules = [m for part in parts if hasattr(part, "modules") for m in part.modules()]
    modes = [m.training for m in modules]
    for m in modules:
        m.training = False
    try:
        yield
    finally:
        for m, mode in zip(modules, modes, strict=True):
            m.training = mode


def _as_list(labels: Any) -> list[Label]:
    if hasattr(labels, "detach"):
        labels = labels.detach().cpu().numpy()
    array = np.asarray(labels, dtype=None if hasattr(labels, "dtype") else object)
    if array.ndim != 1:
        raise ExtractionError(
            f"classify must return one label per sequence, got shape {array.shape}; "
            "return scores.argmax(-1)"
        )
    return list(array.tolist())

"""A trained model and its folder: settings, weights, alphabet and history.

The folder holds `config.json`, `model.safetensors`, `alphabet.json` and `history.json`. The first
names the checksums of all and is written last, so that a folder that was half written, truncated
or tampered with is refused. Loading never runs code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from kleene.data.alphabet import FIRST_SYMBOL, UNKNOWN, Alphabet, from_json_symbol, to_json_symbol
from kleene.data.fingerprint import known_share
from kleene.data.layout import NO_LAYOUT, Layout
from kleene.data.words import TOKENS, as_word
from kleene.engines.scorer import Score, Scorer, arrow_labels
from kleene.errors import KleeneError, ModelError
from kleene.evaluation.figures import no_better_than_majority
from kleene.evaluation.metrics import predict
from kleene.files import sweep, write_together
from kleene.machine import Label, Symbol, Word
from kleene.model_folder import (
    FILES,
    FORMAT,
    PARTS,
    add_digests,
    check_files,
    model_digest,
    read_files,
)
from kleene.nn.cells import Cell
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.history import History

if TYPE_CHECKING:
    from torch import nn

    from kleene.nn.state_regularized import StateRegularized

MAX_LONGEST = 100_000
"""Bounds the length of the words that are drawn to check a model from a folder."""
ONNX_FORMAT = "kleene.onnx-model/1"


@dataclass(frozen=True, kw_only=True)
class Model:
    """A network with its alphabet, its classes, and the record of its training."""

    network: Classifier
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str = "chars"
    """How a text is split into symbols: `chars`, `words` (at white space), `text` (lower case,
    punctuation apart), or `symbols` (sequences are given)."""
    layout: Layout = NO_LAYOUT
    """The columns of the training file, and the bins of its numbers; empty for data in memory."""
    longest: int = 0
    """The length of the longest training word; a folder says at most `MAX_LONGEST`."""
    settings: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)

    @cached_property
    def class_ids(self) -> dict[Label, int]:
        """The number of each class: its column in scores and probabilities."""
        return {label: i for i, label in enumerate(self.classes)}

    @cached_property
    def columns(self) -> dict[Symbol, int]:
        """The number of each symbol: its column in transition tables, as in `DFA.columns`."""
        return {symbol: i for i, symbol in enumerate(self.alphabet.symbols)}

    @property
    def readable_by(self) -> str | None:
        """How an automaton is read off the network; everything that reads a model asks here.

        - `"table"`: in hard mode the network is a finite automaton over its symbols (Theorem 2).
          Its layers have centroids, its cell carries no memory, the last state decides the class.
        - `"counts"`: the network has states, but also a memory, or it classifies all steps; its
          transitions are counted along given sequences (Algorithm 1).
        - `"queries"`: the network has no states; it is asked for labels.
        - None: the input is vectors, not symbols.
        """
        rnn, config = self.network.rnn, self.network.config
        if not config.num_symbols:
            return None
        if not rnn.num_states:
            return "queries"
        return "counts" if rnn.cell.has_memory or config.pooling != "last" else "table"

    @property
    def is_finite_state(self) -> bool:
        """Whether the network in hard mode is a finite automaton over its symbols (Theorem 2)."""
        return self.readable_by == "table"

    @property
    def origin(self) -> str:
        """Who learned: `trained`, `paper`, `induced`, `ngrams`, `plain`, or `unknown`.

        `kleene.select.ORIGINS` says each in words; models of version 0.1 do not know theirs.
        """
        return str(self.settings.get("origin", "unknown"))

    @property
    def no_better_than(self) -> Label | None:
        """The label that it would do as well to answer always, by its held-out rows.

        None where the model is better, or where it does not know.
        """
        data = self.settings.get("data") or {}
        rows = [one["rows"] for one in data.get("per_class", ())]
        found = no_better_than_majority(data.get("held_out_interval"), rows)
        return None if found is None else self.classes[found]

    @property
    def reads_symbols(self) -> bool:
        """Whether its input are symbols, not vectors."""
        return self.network.config.num_symbols > 0

    def was_trained_on(self, words: Sequence[Any]) -> float | None:
        """The share of some sequences that were among the rows given to `fit`.

        Exact for up to a few thousand training rows, an estimate beyond; None where the model
        does not know its rows, or too few are given for an estimate.
        """
        data = self.settings.get("data")
        if not data or not len(words):
            return None
        return known_share(self.alphabet.encode_many(self.words(words)), data)

    def words(self, texts: Sequence[Any], *, typed: bool = False) -> list[Word]:
        """Texts or sequences as words of this model's symbols; see `kleene.data.words.as_word`."""
        bins = self.layout.bins
        return [as_word(text, self.tokens, bins, typed=typed) for text in texts]

    @classmethod
    def from_modules(
        cls,
        embedding: nn.Embedding,
        layer: StateRegularized,
        head: nn.Linear,
        alphabet: Alphabet | Iterable[Symbol],
        classes: Iterable[Label],
        *,
        start: int,
        ids: Sequence[int] | None = None,
    ) -> Model:
        """A model of modules trained in a loop of one's own, for everything that takes a model.

        The loop must feed `embedding` the row `start` before every word, and give `head` the last
        output of `layer` (an SRRNN, SRGRU or SRLSTM). `ids` are the rows of the symbols, in the
        order of the alphabet; None is 0, 1, 2 and so on. The weights are copied.
        """
        from kleene.nn.classifier import assemble

        known = alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
        names = tuple(classes)
        rows = range(len(known.symbols)) if ids is None else ids
        if len(rows) != len(known.symbols):
            raise ModelError(f"ids must be {len(known.symbols)}, one per symbol, got {len(rows)}")
        if len(names) != head.out_features:
            raise ModelError(f"classes must be {head.out_features}, as head has, got {len(names)}")
        network = assemble(embedding, layer, head, ids=list(rows), start=start)
        return cls(network=network, alphabet=known, classes=names, tokens="symbols")

    def to_files(self) -> dict[str, bytes]:
        """The contents of the model folder, by file name; `config.json` is the last."""
        from safetensors.torch import save

        weights = {k: v.detach().cpu().contiguous() for k, v in self.network.state_dict().items()}
        parts = (
            save(weights, {"format": FORMAT}),
            self.alphabet.to_json().encode(),
            json.dumps(self.history.to_dict()).encode(),
        )
        files = dict(zip(PARTS, parts, strict=True))
        config: dict[str, Any] = {
            "format": FORMAT,
            "network": self.network.config.to_dict(),
            "classes": [_json_label(label) for label in self.classes],
            "tokens": self.tokens,
            "longest": min(self.longest, MAX_LONGEST),
            "layout": self.layout.to_dict(),
            "settings": self.settings,
        }
        content = json.dumps(add_digests(config, files), indent=2).encode()
        return {**files, "config.json": content}

    def save(self, folder: str | Path) -> Path:
        """Write the model folder; an older model in it stays intact until this one is complete.

        Temporary files of an earlier save that was interrupted are removed.
        """
        folder, files = Path(folder), self.to_files()
        try:
            made = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(
                f"cannot make the model folder {folder}: {error.strerror}; choose another place"
            ) from None
        try:
            write_together({folder / name: part for name, part in files.items()})
        except KleeneError:
            if made:
                with suppress(OSError):
                    folder.rmdir()
            raise
        sweep(folder / name for name in FILES)
        return folder

    @classmethod
    def load(cls, folder: str | Path, *, cells: Iterable[Cell] = ()) -> Model:
        """Read a model folder; a `ModelError` says in one line what is wrong with it.

        `cells` are cells of one's own that the network may have; no code is loaded with a model.
        """
        folder = Path(folder)
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise ModelError(f"{folder} {what}; give the folder that `kleene train --out` wrote")
        return cls.from_files(read_files(folder), name=str(folder), cells=cells)

    def scorer(self, column: str = "sequence", *, prefix: str = "") -> Scorer:
        """A function from batches of rows to the same with `label` and `probability`."""
        if not self.reads_symbols:
            raise ModelError("a scorer reads symbols, and this network reads vectors")
        files = self.to_files()
        return Scorer(
            load=_answers,
            content=files,
            key=hashlib.sha256(files["config.json"]).hexdigest(),
            fields={"label": arrow_labels(self.classes)[0], "probability": "double"},
            column=column,
            prefix=prefix,
        )

    def to_onnx(self) -> bytes:
        """The network as an ONNX file, for words of any number and length; see `export`.

        Its metadata hold, as JSON under "kleene", the classes, the symbols and their first id. The
        class of the highest score is the prediction.
        """
        from kleene.export.onnx_network import to_onnx

        about = {
            "format": ONNX_FORMAT,
            "classes": [_json_label(label) for label in self.classes],
            "symbols": [to_json_symbol(symbol) for symbol in self.alphabet.symbols],
            "first_id": FIRST_SYMBOL,
            "unknown_id": UNKNOWN,
            "tokens": self.tokens,
            "decide_by": "scores",
            "proofs": "about the class of the highest score; probabilities may round to a tie",
            "model_sha256": model_digest(self.to_files()),
        }
        return to_onnx(self.network, about)

    @classmethod
    def from_files(
        cls, files: Mapping[str, bytes], *, name: str = "the model", cells: Iterable[Cell] = ()
    ) -> Model:
        """The model of the files that `to_files` returned; `name` appears in error messages."""
        config = check_files(files, name)
        try:
            return cls._build(config, files, cells)
        except (KleeneError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            reason = str(error)
        except (RuntimeError, RecursionError, MemoryError) as error:
            reason = f"{type(error).__name__}: {error}"
        reason = " ".join(reason.split())[:200]
        raise ModelError(f"{name} does not describe a model: {reason}; train again")

    @classmethod
    def _build(
        cls, config: dict[str, Any], files: Mapping[str, bytes], cells: Iterable[Cell]
    ) -> Model:
        from safetensors import SafetensorError
        from safetensors.torch import load

        described = NetworkConfig.from_dict(config["network"], cells)
        alphabet = Alphabet.from_json(files["alphabet.json"].decode())
        classes = tuple(map(from_json_symbol, config["classes"]))
        for what, found, needed in (
            ("symbols", len(alphabet), described.num_symbols or len(alphabet)),
            ("classes", len(set(classes)), described.num_classes),
        ):
            if found != needed:
                raise ModelError(f"the network has {needed} {what}, but {found} are listed")
        if config["tokens"] not in TOKENS:
            known = ", ".join(TOKENS)
            raise ModelError(f"tokens must be one of {known}, got {config['tokens']!r:.40}")
        longest = config["longest"]
        if type(longest) is not int or not 0 <= longest <= MAX_LONGEST:
            raise ModelError(
                f"longest must be an integer from 0 to {MAX_LONGEST}, got {longest!r:.40}"
            )
        history = History.from_dict(json.loads(files["history.json"]))
        try:
            weights = load(files["model.safetensors"])
        except SafetensorError as error:
            raise ModelError(f"the weights cannot be read ({error})") from None
        for name, tensor in weights.items():
            if tensor.dtype is not torch.float32 or not bool(torch.isfinite(tensor).all()):
                kind = str(tensor.dtype).removeprefix("torch.")
                raise ModelError(f"weights must be finite float32 numbers, got {kind} {name!r:.60}")
        if described.num_layers > len(weights):  # every layer has some; before memory is allocated
            layers = f"{described.num_layers} layers"
            raise ModelError(f"{layers} need more than {len(weights)} weights")
        with torch.device("meta"):  # no memory is allocated before the shapes are checked
            network = Classifier(described)
        network.load_state_dict(weights, assign=True)
        network.eval()
        return cls(
            network=network,
            alphabet=alphabet,
            classes=classes,
            tokens=config["tokens"],
            longest=longest,
            layout=Layout.from_dict(config.get("layout", {})),
            settings=dict(config["settings"]),
            history=history,
        )

    def to(self, device: torch.device | str) -> Model:
        """The same model with its network on a device."""
        self.network.to(device)
        return self


def _json_label(label: Label) -> Any:
    try:
        return to_json_symbol(label.item() if hasattr(label, "item") else label)
    except KleeneError:
        raise ModelError(
            f"label {label!r:.60} cannot be saved; use strings, numbers or tuples of these"
        ) from None


def _answers(files: Mapping[str, bytes]) -> Score:
    """The answers of a scorer, in the process that runs it."""
    model = Model.from_files(files)
    texts = arrow_labels(model.classes)[1]

    def score(sequences: list[Any]) -> dict[str, Sequence[Any]]:
        words = model.words(sequences, typed=True)
        found = predict(model.network, model.alphabet.encode_many(words))
        labels = [texts[i] for i in found.predicted]
        return {"label": labels, "probability": found.probabilities.max(1).tolist()}

    return score

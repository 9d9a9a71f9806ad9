"""What the verifier reads: a model folder, an automaton or counter machine, and a certificate.

NumPy, safetensors and the standard library only; nothing here runs code from a file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.data.words import as_word
from kleene.errors import ExtractionError, KleeneError, ModelError
from kleene.files import read_regular
from kleene.model_folder import check_files, digest_of, read_files, without_sums
from kleene.proof.outward import Enclosure, exp
from kleene.proof.verify_core import FIRST, Layer, Network, need

Document: TypeAlias = str | Path | Mapping[str, Any]
Folder: TypeAlias = str | Path | Mapping[str, bytes]

CELLS, COUNTERS = ("gru", "rnn", "rnn-relu"), ("lstm", "lstm-p")
KINDS: dict[str, tuple[Any, ...]] = {  # what the bounds are for
    "cell": (*CELLS, *COUNTERS),
    "similarity": ("dot", "euclidean", "cosine"),
    "transition": ("mixture", "gumbel", "soft-argmax", "gumbel-hard"),
    "pooling": ("last",),
    "end_token": (True, False),
}
SIZES = ("num_symbols", "num_classes", "input_size", "hidden_size", "num_states", "num_layers")
TRAINING = ("temperature", "learn_temperature", "dropout")  # of no effect on a trained network
GATES = {"gru": 3, "rnn": 1, "rnn-relu": 1, "lstm": 4, "lstm-p": 4}


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """What a model folder holds."""

    network: Network
    symbols: list[Any]
    classes: list[Any]
    digest: str
    """SHA-256 of everything that an answer depends on: settings, alphabet and weights."""
    old_digest: str | None
    """The digest in certificates of version 2; None where it leaves something out."""

    @property
    def temperatures(self) -> list[float]:
        """The temperatures that the layers run with."""
        return [layer.temperature for layer in self.network.layers]


def load_model(source: Folder, cells: Sequence[str] = CELLS) -> ModelFiles:
    """Read a model folder by the reader of `Model.load`, without torch."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    name = "the model" if isinstance(source, Mapping) else str(source)
    files = source if isinstance(source, Mapping) else read_files(Path(source))
    try:
        config = without_sums(check_files(files, name))
        alphabet = json.loads(files["alphabet.json"])
        symbols = [hashable(symbol) for symbol in alphabet["symbols"]]
        classes = [hashable(label) for label in config["classes"]]
        require_known(config["network"], cells)
        try:
            weights = load(files["model.safetensors"])
        except KeyError as kind:  # a type that NumPy has not
            raise ExtractionError(f"a proof needs finite float32 weights, got {kind}") from None
        network = build_network(config["network"], weights, len(symbols), len(classes))
        if len(set(symbols)) != len(symbols) or len(set(classes)) != len(classes):
            raise ValueError("a symbol or class appears twice")
        require_tokens(symbols, config["tokens"])
        used = {key: config["network"][key] for key in (*KINDS, *SIZES)}
        old = [used, config["classes"], config["tokens"], alphabet]
        return ModelFiles(
            network=network,
            symbols=symbols,
            classes=classes,
            digest=digest_of(weights, [config, alphabet]),
            old_digest=None if config.get("layout") else digest_of(weights, old),
        )
    except KleeneError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{name} is not a model folder ({error!r:.200}); train again") from None


def require_known(config: Mapping[str, Any], cells: Sequence[str]) -> None:
    """Refuse a network that the bounds are not for."""
    for key in config:
        if key not in (*KINDS, *SIZES, *TRAINING):
            raise ExtractionError(f"the verifier does not know the setting {key!r}; upgrade kleene")
    for key, allowed in {**KINDS, "cell": cells}.items():
        if not any(config[key] is one or config[key] == one for one in allowed):
            raise ExtractionError(
                f"a proof needs {key} in {allowed}, got {config[key]!r}; compare network and "
                "automaton on sequences instead"
            )
    for key in SIZES:
        if type(config[key]) is not int or config[key] < 1:
            raise ExtractionError(f"a proof needs {key} of at least 1, got {config[key]!r}")


def build_network(
    config: Mapping[str, Any], weights: Mapping[str, NDArray[Any]], symbols: int, classes: int
) -> Network:
    """The network of weights whose shapes, types and values are as the settings say."""
    hidden, k, width = config["hidden_size"], config["num_states"], config["input_size"]
    cell, layers = config["cell"], range(config["num_layers"])
    rows = GATES[cell] * hidden
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.weight": (config["num_symbols"], width),
        "head.weight": (config["num_classes"], hidden * (2 if cell in COUNTERS else 1)),
        "head.bias": (config["num_classes"],),
    }
    for i in layers:
        shapes |= {
            f"rnn.weight_ih_l{i}": (rows, hidden if i else width),
            f"rnn.weight_hh_l{i}": (rows, hidden),
            f"rnn.bias_ih_l{i}": (rows,),
            f"rnn.bias_hh_l{i}": (rows,),
            f"rnn.centroids_l{i}": (k, hidden),
            f"rnn.log_temperature_l{i}": (),
        }
        if cell == "lstm-p":
            shapes[f"rnn.peephole_l{i}"] = (3, hidden)
    if (config["num_symbols"], config["num_classes"]) != (FIRST + symbols, classes):
        raise ValueError("the weights are for another number of symbols or classes")
    if {name: array.shape for name, array in weights.items()} != shapes:
        raise ValueError("the weights have other names or shapes than the settings say")
    for name, array in sorted(weights.items()):
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise ExtractionError(
                f"a proof needs finite float32 weights, got {array.dtype} in {name}; call "
                "network.float(), save and certify again"
            )
    w = {name: array.astype(np.float64) for name, array in weights.items()}
    nothing = np.zeros((3, hidden))
    return Network(
        E=w["embedding.weight"],
        layers=tuple(
            Layer(
                W=w[f"rnn.weight_ih_l{i}"],
                R=w[f"rnn.weight_hh_l{i}"],
                b=w[f"rnn.bias_ih_l{i}"],
                c=w[f"rnn.bias_hh_l{i}"],
                S=w[f"rnn.centroids_l{i}"],
                P=w.get(f"rnn.peephole_l{i}", nothing),
                temperature=float(exp(Enclosure(w[f"rnn.log_temperature_l{i}"]))),
            )
            for i in layers
        ),
        H=w["head.weight"],
        d=w["head.bias"],
        cell=cell,
        similarity=config["similarity"],
        hard=config["transition"] in ("soft-argmax", "gumbel-hard"),
        end_token=config["end_token"],
    )


def require_tokens(symbols: list[Any], tokens: str) -> None:
    """Refuse symbols that no text contains once `predict` has split it."""
    for symbol in symbols:
        if isinstance(symbol, str) and tokens in ("text", "words"):
            found = list(as_word(symbol, tokens))
            if found != [symbol]:
                raise ExtractionError(
                    f"a proof needs symbols that a text can contain, but tokens={tokens!r} reads "
                    f"{symbol!r:.60} as {found!r:.60}; train with tokens='symbols'"
                )


# -- documents -----------------------------------------------------------------------------------


def load_document(
    source: Document, formats: tuple[str, ...], error: type[Exception], cure: str
) -> dict[str, Any]:
    """A parsed JSON object of one of the formats."""
    wanted = formats[0]
    if isinstance(source, Mapping):
        content: Any = dict(source)
    else:
        try:
            is_text = isinstance(source, str) and source.lstrip().startswith("{")
            content = json.loads(str(source) if is_text else read_regular(source))
        except OSError as failed:
            what = f"cannot read {source!s:.200}: {failed.strerror}"
            raise error(f"{what}; give a file of format {wanted}") from None
        except (ValueError, RecursionError) as failed:
            where = "" if is_text else f"{source!s:.200}: "
            raise error(f"{where}expected JSON of format {wanted}, got {failed}; {cure}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found not in formats:
        raise error(f"expected format {wanted!r}, got {found!r:.60}; {cure}")
    return dict(content)


def columns_of(alphabet: list[Any], symbols: list[Any]) -> list[int]:
    """The column of each symbol of the model in a machine's alphabet, which must be the same."""
    columns = {hashable(symbol): column for column, symbol in enumerate(alphabet)}
    same = len(alphabet) == len(columns) == len(symbols) and columns.keys() == set(symbols)
    need(same, "model and automaton have different alphabets")
    return [columns[symbol] for symbol in symbols]


def indices(values: Any, shape: tuple[int, ...], below: int, least: int = 0) -> NDArray[np.int64]:
    """Whole numbers from `least` on, as an array; false and true are none."""
    array = np.array(values, dtype=object)
    need(array.shape == shape, f"expected indices of shape {shape}, got {array.shape}")
    good = all(type(value) is int and least <= value < below for value in array.flat)
    need(good, f"an index is not a whole number from {least} to {below - 1}")
    return array.astype(np.int64)


def hashable(value: Any) -> Any:
    """A symbol or label as Python holds it: lists become tuples."""
    return tuple(map(hashable, value)) if isinstance(value, list | tuple) else value

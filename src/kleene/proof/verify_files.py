"""What the verifier reads: a model folder, an automaton and a certificate.

NumPy, safetensors and the standard library only; nothing here runs code from a file.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kleene.errors import ExtractionError, KleeneError, ModelError
from kleene.files import read_regular
from kleene.proof.verify_core import FIRST, Layer, Network, need

Document: TypeAlias = str | Path | Mapping[str, Any]
Folder: TypeAlias = str | Path | Mapping[str, bytes]

KINDS: dict[str, tuple[Any, ...]] = {  # what the bounds are for
    "cell": ("gru", "rnn", "rnn-relu"),
    "similarity": ("dot", "euclidean", "cosine"),
    "transition": ("mixture", "gumbel", "soft-argmax", "gumbel-hard"),
    "pooling": ("last",),
    "end_token": (True, False),
}
SIZES = ("num_symbols", "num_classes", "input_size", "hidden_size", "num_states", "num_layers")
MAX_WEIGHTS = 2**34  # bytes of a file of the model
IDEOGRAPHS = [
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
]
TRAINING = ("temperature", "learn_temperature", "dropout")  # of no effect on a trained network


@dataclass(frozen=True, kw_only=True)
class ModelFiles:
    """What a model folder holds."""

    network: Network
    symbols: list[Any]
    classes: list[Any]
    digest: str
    """SHA-256 of everything that `predict` depends on: settings, alphabet and weights."""
    old_digest: str | None
    """The digest in certificates of version 2; None where it leaves something out."""

    @property
    def temperatures(self) -> list[float]:
        """The temperatures that the layers run with."""
        return [layer.temperature for layer in self.network.layers]


def load_model(source: Folder) -> ModelFiles:
    """Read a model folder without torch."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    name = "the model" if isinstance(source, Mapping) else str(source)
    try:
        files = {
            part: source[part]
            if isinstance(source, Mapping)
            else read_regular(Path(source, part), MAX_WEIGHTS)
            for part in ("config.json", "model.safetensors", "alphabet.json", "history.json")
        }
        config = json.loads(files["config.json"])
        sums = config.pop("sha256")
        found = {part: hashlib.sha256(content).hexdigest() for part, content in files.items()}
        rest = json.dumps(config, sort_keys=True).encode()
        found["config.json"] = hashlib.sha256(rest).hexdigest()
        for part, digest in found.items():
            if sums[part] != digest:
                raise ModelError(f"{part} of {name} is not the file that was saved; train again")
        if config["format"] != "kleene.model/1":
            raise ValueError(f"its format is {config['format']!r}")
        alphabet = json.loads(files["alphabet.json"])
        symbols = [hashable(symbol) for symbol in alphabet["symbols"]]
        classes = [hashable(label) for label in config["classes"]]
        require_known(config["network"])
        weights = load(files["model.safetensors"])
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
    except OSError as error:
        message = f"cannot read {error.filename}: {error.strerror}; give a model folder"
        raise ModelError(message) from None
    except KleeneError:
        raise
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{name} is not a model folder ({error!r:.200}); train again") from None


def require_known(config: Mapping[str, Any]) -> None:
    """Refuse a network that the bounds are not for."""
    for key in config:
        if key not in (*KINDS, *SIZES, *TRAINING):
            raise ExtractionError(f"the verifier does not know the setting {key!r}; upgrade kleene")
    for key, allowed in KINDS.items():
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
    rows = hidden * (3 if config["cell"] == "gru" else 1)
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.weight": (config["num_symbols"], width),
        "head.weight": (config["num_classes"], hidden),
        "head.bias": (config["num_classes"],),
    }
    for i in range(config["num_layers"]):
        shapes |= {
            f"rnn.weight_ih_l{i}": (rows, hidden if i else width),
            f"rnn.weight_hh_l{i}": (rows, hidden),
            f"rnn.bias_ih_l{i}": (rows,),
            f"rnn.bias_hh_l{i}": (rows,),
            f"rnn.centroids_l{i}": (k, hidden),
            f"rnn.log_temperature_l{i}": (),
        }
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
    with np.errstate(over="ignore"):  # the core refuses what float32 cannot hold
        temperatures = [np.exp(w[f"rnn.log_temperature_l{i}"]) for i in range(config["num_layers"])]
    layers = [
        Layer(
            W=w[f"rnn.weight_ih_l{i}"],
            R=w[f"rnn.weight_hh_l{i}"],
            b=w[f"rnn.bias_ih_l{i}"],
            c=w[f"rnn.bias_hh_l{i}"],
            S=w[f"rnn.centroids_l{i}"],
            temperature=float(temperatures[i]),
        )
        for i in range(config["num_layers"])
    ]
    return Network(
        E=w["embedding.weight"],
        layers=tuple(layers),
        H=w["head.weight"],
        d=w["head.bias"],
        cell=config["cell"],
        similarity=config["similarity"],
        hard=config["transition"] in ("soft-argmax", "gumbel-hard"),
        end_token=config["end_token"],
    )


def require_tokens(symbols: list[Any], tokens: str) -> None:
    """Refuse symbols that no text contains once `predict` has split it."""
    for symbol in symbols:
        if not isinstance(symbol, str) or tokens not in ("text", "words"):
            continue
        if not (is_token(symbol) if tokens == "text" else symbol.split() == [symbol]):
            raise ExtractionError(
                f"a proof needs symbols that a text can contain, but tokens={tokens!r} never gives "
                f"{symbol!r:.60}; train with tokens='symbols'"
            )


def is_token(symbol: str) -> bool:
    """Whether `tokens="text"` splits this text into itself alone.

    A token is a word in lower case, with apostrophes inside, or dots, or one other character.
    """
    if symbol != unicodedata.normalize("NFC", symbol.lower().replace("’", "'")):
        return False
    if symbol == "_" or (len(symbol) > 1 and set(symbol) == {"."}):
        return True
    lead = symbol[:1]
    if lead.isalnum() and not is_ideograph(lead):
        return all(
            part[:1].isalnum()
            and all(is_mark(c) or (c.isalnum() and not is_ideograph(c)) for c in part)
            for part in symbol.split("'")
        )
    return lead not in ("", "_") and not lead.isspace() and all(map(is_mark, symbol[1:]))


def is_ideograph(character: str) -> bool:
    """Whether a character is a word of its own."""
    return any(first <= character <= last for first, last in IDEOGRAPHS)


def is_mark(character: str) -> bool:
    """Whether a character combines with the one before it."""
    mark = unicodedata.category(character)[0] == "M" and "\u0300" <= character < "\U00020000"
    return mark or character in "\u200c\u200d"


def digest_of(weights: Mapping[str, NDArray[Any]], about: Any) -> str:
    """SHA-256 over JSON values and weights."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\n")
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


# -- documents -----------------------------------------------------------------------------------


def load_document(
    source: Document, wanted: str, error: type[Exception], cure: str, *, older: str = ""
) -> dict[str, Any]:
    """A parsed JSON object of the wanted format, or of an older one."""
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
            raise error(f"expected JSON of format {wanted}, got {failed}; {cure}") from None
    found = content.get("format") if isinstance(content, dict) else None
    if found not in (wanted, older or wanted):
        raise error(f"expected format {wanted!r}, got {found!r:.60}; {cure}")
    return dict(content)


def indices(values: Any, shape: tuple[int, ...], below: int) -> NDArray[np.int64]:
    """Whole numbers from 0 on, as an array; false and true are none."""
    array = np.array(values, dtype=object)
    need(array.shape == shape, f"expected indices of shape {shape}, got {array.shape}")
    good = all(type(value) is int and 0 <= value < below for value in array.flat)
    need(good, f"an index is not a whole number from 0 to {below - 1}")
    return array.astype(np.int64)


def hashable(value: Any) -> Any:
    """A symbol or label as Python holds it: lists become tuples."""
    return tuple(map(hashable, value)) if isinstance(value, list | tuple) else value

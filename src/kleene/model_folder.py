"""The files of a model folder: read whole, within bounds, and checked against their digests.

`read_files` and `check_files` are the only reader: `Model.load` (train, predict, certify, serve,
export) and the verifier both call them. `digest_of` is the digest that certificates name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.errors import DataError, ModelError
from kleene.files import format_mismatch, read_regular, unfinished

FORMAT = "kleene.model/1"
PARTS = ("model.safetensors", "alphabet.json", "history.json")
FILES = ("config.json", *PARTS)
MAX_BYTES = {
    "model.safetensors": 2**34,
    "alphabet.json": 2**30,
    "history.json": 2**27,
    "config.json": 2**27,
}
"""Larger files are refused before they are read."""


def read_files(folder: Path) -> dict[str, bytes]:
    """The contents of a model folder, by file name."""
    files = {}
    for name in FILES:
        try:
            files[name] = read_regular(folder / name, MAX_BYTES[name])
        except FileNotFoundError:
            raise ModelError(
                f"{folder} has no {name}: not a model folder, or an incomplete one; "
                f"{_cure(str(folder))}"
            ) from None
        except (OSError, DataError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"{folder}/{name} cannot be read ({reason}); train again") from None
    return files


def add_digests(config: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The settings with the digests of all files, their own included."""
    sums = {name: _sha256(part) for name, part in files.items()}
    return {**config, "sha256": {**sums, "config.json": _config_digest(config)}}


def check_files(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """The settings of a model whose files have the digests that its `config.json` names."""
    try:
        config = json.loads(files["config.json"])
    except (ValueError, RecursionError) as error:
        raise ModelError(f"config.json of {name} is no JSON ({error}); {_cure(name)}") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != FORMAT:
        cure = "give a folder that `kleene train --out` wrote"
        raise ModelError(f"{name}: {format_mismatch(found, FORMAT, cure)}")
    sums = config["sha256"] if isinstance(config.get("sha256"), dict) else {}
    actual = {"config.json": _config_digest(config)} | {p: _sha256(files[p]) for p in PARTS}
    for part, digest in actual.items():
        if sums.get(part) != digest:
            raise ModelError(
                f"{part} of {name} is not the file that was saved (truncated, half written or "
                f"changed); {_cure(name)}"
            )
    return dict(config)


def without_sums(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without the digests of the files."""
    return {name: value for name, value in config.items() if name != "sha256"}


def model_digest(files: Mapping[str, bytes]) -> str:
    """The digest that certificates of a model name."""
    from safetensors.numpy import load

    config, alphabet = json.loads(files["config.json"]), json.loads(files["alphabet.json"])
    return digest_of(load(files["model.safetensors"]), [without_sums(config), alphabet])


def digest_of(weights: Mapping[str, NDArray[Any]], about: Any) -> str:
    """SHA-256 over JSON values (settings and alphabet) and weights: what answers depend on."""
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\n")
    for name in sorted(weights):
        array = np.ascontiguousarray(weights[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode() + array.tobytes())
    return digest.hexdigest()


def _config_digest(config: Mapping[str, Any]) -> str:
    """Digest of the settings, independent of their formatting."""
    return _sha256(json.dumps(without_sums(config), sort_keys=True).encode())


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _cure(folder: str) -> str:
    """What to do about a model folder that does not fit together."""
    left = [path.name for name in FILES for path in unfinished(Path(folder) / name)]
    if not left:
        return "train again, or with --resume"
    names = ", ".join(left[:4])
    return (
        f"an interrupted save left {names}; rename each to its name for that model, or save again"
    )

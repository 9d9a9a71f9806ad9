"""The files of a model folder: read whole, within bounds, and checked against their digests.

`read_files` and `check_files` are the only reader: `Model.load` (train, predict, certify, serve,
export) and the verifier both call them. `digest_of` is the digest that certificates name.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.errors import DataError, ModelError
from kleene.files import format_mismatch, read_regular, sweep, unfinished

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


def finish_save(folder: str | Path) -> bool:
    """Put a complete model in place that an interrupted save left in temporary files.

    Return whether there was one. `python -m kleene.model_folder FOLDER` does the same.
    """
    folder = Path(folder)
    for content, path in _candidates(folder / "config.json"):
        try:
            sums = check_config(content, str(folder))["sha256"]
        except ModelError:
            continue
        found = {
            folder / name: next(
                (p for part, p in _candidates(folder / name) if _sha256(part) == sums.get(name)),
                None,
            )
            for name in PARTS
        }
        sources = {**found, folder / "config.json": path}
        if None not in sources.values():
            for target, source in sources.items():
                if source is not None and source != target:
                    os.replace(source, target)
            sweep(folder / name for name in FILES)
            return True
    return False


def _candidates(path: Path) -> Iterator[tuple[bytes, Path]]:
    """The contents of a file's temporary copies and of the file itself, those that can be read."""
    for candidate in (*unfinished(path), path):
        with suppress(OSError, DataError):
            yield read_regular(candidate, MAX_BYTES[path.name]), candidate


def add_digests(config: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The settings with the digests of all files, their own included."""
    sums = {name: _sha256(part) for name, part in files.items()}
    return {**config, "sha256": {**sums, "config.json": _config_digest(config)}}


def check_config(content: bytes, name: str) -> dict[str, Any]:
    """The settings in `config.json`, if it has this format and its own digest."""
    try:
        config = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"config.json of {name} is no JSON ({error}); train again") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != FORMAT:
        cure = "give a folder that `kleene train --out` wrote"
        raise ModelError(f"{name}: {format_mismatch(found, FORMAT, cure)}")
    sums = config.get("sha256")
    if not isinstance(sums, dict) or sums.get("config.json") != _config_digest(config):
        raise _changed(name, "config.json")
    return dict(config)


def check_files(files: Mapping[str, bytes], name: str) -> dict[str, Any]:
    """The settings of a model whose files have the digests that its `config.json` names."""
    config = check_config(files["config.json"], name)
    for part in PARTS:
        if _sha256(files[part]) != config["sha256"].get(part):
            raise _changed(name, part)
    return config


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


def _changed(name: str, part: str) -> ModelError:
    return ModelError(
        f"{part} of {name} is not the file that was saved (truncated, half written or changed); "
        f"{_cure(name)}"
    )


def _cure(name: str) -> str:
    """The command that recovers a model folder."""
    if any(unfinished(Path(name) / part) for part in FILES):
        return f"`python -m kleene.model_folder {name}` finishes an interrupted save"
    return "train again, or with --resume"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m kleene.model_folder FOLDER")
    done = finish_save(sys.argv[1])
    print("the model is complete" if done else "no complete model in temporary files; train again")
    sys.exit(0 if done else 1)

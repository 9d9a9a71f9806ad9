"""The files of a model folder: read whole, within bounds, and checked against their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kleene.errors import DataError, ModelError
from kleene.files import read_regular, unfinished
from kleene.formats import mismatch

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
                f"{folder} has no {name}, so it is no model folder or was not finished; "
                "train again, or with --resume"
            ) from None
        except (OSError, DataError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ModelError(f"{folder}/{name} cannot be read ({reason}); train again") from None
    return files


def read_unfinished(folder: Path) -> Iterator[dict[str, bytes]]:
    """The complete model left by a process that was killed while it renamed its files."""
    left = {name: unfinished(folder / name) for name in FILES}
    if not any(left.values()):
        return
    found = {
        name: _contents([folder / name, *paths], MAX_BYTES[name]) for name, paths in left.items()
    }
    for content in found["config.json"]:
        try:
            sums = check_config(content, str(folder))["sha256"]
        except ModelError:
            continue
        files = {
            name: part
            for name in PARTS
            for part in found[name]
            if hashlib.sha256(part).hexdigest() == sums.get(name)
        }
        if len(files) == len(PARTS):
            yield {**files, "config.json": content}


def _contents(paths: Iterable[Path], most: int) -> list[bytes]:
    """The contents of the files that can be read."""
    contents = []
    for path in paths:
        with suppress(OSError, DataError):
            contents.append(read_regular(path, most))
    return contents


def add_digests(config: dict[str, Any], files: Mapping[str, bytes]) -> dict[str, Any]:
    """The settings with the digests of all files, their own included."""
    sums = {name: hashlib.sha256(part).hexdigest() for name, part in files.items()}
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
        raise ModelError(f"{name}: {mismatch(found, FORMAT, cure)}")
    sums = config.get("sha256")
    if not isinstance(sums, dict) or sums.get("config.json") != _config_digest(config):
        raise _changed(name, "config.json")
    return dict(config)


def check_parts(config: Mapping[str, Any], files: Mapping[str, bytes], name: str) -> None:
    """Refuse files that have not the digests in `config.json`."""
    for part in PARTS:
        if hashlib.sha256(files[part]).hexdigest() != config["sha256"].get(part):
            raise _changed(name, part)


def _config_digest(config: Mapping[str, Any]) -> str:
    """Digest of the settings, independent of their formatting."""
    rest = {name: value for name, value in config.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def _changed(name: str, part: str) -> ModelError:
    return ModelError(
        f"{part} of {name} is not the file that was saved (truncated, half written or changed); "
        "train again, or with --resume"
    )

"""A training run on disk: one file, written whole or not at all, with no code in it.

Tensors are stored by safetensors; progress is JSON in the same file's header, and so is a checksum
of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from kleene.errors import ModelError
from kleene.files import check_regular, write_atomically
from kleene.formats import mismatch

FORMAT = "kleene.checkpoint/1"
MAX_BYTES = 2**36
"""Larger files are refused: the weights, their average, the best ones and two moments of each."""


def save_checkpoint(path: Path, tensors: Mapping[str, Tensor], progress: Mapping[str, Any]) -> None:
    """Write tensors and progress to a file, replacing an older one at once."""
    from safetensors.torch import save

    whole = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(progress)
    metadata = {"format": FORMAT, "progress": text, "sha256": _checksum(whole, text)}
    write_atomically(path, save(whole, metadata))


def _checksum(tensors: Mapping[str, Tensor], progress: str) -> str:
    digest = hashlib.sha256(progress.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).cpu().numpy().tobytes())
    return digest.hexdigest()


def load_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `save_checkpoint` wrote."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path, MAX_BYTES)
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if metadata.get("format") != FORMAT:
            raise ModelError(f"{path}: {mismatch(metadata.get('format'), FORMAT, 'train again')}")
        if metadata["sha256"] != _checksum(tensors, metadata["progress"]):
            raise ValueError("its checksum does not match")
        progress = json.loads(metadata["progress"])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(
            f"{path} is not a complete checkpoint ({error}); delete it and train again"
        ) from None
    return tensors, progress


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state, as a flat mapping."""
    flat = {}
    for index, values in optimizer.state_dict()["state"].items():
        for key, value in values.items():
            flat[f"optimizer.{index}.{key}"] = torch.as_tensor(value)
    return flat


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore what `optimizer_tensors` returned."""
    state = optimizer.state_dict()
    state["state"] = {}
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            _, index, key = name.split(".", 2)
            state["state"].setdefault(int(index), {})[key] = value
    optimizer.load_state_dict(state)

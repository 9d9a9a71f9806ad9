"""A trained model and its folder: settings, weights, alphabet and history.

The folder holds `config.json`, `model.safetensors`, `alphabet.json` and `history.json`. The first
names the checksums of the others and is written last, so that a folder that was half written,
truncated or tampered with is refused. Loading never runs code.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from kleene.data.alphabet import Alphabet
from kleene.errors import KleeneError, ModelError
from kleene.files import write_atomically
from kleene.machine import Label, Word
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.train.history import History

FORMAT = "kleene.model/1"
PARTS = ("model.safetensors", "alphabet.json", "history.json")


@dataclass(frozen=True, kw_only=True)
class Model:
    """A network, what its inputs and outputs stand for, and how it was trained."""

    network: Classifier
    alphabet: Alphabet
    classes: tuple[Label, ...]
    tokens: str = "chars"
    """How texts become words: by `chars`, by white space (`words`), or given as `symbols`."""
    longest: int = 0
    """The length of the longest training word."""
    settings: dict[str, Any] = field(default_factory=dict)
    history: History = field(default_factory=History)

    def words(self, texts: Sequence[Any]) -> list[Word]:
        """Texts or sequences as words of this model's symbols."""
        split = self.tokens == "words"
        return [text.split() if split and isinstance(text, str) else text for text in texts]

    def save(self, folder: str | Path) -> Path:
        """Write the model folder; each file is there as a whole, or not at all."""
        from safetensors.torch import save

        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(
                f"cannot make the model folder {folder}: {error.strerror}; choose another place"
            ) from None
        weights = {k: v.detach().cpu().contiguous() for k, v in self.network.state_dict().items()}
        contents = dict(
            zip(
                PARTS,
                (
                    save(weights, {"format": FORMAT}),
                    self.alphabet.to_json().encode(),
                    json.dumps(self.history.to_dict()).encode(),
                ),
                strict=True,
            )
        )
        config = {
            "format": FORMAT,
            "network": self.network.config.to_dict(),
            "classes": [_json_label(label) for label in self.classes],
            "tokens": self.tokens,
            "longest": self.longest,
            "settings": self.settings,
            "sha256": {name: hashlib.sha256(part).hexdigest() for name, part in contents.items()},
        }
        for name, part in contents.items():
            write_atomically(folder / name, part)
        write_atomically(folder / "config.json", json.dumps(config, indent=2))
        return folder

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """Read a model folder, or say in one line what is wrong with it."""
        folder = Path(folder)
        config = _read_config(folder)
        contents = {name: _read_part(folder, name, config) for name in PARTS}
        try:
            return cls._build(config, contents)
        except (KleeneError, KeyError, TypeError, ValueError, RuntimeError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ModelError(f"{folder} does not describe a model: {reason}; train again") from None

    @classmethod
    def _build(cls, config: dict[str, Any], contents: dict[str, bytes]) -> Model:
        from safetensors import SafetensorError
        from safetensors.torch import load

        network = Classifier(NetworkConfig.from_dict(config["network"]))
        try:
            network.load_state_dict(load(contents["model.safetensors"]))
        except SafetensorError as error:
            raise ModelError(f"the weights cannot be read ({error})") from None
        network.eval()
        return cls(
            network=network,
            alphabet=Alphabet.from_json(contents["alphabet.json"].decode()),
            classes=tuple(config["classes"]),
            tokens=str(config["tokens"]),
            longest=int(config["longest"]),
            settings=dict(config["settings"]),
            history=History.from_dict(json.loads(contents["history.json"])),
        )

    def to(self, device: torch.device | str) -> Model:
        """The same model with its network on a device."""
        self.network.to(device)
        return self


def _json_label(label: Label) -> Any:
    plain = label.item() if hasattr(label, "item") else label
    if plain is None or isinstance(plain, str | int | float | bool):
        return plain
    raise ModelError(f"label {label!r} cannot be saved; use strings, numbers or booleans as labels")


def _read_config(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "does not exist"
        raise ModelError(f"{folder} {what}; give the folder that `kleene train --out` wrote")
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except FileNotFoundError:
        raise ModelError(
            f"{folder} has no config.json, so it is no model folder or was not finished; "
            "train again, or with --resume"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{folder}/config.json cannot be read ({error}); train again") from None
    came = config.get("format") if isinstance(config, dict) else None
    if came != FORMAT:
        newer = isinstance(came, str) and came.startswith("kleene.model/")
        cure = "upgrade kleene" if newer else "give a folder that `kleene train --out` wrote"
        raise ModelError(f"{folder} has format {came!r}, this version reads {FORMAT!r}; {cure}")
    return dict(config)


def _read_part(folder: Path, name: str, config: dict[str, Any]) -> bytes:
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise ModelError(
            f"{folder}/{name} cannot be read ({error.strerror}); train again"
        ) from None
    sums = config.get("sha256")
    if not isinstance(sums, dict) or hashlib.sha256(content).hexdigest() != sums.get(name):
        raise ModelError(
            f"{folder}/{name} is not the file that was saved (truncated, half written or changed); "
            "train again, or with --resume"
        )
    return content

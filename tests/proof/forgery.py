"""A proof that holds, opened so that attacks can change any part of it consistently."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from kleene.errors import KleeneError
from kleene.model import Model
from kleene.proof.certificate import Certificate
from kleene.proof.verify_files import load_model


@dataclass
class Forgery:
    """The parts of a model folder, an automaton and a certificate; attacks change them in place."""

    config: dict[str, Any]
    weights: dict[str, np.ndarray]
    alphabet: dict[str, Any]
    dfa: dict[str, Any]
    certificate: dict[str, Any]

    @classmethod
    def of(cls, model: Model, certificate: Certificate) -> Forgery:
        files = model.to_files()
        return cls(
            config=json.loads(files["config.json"]),
            weights={k: np.array(v) for k, v in load(files["model.safetensors"]).items()},
            alphabet=json.loads(files["alphabet.json"]),
            dfa=json.loads(certificate.dfa.to_json()),
            certificate=json.loads(certificate.to_json()),
        )

    def relabel(self, change: Any) -> None:
        """Change the automaton, in its file and in the certificate alike."""
        change(self.dfa)
        self.certificate["dfa"] = json.loads(json.dumps(self.dfa))

    def write(self, folder: Path, *, digest: bool = True) -> tuple[Path, Path, Path]:
        """Write all files with checksums that fit, and the digest in the certificate too."""
        parts = {
            "model.safetensors": save(self.weights),
            "alphabet.json": json.dumps(self.alphabet).encode(),
            "history.json": b'{"epochs": []}',
        }
        config = {name: value for name, value in self.config.items() if name != "sha256"}
        sums = {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}
        text = json.dumps(config, sort_keys=True).encode()
        config["sha256"] = {**sums, "config.json": hashlib.sha256(text).hexdigest()}
        model = folder / "model"
        model.mkdir(parents=True)
        for name, part in {**parts, "config.json": json.dumps(config).encode()}.items():
            (model / name).write_bytes(part)
        if digest:
            with suppress(KleeneError):  # then the folder is refused as such
                self.certificate["model_sha256"] = load_model(model).digest
        paths = folder / "dfa.json", folder / "certificate.json"
        paths[0].write_text(json.dumps(self.dfa))
        paths[1].write_text(json.dumps(self.certificate))
        return model, *paths

"""Write one small file of every format, with what it says, for later versions to read.

Run once for a version whose formats changed, and keep the folder for good:
python tests/formats/keep.py tests/formats/kept/NAME
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from runs import begun, words_and_labels

import kleene as kl
from kleene.automata.counter.machine import CounterMachine
from kleene.nn.classifier import Classifier
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.training.checkpoint import load_checkpoint
from kleene.training.history import Epoch
from kleene.training.loop import fit
from kleene.training.run import Run


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    words, labels = words_and_labels()
    classifier = kl.SequenceClassifier(hidden_size=8, network={"input_size": 4}, random_state=0)
    classifier.fit(words, labels).save(folder / "model")
    reading = classifier.extract(words)
    proof = certify(classifier.model, reading.dfa)
    assert isinstance(proof, Certificate)
    reading.dfa.save(folder / "dfa.json")
    (folder / "pfa.json").write_text(reading.pfa.to_json())
    proof.save(folder / "certificate.json")
    balanced().save(folder / "counter.json")
    keep_checkpoint(folder / "checkpoint.safetensors")
    tensors, _ = load_checkpoint(folder / "checkpoint.safetensors")
    asked = words[:20]
    said: dict[str, Any] = {
        "words": asked,
        "probabilities": classifier.predict_proba(asked).tolist(),
        "labels": reading.dfa.run_many(asked).tolist(),
        "balanced": {word: bool(balanced().run(word)) for word in ("", "()", "(()", ")(", "(())")},
        "temperature": proof.temperature,
        "head": tensors["weights.head.bias"].tolist(),
    }
    (folder / "said.json").write_text(json.dumps(said, indent=1))


def balanced() -> CounterMachine:
    """The machine of balanced parentheses: one good state, one for words that fell below 0."""
    bad = [[1, 1]] * 3
    return CounterMachine(
        alphabet=("(", ")"),
        transitions=[[[1, 1], [0, 1], [0, 0]], bad],
        increments=[[[1, -1], [1, -1], [1, -1]], [[0, 0]] * 3],
        outputs=((False, True, False), (False, False, False)),
        initial=0,
    )


def keep_checkpoint(path: Path) -> None:
    """A run that was stopped in its second epoch."""
    network, examples, stages = begun()

    def stop(network: Classifier, epoch: Epoch) -> None:
        if epoch.epoch == 1:
            raise KeyboardInterrupt

    try:
        fit(network, examples, stages=stages, run=Run(seed=0, checkpoint=path, hook=stop))
    except KeyboardInterrupt:
        return
    raise SystemExit("the run was not stopped")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

"""The names of `import kleene as kl`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import kleene as kl
from kleene.model import Model


def test_dir_shows_the_public_names_and_each_is_there() -> None:
    assert dir(kl) == sorted([*kl.__all__, "__version__"])
    for name in kl.__all__:
        assert getattr(kl, name) is not None


def test_load_opens_a_saved_model(tmp_path: Path) -> None:
    words, labels = kl.languages.tomita(1).sample(60, seed=0)
    clf = kl.SequenceClassifier(learn="automaton", random_state=0).fit(words, labels)
    clf.save(tmp_path / "model")
    loaded = kl.load(tmp_path / "model")
    assert isinstance(loaded, Model)
    assert loaded.classes == clf.model.classes


def test_the_import_is_quick() -> None:
    code = "import sys, kleene; print(sorted({*sys.modules} & {'torch', 'numpy'}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

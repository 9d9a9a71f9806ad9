"""Every script of experiments/ and benchmarks/ finds what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_every_script_can_be_imported(folder: str) -> None:
    names = [path.stem for path in sorted((ROOT / folder).glob("*.py"))]
    code = f"import importlib\nfor name in {names}: importlib.import_module(name)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr

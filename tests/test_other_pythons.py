"""Newer versions of Python, where they are found: the sources compile, and networks run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def interpreter(version: str) -> str:
    """A Python of that version in PATH or in pyenv's folder."""
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    built = sorted(root.glob(f"versions/{version}.*/bin/python"))
    for path in filter(None, [shutil.which(f"python{version}"), *map(str, built[-1:])]):
        if not subprocess.run([path, "--version"], capture_output=True).returncode:
            return path
    pytest.skip(f"Python {version} is not installed")


@pytest.mark.parametrize("version", ["3.12", "3.13"])
def test_the_sources_compile_and_networks_run(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT / "src"),
        "PYTHONPYCACHEPREFIX": str(tmp_path),
        "KLEENE_CACHE": str(tmp_path),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [python, "-W", "error", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    compiled = run("-m", "compileall", "-q", "-f", str(ROOT / "src"))
    assert not compiled.returncode, compiled.stdout
    if run("-W", "ignore", "-c", "import torch, numba, pytest").returncode:
        pytest.skip(f"Python {version} compiles the sources; it has no torch to run them with")
    tests = run("-W", "ignore", "-m", "pytest", "-q", "-x", str(ROOT / "tests/nn/test_drop_in.py"))
    assert not tests.returncode, tests.stdout

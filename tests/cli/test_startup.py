"""Commands start quickly: what they do not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("numba", "torch._dynamo", "sklearn", "scipy", "fastapi", "matplotlib")
CODE = """
import sys
from kleene.cli import main

assert main(sys.argv[2:]) == 0
print([name for name in sys.argv[1].split() if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        ("train --help", ("torch", "numpy", *SLOW)),
        ("induce data.tsv", ("torch",)),
        ("predict model words.txt", SLOW),
        ("evaluate model words.tsv", SLOW),
        ("explain model 0110", SLOW),
    ],
)
def test_a_command_imports_only_what_it_needs(
    folder: Path, command: str, unused: tuple[str, ...]
) -> None:
    (folder / "words.txt").write_text("0110\n111\n")
    (folder / "words.tsv").write_text("0110\t0\n111\t1\n")
    program = [sys.executable, "-c", CODE, " ".join(unused), *command.split()]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"

"""Fresh environments to install the package into, and the lowest versions that it claims."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
_FLOOR = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def floors(*extras: str) -> dict[str, str]:
    """The lowest version of each dependency, and of those of some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    waiting = list(extras)
    while waiting:
        for requirement in project["optional-dependencies"][waiting.pop()]:
            inner = re.fullmatch(r"kleene\[(.*)\]", requirement)
            if inner is None:
                wanted.append(requirement)
            else:
                waiting += inner[1].split(",")
    found = {}
    for requirement in wanted:
        match = _FLOOR.fullmatch(requirement)
        assert match is not None, f"{requirement!r} has no floor"
        found[match[1]] = match[2]
    return found


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive of this tree."""
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def make_environment(folder: Path, *requirements: object) -> Path:
    """A new environment with some packages; the result is its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / "bin"
    call(programs / "python", "-m", "pip", "install", "-q", "-c", CONSTRAINTS, *requirements)
    return programs


def call(*command: object, **options: object) -> str:
    """Run a program, which must succeed; what it printed."""
    done = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        **options,  # type: ignore[call-overload]
    )
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return str(done.stdout)

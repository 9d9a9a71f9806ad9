"""Run the shell commands of README.md word for word, in a pseudo-terminal, in a fresh clone.

The clone uses the environment that this script runs in; what would install packages or run for
hours is not run, and listed as such. Servers and long experiments are stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from terminal import Terminal, TerminalRun  # noqa: E402

NOT_RUN = ("pip install", "python -m pip", "make test", "make bench", "git clone", "docker")
"""Commands that install packages or take long; the rest of the tests is about them."""
STOPPED = {"kleene serve": "Ctrl-C"}
"""Commands that are interrupted, and the text after which they are."""


@dataclass(frozen=True)
class Step:
    """A command of the README and how it ended; None where it was not run."""

    command: str
    run: TerminalRun | None


def commands(text: str) -> list[str]:
    """The lines of all shell blocks, without comments; continued lines are joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    stripped = (re.split(r"\s#", line)[0].strip() for line in lines)
    return [line for line in stripped if line and not line.startswith("#")]


def walk(folder: Path) -> Iterator[Step]:
    """Clone this repository into a folder and run the commands of its README there."""
    clone = folder / "kleene"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    (clone / ".venv").symlink_to(sys.prefix)
    for name in ("pyproject.toml", "constraints.txt"):  # older than .venv/.ready, so that make
        os.utime(clone / name, (0, 0))  # installs nothing into the environment that is shared
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(clone / "src"),
        "BROWSER": "true",
    }
    for command in commands((clone / "README.md").read_text()):
        if command.startswith(NOT_RUN):
            yield Step(command, None)
            continue
        terminal = Terminal(cwd=clone, command=("sh", "-c", command), environment=environment)
        for start, sign in STOPPED.items():
            if command.startswith(start):
                terminal.wait_for(sign)
                terminal.interrupt()
        yield Step(command, terminal.finish())


STATUS = {"kleene robust": (0, 1)}
"""Commands that may give a negative answer."""


def failed(step: Step) -> bool:
    """Whether a command did not end as it should."""
    allowed = next((s for start, s in STATUS.items() if step.command.startswith(start)), (0,))
    return step.run is not None and step.run.status not in allowed

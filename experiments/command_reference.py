"""Write docs/reference: the help of every command, and the parameters in api.md.

Run: python experiments/command_reference.py [--check]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")

import typer
from page import ROOT, markdown

from kleene.cli.app import app
from kleene.config import described
from kleene.files import write_atomically

REFERENCE = ROOT / "docs" / "reference"
COMMANDS, API = REFERENCE / "commands.md", REFERENCE / "api.md"
GROUPS = {
    "": "`SequenceClassifier(...)`",
    "network": "`SequenceClassifier(network={...})`",
    "training": "`SequenceClassifier(training={...})`",
}
PARAMETERS = re.compile(r"(<!-- parameters -->\n).*?(<!-- end -->)", re.DOTALL)
INTRO = """# Commands

What `kleene COMMAND --help` says. Status 0 is success, 1 a negative answer (two automata differ, a
proof does not hold), 2 an error, described in one line on standard error. `--debug`, anywhere,
shows the traceback of an error.
"""


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    parts = [INTRO]
    with root.make_context("kleene", [], resilient_parsing=True) as top:
        for name in root.list_commands(top):
            command = root.get_command(top, name)
            assert command is not None
            with command.make_context(name, [], parent=top, resilient_parsing=True) as context:
                parts.append(_section(f"kleene {name}", command.get_help(context)))
    return "\n".join(parts)


def _section(name: str, text: str) -> str:
    body = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {name}\n\n```text\n{body}\n```\n"


def api() -> str:
    """The page of Python, with the parameters of the estimator."""
    parts = []
    for group, title in GROUPS.items():
        rows = [
            [f"`{one.name}`", _default(one), _values(one.metadata), one.metadata["help"]]
            for name, one in described()
            if name == group
        ]
        parts.append(f"{title}:\n\n{markdown(('name', 'default', 'values', 'meaning'), rows)}")
    filled = "\n\n".join(parts)
    return PARAMETERS.sub(lambda found: f"{found[1]}{filled}\n{found[2]}", API.read_text())


def _default(one: Field[Any]) -> str:
    chosen = "None:" in one.metadata["help"]  # the estimator chooses where nothing is given
    return f"`{None if chosen else one.default!r}`"


def _values(about: Mapping[str, Any]) -> str:
    return ", ".join(f"`{value}`" for value in about["values"].split("|") if value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if stale")
    check = parser.parse_args().check
    for path, text in ((COMMANDS, page()), (API, api())):
        if not check:
            write_atomically(path, text)
        elif path.read_text() != text:
            sys.exit(f"{path.name} is older than the code; run `make tables`")


if __name__ == "__main__":
    main()

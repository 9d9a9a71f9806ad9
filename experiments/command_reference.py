"""Write docs/reference/commands.md: the help of every command.

Run: python experiments/command_reference.py [--check]
"""

from __future__ import annotations

import argparse
import os
import sys

os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")

import typer
from page import ROOT

from kleene.cli.app import app
from kleene.files import write_atomically

PAGE = ROOT / "docs" / "reference" / "commands.md"
INTRO = """# Commands

What `kleene COMMAND --help` says. Status 0 is success, 1 a negative answer (two automata differ, a
proof does not hold), 2 a mistake, said in one line on standard error. `--debug`, anywhere, shows
the traceback of an error.
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
                for inner in getattr(command, "commands", {}):
                    sub = command.commands[inner]  # type: ignore[attr-defined]
                    with sub.make_context(inner, [], parent=context, resilient_parsing=True) as c:
                        parts.append(_section(f"kleene {name} {inner}", sub.get_help(c)))
    return "\n".join(parts)


def _section(name: str, text: str) -> str:
    body = "\n".join(line.rstrip() for line in text.splitlines())
    return f"## {name}\n\n```text\n{body}\n```\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if stale")
    if parser.parse_args().check:
        if PAGE.read_text() != page():
            sys.exit(f"{PAGE.name} is older than the commands; run `make tables`")
        return
    write_atomically(PAGE, page())


if __name__ == "__main__":
    main()

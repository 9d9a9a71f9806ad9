"""`kleene compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.automaton_files import load_dfa
from kleene.cli.console import answer, answer_json, label_text, quoted
from kleene.cli.options import Json


def compare(
    one: Annotated[Path, typer.Argument(metavar="A.json", help="An automaton.")],
    other: Annotated[Path, typer.Argument(metavar="B.json", help="Another.")],
    json: Json = False,
) -> None:
    """Compare two automata; show a shortest word that differs.

    Answers "equal" with status 0, or the word and both labels with status 1.

    \b
    Example:
      kleene languages dfa tomita4 --out truth.json
      kleene compare dfa.json truth.json
    """
    a, b = load_dfa(one), load_dfa(other)
    word = a.difference(b)
    if word is None:
        answer_json({"equal": True}) if json else answer("equal")
        return
    labels = a.run(word), b.run(word)
    if json:
        listed = word if isinstance(word, str) else list(word)
        answer_json({"equal": False, "word": listed, "labels": list(labels)})
    else:
        answer(
            f"differ on {quoted(word)}: {one} says {label_text(labels[0])}, "
            f"{other} says {label_text(labels[1])}"
        )
    raise typer.Exit(1)

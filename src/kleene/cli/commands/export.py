"""`kleene export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.automaton_files import check_ending, load_dfa, write_dfa
from kleene.cli.console import say
from kleene.errors import SettingError


def export(
    source: Annotated[
        Path, typer.Argument(metavar="MODEL|DFA.json", help="A model folder, or an automaton.")
    ],
    out: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="A model goes to .onnx; an automaton to .c, .onnx, or any ending that `kleene "
            "extract` knows; may be given more than once.",
        ),
    ],
) -> None:
    """Write a model or automaton for programs without Kleene.

    An ONNX file of a model reads padded sequences of any number and length; one of an automaton
    gives the numbers of labels. A C file needs no library; compiled, it reads words, one a line.

    \b
    Example:
      kleene export model --out model.onnx
      kleene export dfa.json --out dfa.c && cc -O2 dfa.c -o dfa && ./dfa < words.txt
    """
    for path in out:
        check_ending(path)
    if not source.is_dir():
        dfa = load_dfa(source)
        for path in out:
            write_dfa(dfa, path)
            say(f"wrote {path}")
        return
    for path in out:
        if path.suffix.lower() != ".onnx":
            raise SettingError(
                f"a model is exported to .onnx only, got {path}; for its automaton use "
                f"`kleene extract {source} --out {path}`"
            )
    from kleene.files import write_atomically
    from kleene.model import Model

    content = Model.load(source).to_onnx()
    for path in out:
        write_atomically(path, content)
        say(f"wrote {path}")

"""`kleene read`."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.automaton_files import DRAWINGS, NAMED, check_ending, write_dfa
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import NO_LAYOUT, Json, Seed, reads_data
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.data.layout import Layout
    from kleene.extraction.adapters import Classify
    from kleene.machine import Word


@reads_data
def read(
    network: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODULE:NAME]",
            help="A Python object that labels a batch of sequences; its module is imported.",
        ),
    ] = None,
    onnx: Annotated[
        Path | None, typer.Option(metavar="FILE", help="An ONNX file from token ids to scores.")
    ] = None,
    alphabet: Annotated[
        str | None,
        typer.Option(
            metavar="SYMBOLS",
            help="The symbols, with blanks between. [default: those of the data]",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Sequences like those it is for.")
    ] = None,
    start: Annotated[
        int | None, typer.Option(metavar="ID", help="ONNX: the token id before a sequence.")
    ] = None,
    end: Annotated[
        int | None, typer.Option(metavar="ID", help="ONNX: the token id after a sequence.")
    ] = None,
    max_states: Annotated[
        int | None, typer.Option(metavar="N", help="The largest automaton to choose.", min=1)
    ] = None,
    seconds: Annotated[float, typer.Option(metavar="S", help="How long it may take.")] = 30.0,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help=f"Write the automaton, as {NAMED}; may be given more than once."
        ),
    ] = None,
    front: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw size against error (.svg, .png).")
    ] = None,
    seed: Seed = 0,
    layout: Layout = NO_LAYOUT,
    json: Json = False,
) -> None:
    """Read an automaton from a network that was trained elsewhere.

    The network is asked about sequences and never changed. What comes out is tested, not proved: a
    front of automata with their errors on held-out sequences, of which the smallest within one
    standard error of the best is taken. Symbols that are whole numbers are the token ids of an
    ONNX network; others are numbered in the order of the alphabet.

    \b
    Example:
      kleene read --onnx net.onnx --alphabet "0 1 2 3" --data words.tsv --out dfa.svg
      kleene read mypackage.models:classify --data words.tsv --front front.svg
    """
    for path in out or []:
        check_ending(path)
    if front is not None:
        check_ending(front, DRAWINGS)
    from kleene.data.alphabet import Alphabet
    from kleene.data.files import read_data
    from kleene.extractor import extract

    if (network is None) == (onnx is None):
        raise SettingError("name one network: MODULE:NAME, or an ONNX file with --onnx")
    if onnx is None and (start is not None or end is not None):
        raise SettingError("--start and --end are for --onnx; a Python object adds its own tokens")
    words: list[Word] = []
    if data is not None:
        words = read_data(data, layout, labelled=False).words
    symbols = Alphabet.from_words(words).symbols if alphabet is None else tuple(alphabet.split())
    if not symbols:
        raise SettingError("the alphabet is not known; give --alphabet or --data")
    if onnx is None:
        classify = _imported(str(network))
    else:
        from kleene.extraction import adapters

        whole = all(str(symbol).isdecimal() for symbol in symbols)
        ids = {symbol: int(str(symbol)) if whole else i for i, symbol in enumerate(symbols)}
        classify = adapters.onnx(onnx, start=start, end=end, ids=ids)
    found = extract(
        classify, words or None, alphabet=symbols, max_states=max_states, seconds=seconds, seed=seed
    )
    for path in out or []:
        write_dfa(found.dfa, path)
        say(f"wrote {path}")
    if front is not None:
        from kleene.report.plots import save, size_against_error

        save(size_against_error(found.front or ()), front)
        say(f"wrote {front}")
    if json:
        answer_json(found.to_dict())
    else:
        answer(str(found))
        answer(f"\n{found.front}")


def _imported(name: str) -> Classify:
    """The object that `module:attribute` names."""
    module, _, attribute = name.partition(":")
    if not attribute:
        raise SettingError(f"a network is named MODULE:NAME, got {name!r}")
    sys.path.insert(0, "")  # as `python -m` looks in the working folder
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise SettingError(f"cannot import {name}: {error}") from None
    if not callable(found):
        raise SettingError(f"{name} must be callable with a batch of sequences")
    classify: Classify = found
    return classify

"""Automata in files: the ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kleene.cli.console import label_text, say
from kleene.errors import AutomatonError, SettingError

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.automata.counter.machine import CounterMachine
    from kleene.machine import Word


DRAWINGS = (".svg", ".png", ".pdf")
COUNTER_ENDINGS = (".json", ".dot", *DRAWINGS)
NAMED = ".json, .dot, .svg, .png, .pdf, .mmd, .regex, .c or .onnx"


def regexes(dfa: DFA) -> str:
    """The regular expression of the language, or one for each label, after it and a tab."""
    if dfa.is_boolean:
        return dfa.to_regex()
    labels = dict.fromkeys(dfa.outputs)
    return "\n".join(f"{label_text(y)}\t{dfa.recognizer(y).to_regex()}" for y in labels)


def _onnx(dfa: DFA) -> bytes:
    from kleene.export.onnx_automaton import to_onnx

    return to_onnx(dfa)


CONTENTS: dict[str, Callable[[DFA], str | bytes]] = {
    ".json": lambda dfa: dfa.to_json() + "\n",
    ".regex": lambda dfa: regexes(dfa) + "\n",
    ".c": lambda dfa: dfa.to_c(),
    ".onnx": _onnx,
}
PICTURES: dict[str, Callable[[DFA, Sequence[Word] | None], str]] = {
    ".dot": lambda dfa, words: dfa.to_dot(words=words) + "\n",
    ".mmd": lambda dfa, words: dfa.to_mermaid(words=words) + "\n",
}


def check_endings(paths: Iterable[Path] | None, endings: Sequence[str] = ()) -> None:
    """Refuse file names whose ending names no format, before any work is done."""
    known = endings or (*CONTENTS, *PICTURES, *DRAWINGS)
    for path in paths or []:
        if path.suffix.lower() not in known:
            message = f"{path} must end in one of {', '.join(known)}, which names the format"
            raise SettingError(message)
        if path.suffix.lower() in DRAWINGS:
            from kleene.automata.formats.drawing import load_graphviz

            load_graphviz()


def write_dfas(dfa: DFA, paths: Iterable[Path] | None, words: Sequence[Word] | None = None) -> None:
    """Write an automaton to several files, and say so."""
    for path in paths or []:
        write_dfa(dfa, path, words)
        say(f"wrote {path}")


def write_dfa(dfa: DFA, path: Path, words: Sequence[Word] | None = None) -> None:
    """Write an automaton in the format that the ending of the file names.

    Pictures show only the moves that the `words` take, where there are words.
    """
    from kleene.files import write_atomically

    check_endings([path])
    ending = path.suffix.lower()
    if ending in DRAWINGS:
        dfa.draw(path, words=words)
    elif ending in PICTURES:
        write_atomically(path, PICTURES[ending](dfa, words))
    else:
        write_atomically(path, CONTENTS[ending](dfa))


def write_counter(machine: CounterMachine, path: Path) -> None:
    """Write a counter machine: its JSON document, DOT, or a drawing."""
    from kleene.files import write_atomically

    ending = path.suffix.lower()
    if ending in DRAWINGS:
        machine.draw(path)
    else:
        write_atomically(path, (machine.to_dot() if ending == ".dot" else machine.to_json()) + "\n")


def load_machine(path: Path) -> DFA | CounterMachine:
    """Read an automaton or a counter machine, whichever the file says it is."""
    from kleene.automata.counter.machine import CounterMachine
    from kleene.automata.formats.json import read_text

    if '"kleene.counter/' not in read_text(path)[:200]:
        return load_dfa(path)
    try:
        return CounterMachine.load(path)
    except AutomatonError as error:
        raise AutomatonError(f"{path}: {error}") from None


def load_dfa(path: Path) -> DFA:
    """Read an automaton; an error names the file."""
    from kleene.automata import DFA

    try:
        return DFA.load(path)
    except AutomatonError as error:
        known = str(path) in str(error)
        raise error if known else AutomatonError(f"{path}: {error}") from None

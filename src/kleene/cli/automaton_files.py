"""Automata in files: the ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.errors import AutomatonError, SettingError
from kleene.files import write_atomically

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.automata.counter.machine import CounterMachine
    from kleene.machine import Word


def regexes(dfa: DFA) -> str:
    """The regular expression of the language, or one for each label, after it and a tab."""
    if dfa.is_boolean:
        return dfa.to_regex()
    labels = dict.fromkeys(dfa.outputs)
    return "\n".join(f"{label}\t{dfa.recognizer(label).to_regex()}" for label in labels)


def _onnx(dfa: DFA) -> bytes:
    from kleene.export.onnx_automaton import to_onnx

    return to_onnx(dfa)


TEXTS: dict[str, Callable[[Any], str | bytes]] = {
    ".json": lambda dfa: dfa.to_json() + "\n",
    ".regex": lambda dfa: regexes(dfa) + "\n",
    ".c": lambda dfa: dfa.to_c(),
    ".onnx": _onnx,
}
DIAGRAMS = {".dot": "to_dot", ".mmd": "to_mermaid"}
DRAWINGS = (".svg", ".png", ".pdf")
DFA_ENDINGS, COUNTER_ENDINGS = (*TEXTS, *DIAGRAMS, *DRAWINGS), (".json", ".dot", *DRAWINGS)


def check_endings(paths: Iterable[Path] | None, endings: Sequence[str] = DFA_ENDINGS) -> None:
    """Refuse file names whose ending names no format, before any work is done."""
    for path in paths or []:
        if path.suffix.lower() not in endings:
            message = f"{path} must end in one of {', '.join(endings)}, which names the format"
            raise SettingError(message)
        if path.suffix.lower() in DRAWINGS:
            from kleene.automata.formats.drawing import load_graphviz

            load_graphviz()


def write_machine(
    machine: DFA | CounterMachine, paths: Iterable[Path] | None, words: Sequence[Word] | None = None
) -> None:
    """Write a machine in the formats that the endings name, and say so.

    Pictures show only the moves that the `words` take, where there are words.
    """
    shown: dict[str, Any] = {} if words is None else {"words": words}
    for path in paths or []:
        ending = path.suffix.lower()
        if ending in DRAWINGS:
            machine.draw(path, **shown)
        elif ending in DIAGRAMS:
            write_atomically(path, getattr(machine, DIAGRAMS[ending])(**shown) + "\n")
        else:
            write_atomically(path, TEXTS[ending](machine))
        say(f"wrote {path}")


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

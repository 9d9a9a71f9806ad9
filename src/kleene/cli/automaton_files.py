"""Automata in files: the ending names the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.console import say
from kleene.errors import SettingError
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


CONTENTS: dict[str, Callable[..., str | bytes]] = {  # from a machine, and the words to show
    ".json": lambda machine, **_: machine.to_json() + "\n",
    ".dot": lambda machine, **shown: machine.to_dot(**shown) + "\n",
    ".mmd": lambda dfa, **shown: dfa.to_mermaid(**shown) + "\n",
    ".regex": lambda dfa, **_: regexes(dfa) + "\n",
    ".c": lambda dfa, **_: dfa.to_c(),
    ".onnx": lambda dfa, **_: _onnx(dfa),
}
DRAWINGS = (".svg", ".png", ".pdf")
DFA_ENDINGS, COUNTER_ENDINGS = (*CONTENTS, *DRAWINGS), (".json", ".dot", *DRAWINGS)


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
        else:
            write_atomically(path, CONTENTS[ending](machine, **shown))
        say(f"wrote {path}")


def load_machine(path: Path) -> DFA | CounterMachine:
    """Read an automaton or a counter machine, whichever the file says it is."""
    from kleene.automata import DFA
    from kleene.automata.counter.machine import CounterMachine
    from kleene.automata.formats.json import read_text

    counts = '"kleene.counter/' in read_text(path)[:200]
    return CounterMachine.load(path) if counts else DFA.load(path)

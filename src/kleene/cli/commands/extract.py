"""`kleene extract`: from a network, Kleene's or anybody's, to an automaton."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.automaton_files import COUNTER_ENDINGS, DFA_ENDINGS, check_endings, write_machine
from kleene.cli.console import answer, answer_json
from kleene.cli.options import (
    AUTOMATON_FILES,
    JSON,
    SEED,
    OpenData,
    argument,
    flag,
    option,
    reads_data,
)
from kleene.cli.progress import progress
from kleene.errors import SettingError

if TYPE_CHECKING:
    from kleene.extraction.result import Extraction
    from kleene.machine import Word

ELSEWHERE = "Networks trained elsewhere"


@reads_data
def extract(
    network: str = argument(
        "NETWORK",
        "A model folder; an .onnx file from token ids to scores; or MODULE:NAME, a Python object "
        "that labels a batch of sequences, whose module is imported.",
    ),
    method: str | None = option(
        None,
        "auto|table|counts|mean|lstar|counter",
        "How a model is read. [default: auto, the cheapest that is faithful]",
    ),
    data: str | None = option(None, "DATA", "Sequences to read along. [default: random ones]"),
    out: list[Path] | None = AUTOMATON_FILES,
    seconds: float | None = option(None, "S", "Limit of active learning. [default: 10, or 30]"),
    seed: int = SEED,
    alphabet: str | None = option(
        None, "SYMBOLS", "With blanks between. [default: those of the data]", group=ELSEWHERE
    ),
    max_states: int | None = option(None, "N", "Maximum number of states.", min=1, group=ELSEWHERE),
    verbose: bool = flag("--verbose", "Show all details of the proof."),
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Extract an automaton from a network; say how faithful it is.

    With --data, pictures show only the moves that these sequences take; other formats have all.

    A network that was trained elsewhere is asked about sequences and never changed. Its automaton
    is tested, not proved: of the automata found, the smallest within one standard error of the best
    on held-out sequences is taken. Symbols that are whole numbers are the token ids of an ONNX
    network; others are numbered in the order of the alphabet.

    \b
    Example:
      kleene extract model --out dfa.json --out dfa.svg
      kleene extract model --method counts --data data.tsv --json
      kleene extract lstm-model --method counter --data data.tsv --out machine.svg
      kleene extract net.onnx --alphabet "0 1 2 3" --data words.tsv --out dfa.svg
      kleene extract mypackage.models:classify --data words.tsv
    """
    check_endings(out, COUNTER_ENDINGS if method == "counter" else DFA_ENDINGS)
    source = None if data is None else open_data(data)
    onnx = network.lower().endswith(".onnx")
    limits: Any = {"seconds": seconds, "seed": seed}
    if not onnx and (":" not in network or Path(network).exists()):
        if alphabet is not None or max_states is not None:
            raise SettingError(
                "--alphabet and --max-states are for networks trained elsewhere; leave them out "
                "for a model folder"
            )
        from kleene.model import Model

        model = Model.load(network)
        words = None if source is None else source.words(model)
        found = _extract(model, words, method=method or "auto", **limits)
        _write(found, out, words)
    else:
        if method is not None:
            raise SettingError("--method is for model folders; other networks are learned actively")
        from kleene.data.alphabet import Alphabet

        words = [] if source is None else [*source.read(None, labelled=False).words]
        symbols = tuple(alphabet.split()) if alphabet else Alphabet.from_words(words).symbols
        if not symbols:
            raise SettingError("the alphabet is not known; give --alphabet or --data")
        asked = _onnx(network, symbols) if onnx else _imported(network)
        limits["max_states"] = max_states
        found = _extract(asked, words or None, alphabet=symbols, **limits)
        write_machine(found.dfa, out)
    if json:
        answer_json(found.to_dict())
        return
    if found.counter is None and found.dfa.num_states == 1:
        answer(f"always answers {found.dfa.output(0)}: there is nothing more to read\n")
    answer(found.to_text(verbose=verbose))
    if found.front is not None and found.model is None:
        answer(f"\n{found.front}")


def _extract(network: Any, words: list[Word] | None, **how: Any) -> Extraction:
    from kleene.extraction.extract import extract as extract_automaton

    with progress("extracting"):
        return extract_automaton(network, words, **how)


def _write(found: Extraction, out: list[Path] | None, words: list[Word] | None) -> None:
    from kleene.automata.table import known_words

    if found.counter is not None:
        write_machine(found.counter.machine.minimize(), out)
    else:
        write_machine(found.dfa, out, None if words is None else known_words(found.dfa, words))


def _onnx(path: str, symbols: tuple[Any, ...]) -> Any:
    from kleene.extraction import adapters

    whole = all(str(symbol).isdecimal() for symbol in symbols)
    ids = {symbol: int(str(symbol)) if whole else i for i, symbol in enumerate(symbols)}
    return adapters.onnx(path, ids=ids)


def _imported(name: str) -> Any:
    """The object that `module:attribute` names."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")  # as `python -m` looks in the working folder
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingError(f"cannot import {name}: {error}") from None
    if not callable(found):
        raise SettingError(f"{name} must be callable with a batch of sequences")
    return found

"""`kleene extract`: from a network, Kleene's or anybody's, to an automaton."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kleene.cli.automaton_files import (
    COUNTER_ENDINGS,
    DRAWINGS,
    check_endings,
    write_counter,
    write_dfas,
)
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import (
    FROM_OPTIONS,
    AutomatonFiles,
    Json,
    Seed,
    argument,
    flag,
    option,
    reads_data,
)
from kleene.errors import SettingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kleene.cli.input import DataSource, OpenData
    from kleene.extraction.adapters import Classify
    from kleene.extraction.result import Extraction
    from kleene.machine import Symbol, Word

ELSEWHERE = "Networks trained elsewhere"


@reads_data
def extract(
    network: Annotated[
        str,
        argument(
            "NETWORK",
            "A model folder; an .onnx file from token ids to scores; or MODULE:NAME, a "
            "Python object that labels a batch of sequences, whose module is imported.",
        ),
    ],
    method: Annotated[
        str | None,
        option(
            "auto|table|counts|mean|soft-counts|kmeans|lstar|counter",
            "How a model is read. [default: auto, the cheapest that is faithful]",
        ),
    ] = None,
    data: Annotated[
        str | None, option("DATA", "Sequences to read along. [default: random ones]")
    ] = None,
    out: AutomatonFiles = None,
    seconds: Annotated[
        float | None, option("S", "Limit of active learning. [default: 10, and 30 elsewhere]")
    ] = None,
    seed: Seed = 0,
    alphabet: Annotated[
        str | None,
        option(
            "SYMBOLS",
            "The symbols, with blanks between. [default: those of the data]",
            group=ELSEWHERE,
        ),
    ] = None,
    max_states: Annotated[
        int | None, option("N", "The largest automaton to choose.", min=1, group=ELSEWHERE)
    ] = None,
    front: Annotated[
        Path | None, option("FILE", "Draw size against error (.svg, .png, .pdf).", group=ELSEWHERE)
    ] = None,
    start: Annotated[
        int | None, option("ID", "ONNX: the token id before a sequence.", group=ELSEWHERE)
    ] = None,
    end: Annotated[
        int | None, option("ID", "ONNX: the token id after a sequence.", group=ELSEWHERE)
    ] = None,
    open_data: OpenData = FROM_OPTIONS,
    verbose: Annotated[bool, flag("--verbose", "Show all details of the proof.")] = False,
    json: Json = False,
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
      kleene extract mypackage.models:classify --data words.tsv --front front.svg
      torchrun --nproc-per-node 4 -m kleene extract model --method counts --data corpus.tsv.gz
    """
    check_endings(out, COUNTER_ENDINGS if method == "counter" else ())
    onnx = network.lower().endswith(".onnx")
    if not onnx and (":" not in network or Path(network).exists()):
        if any(given is not None for given in (alphabet, max_states, front, start, end)):
            raise SettingError(
                "--alphabet, --max-states, --front, --start and --end are for networks trained "
                "elsewhere; leave them out for a model folder"
            )
        chosen = {"method": method or "auto", "seconds": seconds, "seed": seed}
        source = None if data is None else open_data(data)
        found = _extract_model(Path(network), source, out, chosen)
        if found is not None:
            _answer(found, json=json, verbose=verbose)
        return
    from kleene.distributed import rank_and_world_size

    if rank_and_world_size()[0]:
        return  # the first process does it alone
    if method is not None:
        raise SettingError("--method is for model folders; other networks are learned actively")
    if not onnx and (start is not None or end is not None):
        raise SettingError("--start and --end are for ONNX; a Python object adds its own tokens")
    if front is not None:
        check_endings([front], DRAWINGS)
    from kleene.data.alphabet import Alphabet
    from kleene.extraction.extract import extract as extract_automaton

    words: list[Word] = []
    if data is not None:
        words = open_data(data).unlabelled()
    symbols = Alphabet.from_words(words).symbols if alphabet is None else tuple(alphabet.split())
    if not symbols:
        raise SettingError("the alphabet is not known; give --alphabet or --data")
    classify = _onnx(network, symbols, start, end) if onnx else _imported(network)
    found = extract_automaton(
        classify, words or None, alphabet=symbols, max_states=max_states, seconds=seconds, seed=seed
    )
    write_dfas(found.dfa, out)
    if front is not None:
        from kleene.report.plots import save, size_against_error

        save(size_against_error(found.front or ()), front)
        say(f"wrote {front}")
    _answer(found, json=json, verbose=verbose)
    if not json:
        answer(f"\n{found.front}")


def _extract_model(
    folder: Path, data: DataSource | None, out: list[Path] | None, chosen: dict[str, Any]
) -> Extraction | None:
    """Extract from a model folder and write the files; None in all processes but the first.

    Several processes share the words of the method `counts`.
    """
    from kleene.automata.table import known_words
    from kleene.distributed import init_process_group, rank_and_world_size
    from kleene.extraction.extract import extract as extract_automaton
    from kleene.model import Model

    shared = chosen["method"] == "counts" and data is not None
    if rank_and_world_size()[0] and not shared:
        return None  # the first process does it alone
    model, words = Model.load(folder), None
    if data is not None and shared:
        with init_process_group() as group:
            stream = (word for word, _ in data.each_word(model, group))
            found = extract_automaton(model, stream, process_group=group, **chosen)
    else:
        words = None if data is None else data.words(model)[0]
        found = extract_automaton(model, words, **chosen)
    if rank_and_world_size()[0]:
        return None
    if found.counter is None:
        write_dfas(found.dfa, out, None if words is None else known_words(found.dfa, words))
    else:
        for path in out or []:
            write_counter(found.counter.machine.minimize(), path)
            say(f"wrote {path}")
    return found


def _answer(found: Extraction, *, json: bool, verbose: bool) -> None:
    if json:
        answer_json(found.to_dict())
    else:
        answer(found.to_text(verbose=verbose))


def _onnx(path: str, symbols: Sequence[Symbol], start: int | None, end: int | None) -> Classify:
    from kleene.extraction import adapters

    whole = all(str(symbol).isdecimal() for symbol in symbols)
    ids = {symbol: int(str(symbol)) if whole else i for i, symbol in enumerate(symbols)}
    return adapters.onnx(path, start=start, end=end, ids=ids)


def _imported(name: str) -> Classify:
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
    classify: Classify = found
    return classify

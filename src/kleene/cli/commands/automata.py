"""`kleene induce`, `kleene compare`, `kleene match` and `kleene export`: automata in files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.automaton_files import check_endings, load_dfa, write_dfas
from kleene.cli.console import (
    answer,
    answer_json,
    answer_lines,
    answer_result,
    answer_table,
    label_text,
    quoted,
    say,
)
from kleene.cli.options import (
    FROM_OPTIONS,
    AutomatonFiles,
    DataFile,
    Json,
    Seed,
    Tokens,
    argument,
    flag,
    option,
    reads_data,
)
from kleene.errors import AlphabetError, SettingError

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.cli.input import OpenData
    from kleene.data.layout import Example

FIRST_CHUNK, CHUNK = 1_000, 100_000  # words matched at a time, at first and in the long run


@reads_data
def induce(
    data: DataFile,
    out: AutomatonFiles = None,
    max_states: Annotated[
        int | None, option("N", "Maximum number of states. [default: no limit]", min=1)
    ] = None,
    seconds: Annotated[
        float | None, option("S", "Maximum CPU seconds. [default: a limit of work]")
    ] = None,
    seed: Seed = 0,
    tokens: Tokens = None,
    open_data: OpenData = FROM_OPTIONS,
    json: Json = False,
) -> None:
    """Find a small automaton for labelled sequences, no network.

    The search weighs the size of the automaton against the labels it explains, so that wrong labels
    do not add states; a tenth of the rows is held back to check what it finds. Pictures show only
    the moves that the rows take; the other formats have all.

    \b
    Example:
      kleene sample tomita4 -n 2000 > data.tsv
      kleene induce data.tsv --out dfa.svg --out dfa.json
      kleene induce sessions.csv.gz --text-column Sequence --max-states 6 --json
    """
    check_endings(out)
    from kleene.induction import induce as search

    rows = open_data(data).fitted().training(tokens)
    with _status() as show:
        found = search(
            rows.words,
            rows.labels or [],
            max_states,
            seconds,
            seed,
            tokens="symbols",
            progress=show,
        )
    write_dfas(found.dfa, out, rows.words)
    answer_result(found, json=json)


@contextmanager
def _status() -> Iterator[Callable[[str], None]]:
    """A line on standard error that shows the best automaton so far; nothing without a terminal."""
    if not sys.stderr.isatty():
        yield lambda message: None
        return
    from rich.console import Console

    with Console(stderr=True).status("searching") as status:
        yield lambda message: status.update(f"best so far: {message}")


def compare(
    one: Annotated[Path, argument("A.json", "An automaton.")],
    other: Annotated[Path, argument("B.json", "Another.")],
    json: Json = False,
) -> None:
    """Compare two automata; show a shortest word that differs.

    Answers "equal" with status 0, or the word and both labels with status 1.

    \b
    Example:
      kleene sample tomita4 --dfa --out truth.json
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


@reads_data
def match(
    dfa: Annotated[Path, argument("DFA.json", "An automaton that `kleene extract` wrote.")],
    words: Annotated[str, argument("WORDS", "One word a line, or any DATA file; - is stdin.")],
    open_data: OpenData = FROM_OPTIONS,
    tokens: Annotated[
        str | None,
        option(
            "chars|words",
            "Split texts into characters or at white space. [default: by the alphabet]",
        ),
    ] = None,
    count: Annotated[bool, flag("--count", "Print only how many words have each label.")] = False,
    json: Json = False,
) -> None:
    """Label words with an automaton, fast, one label a line.

    Words are read and answered as they come, so that the file may be of any size. With --json the
    lines are JSON values.

    \b
    Example:
      kleene match dfa.json words.txt
      zcat log.gz | kleene match dfa.json - --count
    """
    import json as json_format
    from collections import Counter
    from itertools import islice

    from kleene.automata.symbols import spelled_by_characters

    machine = load_dfa(dfa)
    tokens = tokens or ("chars" if spelled_by_characters(machine.alphabet) else "words")
    texts = [
        json_format.dumps(label, default=str) if json else label_text(label)
        for label in machine.outputs
    ]
    totals: Counter[str] = Counter(dict.fromkeys(texts, 0))
    size = FIRST_CHUNK
    found = open_data(words).each(tokens, labelled=False)
    while chunk := list(islice(found, size)):
        labels = [texts[state] for state in _states(machine, chunk).tolist()]
        if count:
            totals.update(labels)
        else:
            answer_lines(labels)
        size = min(2 * size, CHUNK)
    if count and json:
        answer_json(dict(totals))
    elif count:
        answer_table(["label", "words"], totals.items())


def _states(machine: DFA, chunk: list[Example]) -> Any:
    try:
        return machine.matcher.states([example.word for example in chunk])
    except AlphabetError:
        known = machine.columns
        for example in chunk:
            for symbol in example.word:
                if symbol not in known:
                    raise AlphabetError(
                        f"line {example.line}: the symbol {symbol!r} is not in the automaton's "
                        f"alphabet of {len(known)} symbols; remove the word, or see --tokens"
                    ) from None
        raise


def export(
    source: Annotated[Path, argument("MODEL|DFA.json", "A model folder, or an automaton.")],
    out: Annotated[
        list[Path],
        option(
            "FILE",
            "A model goes to .onnx; an automaton to .c, .onnx, or any ending that `kleene "
            "extract` knows; may be repeated.",
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
    check_endings(out)
    if not source.is_dir():
        write_dfas(load_dfa(source), out)
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

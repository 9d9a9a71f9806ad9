"""`kleene match`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kleene.cli.automaton_files import load_dfa
from kleene.cli.console import answer_json, answer_lines, answer_table, label_text
from kleene.cli.options import NO_LAYOUT, Json, reads_data
from kleene.errors import AlphabetError

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.data.layout import Example, Layout


FIRST_CHUNK, CHUNK = 1_000, 100_000  # words matched at a time, at first and in the long run


DfaFile = Annotated[
    Path, typer.Argument(metavar="DFA.json", help="An automaton that `kleene extract` wrote.")
]


@reads_data
def match(
    dfa: DfaFile,
    words: Annotated[
        str,
        typer.Argument(metavar="WORDS", help="One word a line, or any DATA file; - is stdin."),
    ],
    layout: Layout = NO_LAYOUT,
    tokens: Annotated[
        str | None,
        typer.Option(
            metavar="chars|words",
            help="Split texts into characters or at white space. [default: by the alphabet]",
        ),
    ] = None,
    count: Annotated[
        bool, typer.Option("--count", help="Print only how many words have each label.")
    ] = False,
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
    from kleene.data.files import read_examples

    machine = load_dfa(dfa)
    tokens = tokens or ("chars" if spelled_by_characters(machine.alphabet) else "words")
    texts = [
        json_format.dumps(label, default=str) if json else label_text(label)
        for label in machine.outputs
    ]
    totals: Counter[str] = Counter(dict.fromkeys(texts, 0))
    size = FIRST_CHUNK
    found = read_examples(words, layout, tokens=tokens, labelled=False)
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

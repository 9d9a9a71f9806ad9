"""`kleene induce`, `kleene compare`, `kleene match` and `kleene export`: automata in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kleene.cli.automaton_files import check_endings, write_machine
from kleene.cli.console import (
    answer,
    answer_json,
    answer_lines,
    answer_result,
    answer_table,
    quoted,
    say,
)
from kleene.cli.options import (
    AUTOMATON_FILES,
    DATA,
    JSON,
    SEED,
    TOKENS,
    OpenData,
    argument,
    flag,
    option,
    reads_data,
)
from kleene.cli.progress import progress
from kleene.errors import AlphabetError, SettingError
from kleene.machine import label_texts

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.data.layout import Example

CHUNK = 10_000  # words matched at a time


@reads_data
def induce(
    data: str = DATA,
    out: list[Path] | None = AUTOMATON_FILES,
    max_states: int | None = option(None, "N", "Maximum number of states.", min=1),
    seconds: float | None = option(None, "S", "Maximum work, in CPU seconds of an ordinary core."),
    ask: int = option(0, "N", "Show N words whose labels decide among automata.", min=0),
    seed: int = SEED,
    tokens: str | None = TOKENS,
    json: bool = JSON,
    *,
    open_data: OpenData,
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
      kleene induce data.tsv --ask 5   # words to label, then add to the rows
    """
    check_endings(out)
    from kleene.induction import induce as search

    rows = open_data(data).read(tokens)
    limits: Any = {"max_states": max_states, "seconds": seconds, "seed": seed}
    with progress("searching") as shown:
        found = search(
            rows.words, rows.labels or [], tokens="symbols", progress=shown.set_note, **limits
        )
    write_machine(found.dfa, out, rows.words)
    if not ask:
        answer_result(found, json=json)
        return
    words, others = found.questions(ask), len(found.alternatives)
    if json:
        answer_json({**found.to_dict(), "alternatives": others, "questions": words})
        return
    told = "no other automaton was found that explains the rows as well"
    if words:
        told = f"{others} other automata explain the rows as well; label these words to decide:"
    answer(f"{found}\n\n{told}")
    answer_lines(word if isinstance(word, str) else " ".join(map(str, word)) for word in words)


def compare(
    one: Path = argument("A.json", "An automaton."),
    other: Path = argument("B.json", "Another."),
    json: bool = JSON,
) -> bool:
    """Compare two automata; show a shortest word that differs.

    Answers "equal" with status 0, or the word and both labels with status 1.

    \b
    Example:
      kleene sample tomita4 --dfa --out truth.json
      kleene compare dfa.json truth.json
    """
    from kleene.automata import DFA

    a, b = DFA.load(one), DFA.load(other)
    word = a.difference(b)
    if word is None:
        answer_json({"equal": True}) if json else answer("equal")
        return True
    labels = [a.run(word), b.run(word)]
    texts = label_texts(labels)
    if json:
        listed = word if isinstance(word, str) else list(word)
        answer_json({"equal": False, "word": listed, "labels": labels})
    else:
        answer(f"differ on {quoted(word)}: {one} says {texts[0]}, {other} says {texts[1]}")
    return False


@reads_data
def match(
    dfa: Path = argument("DFA.json", "An automaton that `kleene extract` wrote."),
    words: str = argument("WORDS", "One word a line, or any DATA file; - is stdin."),
    tokens: str | None = option(None, "chars|words", "How to split. [default: by the alphabet]"),
    count: bool = flag("--count", "Print only how many words have each label."),
    json: bool = JSON,
    *,
    open_data: OpenData,
) -> None:
    """Label words with an automaton, fast, one label a line.

    Words are read and answered as they come, so that the file may be of any size. With --json the
    lines are JSON values.

    \b
    Example:
      kleene match dfa.json words.txt
      zcat log.gz | kleene match dfa.json - --count
    """
    from collections import Counter
    from itertools import islice
    from json import dumps

    from kleene.automata import DFA
    from kleene.automata.symbols import spelled_by_characters

    machine = DFA.load(dfa)
    tokens = tokens or ("chars" if spelled_by_characters(machine.alphabet) else "words")
    texts = label_texts(machine.outputs)
    if json:
        texts = [dumps(label, default=str) for label in machine.outputs]
    totals: Counter[str] = Counter(dict.fromkeys(texts, 0))
    found = open_data(words).each(tokens, labelled=False, stage="matching" if count else None)
    while chunk := list(islice(found, CHUNK)):
        labels = [texts[state] for state in _states(machine, chunk).tolist()]
        if count:
            totals.update(labels)
        else:
            answer_lines(labels)
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
    source: Path = argument("MODEL|DFA.json", "A model folder, or an automaton."),
    out: list[Path] = option(
        ..., "FILE", "Models: .onnx; automata: any ending of `kleene extract`; may be repeated."
    ),
) -> None:
    """Write a model or automaton for programs without Kleene.

    An ONNX file of a model reads padded sequences of any number and length; one of an automaton
    gives the numbers of labels. A C file is a table and functions, and needs no library.

    \b
    Example:
      kleene export model --out model.onnx
      kleene export dfa.json --out dfa.c --out dfa.onnx
    """
    check_endings(out)
    if not source.is_dir():
        from kleene.automata import DFA

        write_machine(DFA.load(source), out)
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

"""`kleene sample`: data to try the commands on."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import typer

from kleene.cli.automaton_files import check_endings, write_machine
from kleene.cli.console import answer_lines, answer_table
from kleene.cli.options import SEED, argument, flag, option
from kleene.errors import SettingError
from kleene.files import write_atomically

TABLES = {"reviews": "text,label", "orders": "case,event,time,label"}


def sample(
    name: str | None = argument("[NAME]", "A formal language, reviews or orders."),
    number: int | None = option(
        None, "N", "How many. [default: 1000 words, 500 rows]", "-n", min=0
    ),
    seed: int = SEED,
    out: Path | None = option(None, "FILE", "Write to this file. [default: stdout]"),
    lengths: str | None = option(None, "A:B", "Lengths from A to below B. [default: 0:16]"),
    dfa: bool = flag("--dfa", "Languages: write the minimal automaton, not words."),
    listed: bool = flag("--list", "List all names."),
) -> None:
    """Write a small data set to try the commands on.

    A line of a formal language is a word, a tab, and 1 if the word is in the language, else 0.
    `reviews` are made from templates: a CSV with the columns text and label. `orders` is a made-up
    table of events with the columns case, event, time and label.

    \b
    Example:
      kleene sample --list
      kleene sample tomita4 -n 2000 --lengths 0:25 > data.tsv
      kleene sample tomita4 --dfa --out truth.json
      kleene sample reviews --out reviews.csv
      kleene sample orders > orders.csv
      kleene train orders.csv --case-column case --order-column time --out model
    """
    from kleene.languages import by_name, names

    if listed:
        _list()
    elif name is None:
        raise SettingError("name a data set; `kleene sample --list` shows all")
    elif name in TABLES:
        if dfa or lengths is not None:
            raise SettingError(f"--lengths and --dfa are for languages, got {name}")
        _write(_table(name, 500 if number is None else number, seed), out)
    elif name not in names():
        known = ", ".join([*TABLES, *names()])
        raise SettingError(f"there is no data set {name!r}; choose one of {known}")
    elif not dfa:
        count = 1000 if number is None else number
        words, labels = by_name(name).sample(count, _lengths(lengths or "0:16"), seed)
        pairs = zip(words, labels, strict=True)
        _write("".join(f"{_text(word)}\t{int(label)}\n" for word, label in pairs), out)
    elif (automaton := by_name(name).dfa) is None:
        raise SettingError(
            f"{name} is not regular and has no automaton; see `kleene sample --list`"
        )
    elif out is None:
        answer_lines([automaton.minimize().to_json()])
    else:
        check_endings([out])
        write_machine(automaton.minimize(), [out])


def _list() -> None:
    from kleene.languages import by_name, names

    rows = []
    for name in names():
        one = by_name(name)
        kind = "not regular" if one.dfa is None else f"{one.dfa.minimize().num_states} states"
        rows.append((name, kind, "".join(map(str, one.alphabet))))
    tables = [(name, "table", columns) for name, columns in TABLES.items()]
    answer_table(["name", "kind", "alphabet or columns"], [*rows, *tables])


def _table(name: str, number: int, seed: int) -> str:
    from kleene.datasets.samples import ORDERS_HEADER, made_orders, made_reviews

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if name == "orders":
        writer.writerows([ORDERS_HEADER, *made_orders(number, seed)])
    else:
        writer.writerows([("text", "label"), *zip(*made_reviews(number, seed), strict=True)])
    return buffer.getvalue()


def _lengths(text: str) -> range:
    try:
        low, high = map(int, text.split(":"))
    except ValueError:
        raise SettingError(f"--lengths must be A:B, such as 0:16, got {text!r:.40}") from None
    return range(low, high)


def _text(word: object) -> str:
    """A word as a data file has it: the string, or its symbols with blanks between."""
    return word if isinstance(word, str) else " ".join(map(str, word))  # type: ignore[call-overload]


def _write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text)

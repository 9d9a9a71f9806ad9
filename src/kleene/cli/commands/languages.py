"""`kleene languages`: words to learn from, and the true automata of what they are from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.console import answer_json, answer_lines, answer_table, label_text, word_text
from kleene.cli.options import Json, Out, Seed
from kleene.errors import SettingError

languages = typer.Typer(
    help="List formal languages, sample words, write their automata.",
    no_args_is_help=False,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="See `kleene languages list`.")]


@languages.command("list")
def show(json: Json = False) -> None:
    """List the languages.

    \b
    Example:
      kleene languages list
    """
    from kleene.languages import by_name, names

    found = [by_name(name) for name in names()]
    if json:
        answer_json(
            [
                {"name": name, "alphabet": list(one.alphabet), "regular": one.dfa is not None}
                for name, one in zip(names(), found, strict=True)
            ]
        )
        return
    rows = [
        [
            name,
            "no" if one.dfa is None else f"{one.dfa.minimize().num_states} states",
            word_text("".join(map(str, one.alphabet))),
        ]
        for name, one in zip(names(), found, strict=True)
    ]
    answer_table(["name", "regular", "alphabet"], rows)


@languages.command()
def sample(
    name: Name,
    number: Annotated[int, typer.Option("-n", metavar="N", help="How many words.", min=0)] = 1000,
    lengths: Annotated[
        str, typer.Option(metavar="A:B", help="Lengths from A up to, not including, B; or A,B,C.")
    ] = "0:16",
    seed: Seed = 0,
    balance: Annotated[
        float, typer.Option(metavar="SHARE", help="The share of words of the language.")
    ] = 0.5,
    out: Out = None,
) -> None:
    """Sample words as TSV.

    A line is a word, a tab, and 1 if the word is in the language, else 0.

    \b
    Example:
      kleene languages sample tomita4 -n 1000 --lengths 0:16 --seed 0 > data.tsv
      kleene languages sample tomita4 --lengths 0:16,20,25,30 --out data.tsv
    """
    from kleene.languages import by_name

    words, labels = by_name(name).sample(number, parse_lengths(lengths), seed, balance)
    _write(
        "".join(
            f"{word_text(word)}\t{label_text(int(label))}\n"
            for word, label in zip(words, labels, strict=True)
        ),
        out,
    )


@languages.command()
def dfa(name: Name, out: Out = None) -> None:
    """Write the minimal automaton of a regular language.

    As JSON, or in the format that the ending of --out names.

    \b
    Example:
      kleene languages dfa tomita4 --out truth.json
      kleene compare dfa.json truth.json
    """
    from kleene.cli.automaton_files import write_dfa
    from kleene.languages import by_name

    machine = by_name(name).dfa
    if machine is None:
        raise SettingError(
            f"{name} is not regular and has no automaton; see `kleene languages list`"
        )
    if out is None:
        answer_lines([machine.minimize().to_json()])
    else:
        write_dfa(machine.minimize(), out)


def parse_lengths(text: str) -> list[int]:
    """Lengths from `A:B`, `A:B:STEP`, single numbers, or several of these with commas."""
    lengths: list[int] = []
    try:
        for part in text.split(","):
            bounds = [int(number) for number in part.split(":")]
            lengths += range(*bounds) if len(bounds) > 1 else bounds
    except (ValueError, TypeError):
        raise SettingError(
            f"--lengths must be A:B, such as 0:16, or A,B,C, got {text!r:.40}"
        ) from None
    return lengths


def _write(text: str, out: Path | None) -> None:
    from kleene.files import write_atomically

    if out is None:
        typer.echo(text, nl=False)
    else:
        write_atomically(out, text)

"""`kleene extract`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.automaton_files import (
    COUNTER_ENDINGS,
    NAMED,
    check_ending,
    write_counter,
    write_dfa,
)
from kleene.cli.console import answer, answer_json, say
from kleene.cli.options import (
    MAX_LENGTH,
    NO_LAYOUT,
    Json,
    MaxLength,
    ModelFolder,
    Seed,
    reads_data,
)

if TYPE_CHECKING:
    from kleene.data.layout import Layout


@reads_data
def extract(
    model: ModelFolder,
    method: Annotated[
        str,
        typer.Option(
            metavar="auto|table|counts|mean|soft-counts|kmeans|lstar|counter",
            help="How to read; auto takes the cheapest that is faithful.",
        ),
    ] = "auto",
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Sequences to read along. [default: random ones]"),
    ] = None,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"Write the automaton, as {NAMED}; may be given more than once.",
        ),
    ] = None,
    seed: Seed = 0,
    layout: Layout = NO_LAYOUT,
    max_length: MaxLength = MAX_LENGTH,
    verbose: Annotated[bool, typer.Option(help="Show all details of the proof.")] = False,
    json: Json = False,
) -> None:
    """Read the automaton in a network; say how faithful it is.

    With --data, pictures show only the moves that these sequences take; other formats have all.

    \b
    Example:
      kleene extract model --out dfa.json --out dfa.svg
      kleene extract model --method counts --data data.tsv --json
      kleene extract lstm-model --method counter --data data.tsv --out machine.svg
      torchrun --nproc-per-node 4 -m kleene extract model --method counts --data corpus.tsv.gz
    """
    for path in out or []:
        check_ending(path, COUNTER_ENDINGS if method == "counter" else ())
    from kleene.automata.table import known_words
    from kleene.cli.input import DataSource
    from kleene.distributed import init_process_group, rank_and_world_size
    from kleene.extractor import extract as extract_automaton
    from kleene.model import Model

    counted = method == "counts" and data is not None
    if rank_and_world_size()[0] and not counted:
        return  # the first process does it alone
    trained = Model.load(model)
    words = None
    if data is None:
        found = extract_automaton(trained, method=method, seed=seed)
    else:
        source = DataSource(path=data, layout=layout, max_length=max_length)
        if counted:
            with init_process_group() as process_group:
                stream = (word for word, _ in source.each_word(trained, process_group))
                found = extract_automaton(
                    trained, stream, method=method, seed=seed, process_group=process_group
                )
        else:
            words, _ = source.words(trained)
            found = extract_automaton(trained, words, method=method, seed=seed)
    if rank_and_world_size()[0]:
        return
    drawn = None if words is None else known_words(found.dfa, words)
    for path in out or []:
        if found.counter is None:
            write_dfa(found.dfa, path, drawn)
        else:
            write_counter(found.counter.machine.minimize(), path)
        say(f"wrote {path}")
    if json:
        answer_json(found.to_dict())
    else:
        answer(found.to_text(verbose=verbose))

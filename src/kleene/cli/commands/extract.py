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
            metavar="auto|table|counts|mean|kmeans|lstar|counter",
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
    from kleene.automata.moves import known_words
    from kleene.cli.input import DataSource
    from kleene.distributed import init_process_group, rank_and_world_size
    from kleene.model import Model
    from kleene.reading import extract as read

    counted = method == "counts" and data is not None
    if rank_and_world_size()[0] and not counted:
        return  # the first process does it alone
    trained = Model.load(model)
    words = None
    if data is None:
        reading = read(trained, method=method, seed=seed)
    else:
        source = DataSource(path=data, layout=layout, max_length=max_length)
        if counted:
            with init_process_group() as process_group:
                found = (word for word, _ in source.each_word(trained, process_group))
                reading = read(
                    trained, found, method=method, seed=seed, process_group=process_group
                )
        else:
            words, labels = source.words(trained)
            reading = read(trained, words, method=method, labels=labels or None, seed=seed)
    if rank_and_world_size()[0]:
        return
    drawn = None if words is None else known_words(reading.dfa, words)
    for path in out or []:
        if reading.counter is None:
            write_dfa(reading.dfa, path, drawn)
        else:
            write_counter(reading.counter.machine.minimize(), path)
        say(f"wrote {path}")
    if json:
        answer_json(reading.to_dict())
    else:
        answer(str(reading))

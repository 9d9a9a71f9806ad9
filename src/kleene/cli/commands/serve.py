"""`kleene serve`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from kleene.cli.console import say
from kleene.cli.options import (
    MAX_LENGTH,
    MaxLength,
    TextColumn,
)


def serve(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL...", help="Model folders, or automata as JSON files."),
    ],
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; others reach 0.0.0.0.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="0 takes any that is free.")
    ] = 8000,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Sequences to read the models along.")
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="SECRET", envvar="KLEENE_TOKEN", help="Ask for it in every request."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    text_column: TextColumn = None,
    max_length: MaxLength = MAX_LENGTH,
) -> None:
    """Serve a web page and a JSON API for models, until Ctrl-C.

    Type a text and see the answer, its reasons and its path through the states; put a text to two
    models; send a file and get predictions.

    \b
    Example:
      kleene serve model
      kleene serve model other-model dfa.json --port 8080
    """
    import torch

    from kleene.web.app import create_app
    from kleene.web.registry import ModelRegistry
    from kleene.web.server import address, bind, make_server, own_names

    torch.set_num_threads(1)  # requests are small and many: more threads would only wait
    with bind(host, port) as listening:
        words = [] if data is None else _texts(data, text_column, max_length)
        registry = ModelRegistry.load(models, words)
        app = create_app(registry, token=token, hosts=own_names(host))
        page = address(listening) + (f"#token={token}" if token else "")
        say(f"serving {', '.join(entry.name for entry in registry)} on {page} (Ctrl-C ends it)")
        if own_names(host) is None and token is None:
            say("others can reach this server, and no token is asked for; see --token")
        if browser:
            import webbrowser

            webbrowser.open(page)
        with suppress(KeyboardInterrupt):  # which the server raises again when it has stopped
            make_server(app).run(sockets=[listening])
        say("stopped")


def _texts(data: str, text_column: str | None, max_length: int) -> list[object]:
    from kleene.data.files import read_examples

    found = read_examples(data, text_column=text_column, labelled=False)
    return [example.word for example in found if len(example.word) <= 10 * max_length]

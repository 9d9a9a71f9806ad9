"""`kleene serve`."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from kleene.cli.console import say
from kleene.cli.options import OpenData, argument, option, reads_data
from kleene.errors import SettingError

MAX_CHARACTERS = 1_000_000  # of a sequence of --data


@reads_data
def serve(
    models: list[Path] = argument("MODEL...", "Model folders."),
    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; 0.0.0.0 is open to others."),
    port: int = option(8000, "N", "0 takes any that is free.", min=0, max=65535),
    data: str | None = option(None, "DATA", "Sequences to read the models along."),
    proof: Path | None = option(None, "FILE", "Refuse models of which this proof does not hold."),
    allow_host: list[str] | None = option(None, "NAME", "Answer to this name; may be repeated."),
    workers: int = option(1, "N", "Processes that answer.", min=1, max=64),
    drain: int = option(5, "SECONDS", "Time for requests to end after SIGTERM.", min=0),
    log_level: Literal["debug", "info", "warning", "error", "critical"] = option(
        "warning", None, "At info, one line a request."
    ),
    *,
    open_data: OpenData,
) -> None:
    """Serve a web page and a JSON API for models, until Ctrl-C.

    Type a text and see the answer, its reasons and its path through the states; paste many texts,
    or send a file, and get a table. /health, /ready and /metrics are for operators. If the variable
    KLEENE_TOKEN is set, requests need its token.

    \b
    Example:
      kleene serve model
      kleene serve model other-model --port 8080
      KLEENE_TOKEN=secret kleene serve model --host 0.0.0.0 --workers 2
    """
    from kleene.explain.markup import as_text
    from kleene.web.access import Access
    from kleene.web.models import load_models
    from kleene.web.server import address, bind
    from kleene.web.server import serve as serve_models

    token = os.environ.get("KLEENE_TOKEN")
    if token is not None and len(token.split()) != 1:
        raise SettingError("KLEENE_TOKEN must be one word without blanks; set it, or unset it")
    access = Access.for_address(
        host, hosts=tuple(allow_host or ()), token=None if token is None else token.strip()
    )
    found = () if data is None else open_data(data).each(None, labelled=False)
    words = tuple(one.word for one in found if len(one.word) <= MAX_CHARACTERS)
    with bind(host, port) as listening:

        def started() -> None:
            names = ", ".join(as_text(path.resolve().name) for path in models)
            say(f"serving {names} on {address(listening)} (Ctrl-C ends it)")
            if token is not None:
                say("requests must carry the token; the page asks for it")

        with suppress(KeyboardInterrupt):  # uvicorn raises the signal again after a graceful end
            serve_models(
                partial(load_models, models, words, proof),
                listening,
                access=access,
                workers=workers,
                started=started,
                timeout_graceful_shutdown=drain,
                log_level=log_level,
            )
        say("stopped")

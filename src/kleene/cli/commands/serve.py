"""`kleene serve`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kleene.cli.console import say
from kleene.cli.options import FROM_OPTIONS, argument, flag, option, reads_data
from kleene.errors import SettingError
from kleene.files import read_regular

MAX_TOKEN_BYTES = 4096


if TYPE_CHECKING:
    from kleene.cli.input import OpenData


class LogLevel(StrEnum):
    """How much is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@reads_data
def serve(
    models: Annotated[
        list[Path], argument("MODEL...", "Model folders, or automata as JSON files.")
    ],
    host: Annotated[
        str, option("ADDRESS", "Where to listen; 0.0.0.0 is open to others.")
    ] = "127.0.0.1",
    port: Annotated[int, option("N", "0 takes any that is free.", min=0, max=65535)] = 8000,
    data: Annotated[str | None, option("DATA", "Sequences to read the models along.")] = None,
    proof: Annotated[
        Path | None, option("FILE", "Refuse a model unless this certificate holds of it.")
    ] = None,
    token_file: Annotated[
        Path | None, option("FILE", "Require the token in this file, or in KLEENE_TOKEN.")
    ] = None,
    token: Annotated[str | None, option("SECRET", "Require this token; shows in `ps`.")] = None,
    allow_host: Annotated[
        list[str] | None, option("NAME", "Answer to this host name; may be repeated.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None, option("URL", "Answer pages of this site; may be repeated.")
    ] = None,
    root_path: Annotated[str, option("PATH", "The prefix under which a proxy serves this.")] = "",
    workers: Annotated[int, option("N", "Processes that answer.", min=1, max=64)] = 1,
    drain: Annotated[
        float, option("SECONDS", "Time for requests in progress to end after SIGTERM.", min=0)
    ] = 5.0,
    log_level: Annotated[
        LogLevel, typer.Option(help="At info, one line a request.")
    ] = LogLevel.WARNING,
    browser: Annotated[bool, flag("--open", "Open the page in a browser.")] = False,
    open_data: OpenData = FROM_OPTIONS,
) -> None:
    """Serve a web page and a JSON API for models, until Ctrl-C.

    Type a text and see the answer, its reasons and its path through the states; paste many texts,
    or send a file, and get a table. /health, /ready and /metrics are for operators.

    \b
    Example:
      kleene serve model
      kleene serve model other-model dfa.json --port 8080
      KLEENE_TOKEN=secret kleene serve model --host 0.0.0.0 --workers 2 --log-level info
    """
    from kleene.explain.markup import as_text
    from kleene.web.access import Access
    from kleene.web.server import ServerSettings, address, bind
    from kleene.web.server import serve as serve_models

    secret = _secret(token, token_file)
    access = Access.for_address(
        host, hosts=tuple(allow_host or ()), origins=tuple(allow_origin or ()), token=secret
    )
    words = () if data is None else tuple(open_data(data).texts())
    settings = ServerSettings(
        models=tuple(models),
        words=words,
        proof=proof,
        access=access,
        root_path=_prefix(root_path),
        drain=drain,
        log_level=log_level.value,
    )
    with bind(host, port) as listening:
        page = address(listening)

        def started() -> None:
            names = ", ".join(as_text(path.resolve().name) for path in models)
            say(f"serving {names} on {page} (Ctrl-C ends it)")
            if secret is not None:
                say("requests must carry the token; the page asks for it")
            if browser:
                import webbrowser

                webbrowser.open(page)

        with suppress(KeyboardInterrupt):  # the server raises a second Ctrl-C again
            serve_models(settings, listening, workers, started)
        say("stopped")


def _secret(token: str | None, path: Path | None) -> str | None:
    """The token from a file, the environment or the command line."""
    if path is None:
        secret = token if token is not None else os.environ.get("KLEENE_TOKEN")
        if token is not None:
            say("--token shows in the list of processes; use --token-file or KLEENE_TOKEN instead")
        if secret is not None and not secret.strip():
            raise SettingError("the token must not be empty; give one, or unset KLEENE_TOKEN")
        return None if secret is None else secret.strip()
    try:
        text = read_regular(path, MAX_TOKEN_BYTES).decode().strip()
        if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
            say(f"others can read {path}; make it yours alone: chmod 600 {path}")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SettingError(f"cannot read one token in {path}: {reason}") from None
    if not text or "\n" in text:
        raise SettingError(f"{path} must be a file that holds one token, on one line")
    return text


def _prefix(path: str) -> str:
    """A root path with a slash in front and none behind."""
    trimmed = path.strip("/")
    if not all(c.isascii() and (c.isalnum() or c in "-._~/") for c in trimmed):
        raise SettingError(f"--root-path must be a plain path such as /kleene, got {path!r}")
    return f"/{trimmed}" if trimmed else ""

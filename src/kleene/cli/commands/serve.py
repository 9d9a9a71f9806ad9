"""`kleene serve`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

from kleene.cli.console import say
from kleene.cli.options import OpenData, argument, option, reads_data
from kleene.errors import SettingError
from kleene.files import read_regular

MAX_TOKEN_BYTES, MAX_CHARACTERS = 4096, 1_000_000


@reads_data
def serve(
    models: list[Path] = argument("MODEL...", "Model folders, or automata as JSON files."),
    host: str = option("127.0.0.1", "ADDRESS", "Where to listen; 0.0.0.0 is open to others."),
    port: int = option(8000, "N", "0 takes any that is free.", min=0, max=65535),
    data: str | None = option(None, "DATA", "Sequences to read the models along."),
    proof: Path | None = option(None, "FILE", "Refuse models of which this proof does not hold."),
    token_file: Path | None = option(None, "FILE", "Require this token, or that of KLEENE_TOKEN."),
    allow_host: list[str] | None = option(None, "NAME", "Answer to this name; may be repeated."),
    allow_origin: list[str] | None = option(None, "URL", "Answer this site; may be repeated."),
    root_path: str = option("", "PATH", "The prefix under which a proxy serves this."),
    workers: int = option(1, "N", "Processes that answer.", min=1, max=64),
    drain: float = option(5.0, "SECONDS", "Time for requests to end after SIGTERM.", min=0),
    log_level: Literal["debug", "info", "warning", "error", "critical"] = option(
        "warning", None, "At info, one line a request."
    ),
    *,
    open_data: OpenData,
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

    secret = _secret(token_file)
    access = Access.for_address(
        host, hosts=tuple(allow_host or ()), origins=tuple(allow_origin or ()), token=secret
    )
    found = () if data is None else open_data(data).each(None, labelled=False)
    settings = ServerSettings(
        models=tuple(models),
        words=tuple(one.word for one in found if len(one.word) <= MAX_CHARACTERS),
        proof=proof,
        access=access,
        root_path=_prefix(root_path),
        drain=drain,
        log_level=log_level,
    )
    with bind(host, port) as listening:
        page = address(listening)

        def started() -> None:
            names = ", ".join(as_text(path.resolve().name) for path in models)
            say(f"serving {names} on {page} (Ctrl-C ends it)")
            if secret is not None:
                say("requests must carry the token; the page asks for it")

        with suppress(KeyboardInterrupt):  # the server raises a second Ctrl-C again
            serve_models(settings, listening, workers, started)
        say("stopped")


def _secret(path: Path | None) -> str | None:
    """The token from a file or the environment."""
    if path is None:
        text, source = os.environ.get("KLEENE_TOKEN"), "KLEENE_TOKEN"
    else:
        source = str(path)
        try:
            text = read_regular(path, MAX_TOKEN_BYTES).decode()
            if path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH):
                say(f"others can read {path}; make it yours alone: chmod 600 {path}")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingError(f"cannot read one token in {path}: {reason}") from None
    if text is not None and len(text.split()) != 1:
        raise SettingError(f"{source} must hold one token, on one line; it must not be empty")
    return None if text is None else text.strip()


def _prefix(path: str) -> str:
    """A root path with a slash in front and none behind."""
    trimmed = path.strip("/")
    if not all(c.isascii() and (c.isalnum() or c in "-._~/") for c in trimmed):
        raise SettingError(f"--root-path must be a plain path such as /kleene, got {path!r}")
    return f"/{trimmed}" if trimmed else ""

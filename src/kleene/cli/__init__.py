"""The command line, `kleene`.

Status 0 is success, 1 a negative answer (two automata differ, a proof does not hold), 2 an error,
described in one line on standard error. `--debug`, anywhere, shows the traceback of an error.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from kleene.cli.console import answer, say
from kleene.errors import DataWarning, KleeneError

ERROR = 2
COMPLETION = "_KLEENE_COMPLETE"  # set by the script that `--install-completion` writes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = given[: given.index("--")] if "--" in given else given
    debug = "--debug" in options
    if debug:
        given.remove("--debug")
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the networks are too small to share out
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # torch's idle threads keep a core busy
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a text may hold what the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: say(str(message))
            warnings.simplefilter("default", DataWarning)
            status = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:  # such as `| head`
        _close_output()
        return 0
    except BaseException as error:
        if debug:
            traceback.print_exc()
        say(_reason(error), "error: ")
        try:
            sys.stdout.flush()
        except OSError:
            _close_output()
        return ERROR
    return status


def _run(arguments: list[str]) -> int:
    import typer

    from kleene.cli.app import WELCOME, app
    from kleene.distributed import rank_and_world_size

    if rank_and_world_size()[0] and arguments[:1] != ["train"]:
        return 0  # several processes share only training; the first does the rest alone
    command = typer.main.get_command(app)
    if not arguments and COMPLETION not in os.environ:
        answer(WELCOME)
        return 0
    try:
        if COMPLETION in os.environ:  # the shell asks how a command may go on
            command.main(prog_name="kleene")
        with command.make_context("kleene", arguments) as context:
            return int(command.invoke(context) is False)  # a negative answer
    except typer.Exit as end:
        return int(end.exit_code)
    except SystemExit as end:  # completion ends like this
        return end.code if isinstance(end.code, int) else 0


def _reason(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, KleeneError):
        return str(error)
    if isinstance(error, KeyboardInterrupt):
        return str(error) or "stopped"
    if isinstance(error, MemoryError):
        return "not enough memory; use shorter sequences, fewer of them, or a smaller network"
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}; check the path, permissions and free space"
    if hasattr(error, "format_message"):  # typer's errors about options and arguments
        context: Any = getattr(error, "ctx", None)
        path = context.command_path if context is not None else "kleene"
        return f"{error.format_message().rstrip('.')}; see `{path} --help`"
    name = type(error).__name__
    return f"internal error; please report it with the output of --debug ({name}: {error})"


def _close_output() -> None:
    """Point standard output nowhere, so that Python's own flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

"""Run a command in a pseudo-terminal and return the screen a person would have seen."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pexpect
import pyte

import kleene

FORBIDDEN = ("Traceback", "Exception ignored", "internal error")
PATIENCE = 400  # seconds, for a machine that is busy with other things
SIZES = {"80x24": (24, 80), "120x40": (40, 120)}
SOURCE = Path(kleene.__file__).parents[1]  # so that a relative PYTHONPATH does, too
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")
_COLOR = re.compile(r"\x1b\[[0-9;]*(?:3|4|9)[0-9][0-9;]*m")


@dataclass(frozen=True)
class TerminalRun:
    """The end of a command in a terminal: its status and everything it wrote."""

    status: int
    raw: str
    rows: int
    columns: int

    @property
    def text(self) -> str:
        """What was written, without control sequences."""
        return _CONTROL.sub("", self.raw)

    @property
    def colored(self) -> bool:
        """Whether a colour was asked for."""
        return _COLOR.search(self.raw) is not None

    @property
    def lines(self) -> list[str]:
        """All lines at the end, those above the screen too, on a terminal as wide as needed."""
        return _render(self.raw, self.rows, 2000)[1]

    def assert_clean(self) -> None:
        """Check that nothing is left over: cursor shown, colours reset, no line broken in two.

        A command in a message may be longer than a line, so that it can be copied.
        """
        screen, lines = _render(self.raw, self.rows, self.columns)
        assert not screen.cursor.hidden, "the cursor is hidden at the end"
        assert screen.cursor.x == 0, f"the cursor is inside a line: {lines[-1]!r}"
        assert screen.cursor.attrs == pyte.screens.Char(" "), "colours are on at the end"
        for line in self.lines:
            code = line.lstrip().startswith("`")
            assert code or len(line) <= self.columns, f"wider than {self.columns}: {line!r}"


def _render(raw: str, rows: int, columns: int) -> tuple[pyte.HistoryScreen, list[str]]:
    screen = pyte.HistoryScreen(columns, rows, history=100_000)
    pyte.Stream(screen).feed(raw)
    above = ["".join(row[x].data for x in range(columns)) for row in screen.history.top]
    lines = [line.rstrip() for line in (*above, *screen.display)]
    while lines and not lines[-1]:
        lines.pop()
    return screen, lines


def _obey_interrupts() -> None:
    """Let Ctrl-C work also where the tests run in the background of a shell, which ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command that runs in a terminal: wait for its text, press keys, wait for its end."""

    def __init__(
        self,
        *arguments: object,
        cwd: Path,
        size: str = "80x24",
        color: bool = True,
        environment: Mapping[str, str] | None = None,
        command: tuple[str, ...] = (sys.executable, "-m", "kleene"),
    ) -> None:
        self._rows, self._columns = SIZES[size]
        inherited = {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "LINES")}
        inherited |= {"TERM": "xterm-256color", "PYTHONPATH": str(SOURCE), **(environment or {})}
        inherited.pop("NO_COLOR", None)
        if not color:
            inherited["NO_COLOR"] = "1"
        program, *first = command
        self._raw = ""
        self._child = pexpect.spawn(
            program,
            [*first, *map(str, arguments)],
            cwd=str(cwd),
            env=inherited,
            dimensions=(self._rows, self._columns),
            timeout=PATIENCE,
            encoding="utf-8",
            codec_errors="replace",
            preexec_fn=_obey_interrupts,
        )

    def wait_for(self, pattern: str) -> str:
        """Wait until a pattern is written; the result is what it matched."""
        self._child.expect(pattern)
        self._raw += self._child.before + self._child.after
        return str(self._child.after)

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._child.sendintr()

    def finish(self) -> TerminalRun:
        """Wait for the end, which must not be an internal error or a killed process."""
        self._child.expect(pexpect.EOF)
        self._raw += self._child.before
        self._child.close()
        run = TerminalRun(self._child.exitstatus, self._raw, self._rows, self._columns)
        for phrase in FORBIDDEN:
            assert phrase not in run.text, run.text
        assert run.status is not None, f"killed by signal {self._child.signalstatus}: {run.text}"
        return run


def run_in_terminal(*arguments: object, cwd: Path, **options: object) -> TerminalRun:
    """Run `kleene` with a terminal on all three streams and wait for its end."""
    return Terminal(*arguments, cwd=cwd, **options).finish()  # type: ignore[arg-type]


TRAIN = ("train", "data.tsv", "--out", "model")


def write_data(folder: Path) -> None:
    """Words of Tomita 1 and their labels, as `data.tsv`."""
    from kleene.languages import tomita

    words, labels = tomita(1).sample(300, lengths=range(9), seed=0)
    rows = [f"{word}\t{int(label)}\n" for word, label in zip(words, labels, strict=True)]
    (folder / "data.tsv").write_text("".join(rows))

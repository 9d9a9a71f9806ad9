"""`kleene serve` in a terminal: it starts, answers, and Ctrl-C ends it without an error."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

from terminal import Terminal, TerminalRun


def test_ctrl_c_ends_the_server_with_status_0(trained: tuple[Path, TerminalRun]) -> None:
    terminal = Terminal("serve", "model", "--port", 0, cwd=trained[0], color=False)
    address = terminal.wait_for(r"http://127\.0\.0\.1:\d+")
    with urlopen(f"{address}/health") as answer:
        assert answer.status == 200
    terminal.interrupt()
    run = terminal.finish()
    assert run.status == 0, run.text
    assert run.lines[-1] == "kleene: stopped"
    assert "error" not in run.text
    run.assert_clean()

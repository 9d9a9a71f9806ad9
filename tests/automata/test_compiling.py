"""Signals wait while Numba compiles."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from numba.core import event

import kleene
from kleene.automata.compiling import HELD, njit

SOURCE = Path(kleene.__file__).parent


class Send(event.Listener):
    """Sends this process a signal when a compilation begins."""

    def __init__(self, number: int) -> None:
        self.number = number

    def on_start(self, event: Any) -> None:
        os.kill(os.getpid(), self.number)

    def on_end(self, event: Any) -> None:
        pass


def stop(number: int, frame: Any) -> None:
    raise KeyboardInterrupt(number)


@pytest.mark.parametrize("number", HELD, ids=lambda number: signal.Signals(number).name)
def test_the_compiler_finishes_before_a_signal_ends_the_run(number: int) -> None:
    @njit
    def called(value: int) -> int:
        return value + 1

    @njit
    def compiled(value: int) -> Any:
        return called(value)

    before = signal.signal(number, stop)
    try:
        with (
            event.install_listener("numba:compile", Send(number)),
            pytest.raises(KeyboardInterrupt, match=str(int(number))),
        ):
            compiled(1)
        assert signal.getsignal(number) is stop
    finally:
        signal.signal(number, before)
    assert compiled.signatures
    assert called.signatures
    assert compiled(1) == 2


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    @njit
    def compiled(value: int) -> int:
        return value + 1

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with event.install_listener("numba:compile", Send(signal.SIGHUP)):
            assert compiled(1) == 2
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_every_kernel_is_compiled_with_signals_held() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.name != "compiling.py":
            text = path.read_text()
            assert not re.search(r"numba\.njit|from numba import .*\bnjit", text), path

"""Drawing writes nothing to standard error but what is worth reading."""

from __future__ import annotations

import os

import pytest

from kleene.automata.formats.drawing import NOISE, _without
from kleene.languages import tomita


def test_warnings_about_fonts_are_dropped(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with _without(NOISE):
        os.write(2, b'Fontconfig warning: "a.conf", line 6\nError: no layout\n')
    os.write(2, b"after\n")
    assert capfd.readouterr().err == "Error: no layout\nafter\n"


def test_a_drawing_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    dfa = tomita(4).dfa
    assert dfa is not None
    assert "<svg" in dfa._repr_svg_()
    assert capfd.readouterr().err == ""

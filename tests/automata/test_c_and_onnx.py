"""Automata as C and as ONNX: the same labels as `run_many`, without Kleene."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from kleene.automata import DFA
from kleene.errors import SettingError
from kleene.export.onnx_automaton import to_onnx
from kleene.machine import Word

COMPILER = shutil.which("cc") or shutil.which("gcc")
compiled = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


def automaton(alphabet: tuple[object, ...], labels: tuple[object, ...], states: int = 7) -> DFA:
    random = np.random.default_rng(0)
    return DFA(
        alphabet=alphabet,
        transitions=random.integers(0, states, (states, len(alphabet))),
        outputs=tuple(labels[i % len(labels)] for i in range(states)),
        initial=3,
    )


AUTOMATA = {
    "characters": automaton(tuple("01"), (True, False)),
    "hard characters": automaton(tuple("aé€😀?\\\"' \t%\x01\x7f"), ("x", "y z", 'a"\\b?')),
    "words": automaton(("the", "end", "l'été", "a", "ab", "th"), (1, 2, 3)),
    "numbers and tuples": automaton((7, -2, 3.5, (4, "five"), None, True), ("yes", "no")),
    "many states": automaton(tuple("abc"), tuple(range(300)), states=400),
}


def words_of(dfa: DFA, count: int = 1000) -> tuple[list[np.ndarray], list[Word]]:
    random = np.random.default_rng(1)
    columns = [random.integers(0, len(dfa.alphabet), random.integers(0, 25)) for _ in range(count)]
    words = [tuple(dfa.alphabet[i] for i in column) for column in columns]
    characters = all(isinstance(s, str) and len(s) == 1 for s in dfa.alphabet)
    return columns, ["".join(map(str, word)) if characters else word for word in words]


@compiled
@pytest.mark.parametrize("name", AUTOMATA)
def test_c_gives_the_labels(name: str, tmp_path: Path) -> None:
    """Two copies in one program, which prints the numbers and texts of labels, and the symbols."""
    dfa = AUTOMATA[name]
    columns, words = words_of(dfa, 50)
    for copy in ("one", "two"):
        (tmp_path / f"{copy}.c").write_text(dfa.to_c(name=copy))
    calls = []
    for column in columns:
        listed = ", ".join(map(str, [*column, 0]))
        one, two = (f"{copy}_run(word, {len(column)})" for copy in ("one", "two"))
        calls.append(
            f'{{ int word[] = {{{listed}}}; printf("%d %s\\n", {one}, one_labels[{two}]); }}'
        )
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\n#include <stddef.h>\n"
        "int one_run(const int *, size_t); int two_run(const int *, size_t);\n"
        "int one_step(int, int); int one_output(int);\n"
        "extern const char *const one_labels[]; extern const char *const one_symbols[];\n"
        f"int main(void) {{ {' '.join(calls)}\n"
        'printf("%d %d\\n", one_step(0, 999), one_output(one_step(-1, 0)));\n'
        f"for (int i = 0; i < {len(dfa.alphabet)}; i++) {{ puts(one_symbols[i]); }}\nreturn 0; }}"
    )
    sources = [str(tmp_path / f"{part}.c") for part in ("one", "two", "main")]
    program = tmp_path / "both"
    subprocess.run([str(COMPILER), *STRICT, *sources, "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, timeout=60, check=True)
    numbers = list(dict.fromkeys(dfa.outputs))
    labels = dfa.run_many(words).tolist()
    expected = [*(f"{numbers.index(label)} {label}" for label in labels), "-1 -1"]
    assert done.stdout.decode().split("\n")[:-1] == [*expected, *map(str, dfa.alphabet)]


def test_labels_that_look_alike_are_told_apart_in_c() -> None:
    dfa = DFA(alphabet="a", transitions=[[1], [0]], outputs=(1, "1"))
    assert """ "1", "'1'" """.strip() in dfa.to_c()


@pytest.mark.parametrize("name", ["", "1st", "a b", "a;", "é"])
def test_names_that_c_does_not_know_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match="letters, digits and _"):
        AUTOMATA["words"].to_c(name=name)


@pytest.mark.parametrize("name", AUTOMATA)
def test_onnx_gives_the_labels(name: str) -> None:
    dfa = AUTOMATA[name]
    columns, words = words_of(dfa)
    session = onnxruntime.InferenceSession(to_onnx(dfa), providers=["CPUExecutionProvider"])
    about = json.loads(session.get_modelmeta().custom_metadata_map["kleene"])
    lengths = np.array([len(column) for column in columns])
    ids = np.full((len(columns), lengths.max()), -7)  # padding is never looked at
    for row, column in zip(ids, columns, strict=True):
        row[: len(column)] = column
    labels, states = session.run(["labels", "states"], {"ids": ids, "lengths": lengths})
    assert [about["labels"][i] for i in labels] == list(dfa.run_many(words))
    assert states.tolist() == [dfa.trace(word)[-1] for word in words]


def test_onnx_marks_unknown_symbols() -> None:
    dfa = AUTOMATA["characters"]
    session = onnxruntime.InferenceSession(to_onnx(dfa), providers=["CPUExecutionProvider"])
    ids = np.array([[0, 2, 0], [0, -1, 0], [0, 1, 2]])
    labels, _ = session.run(None, {"ids": ids, "lengths": np.array([3, 3, 2])})
    assert labels[:2].tolist() == [-1, -1]
    assert labels[2] >= 0
    labels, _ = session.run(None, {"ids": ids[:, :0], "lengths": np.array([0, 0, 0])})
    assert labels.tolist() == [labels[0]] * 3

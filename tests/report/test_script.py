"""The page's own script steps words exactly as the library does."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kleene import DFA
from kleene.data.words import tokenize
from kleene.errors import AlphabetError
from kleene.evaluation.percent import percent, probability_text
from kleene.report.html import asset, script
from kleene.report.view import page_table

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed")


STUB = """Kleene.h = (tag, attributes, ...children) => ({
  children: children.flat(Infinity), style: { setProperty(name, value) { this[name] = value; } }
});
Kleene.find = (element, name) => [
  ...(element?.style?.[name] === undefined ? [] : [+element.style[name]]),
  ...(element?.children ?? []).flatMap((child) => Kleene.find(child, name)),
];"""
"""Elements without a browser, and all values of a style property inside one."""


def in_node(code: str, given: Any, *assets: str) -> Any:
    """What some code makes of a value, with the page's `Kleene` at hand."""
    parts = [asset("machine.js"), asset("dom.js"), STUB, *map(asset, assets)]
    program = "\n".join([*parts, "const given = JSON.parse(require('fs').readFileSync(0));\n"])
    program += f"process.stdout.write(JSON.stringify(({code})(given)));"
    done = subprocess.run(
        [str(NODE), "-e", program],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


STEPS = """([table, tokens, texts]) => {
  const machine = Kleene.machine(table);
  return texts.map((text) => {
    const found = machine.trace(Kleene.symbolsOf(text, tokens));
    return [found.states, found.unknown === null ? machine.output(found.states.at(-1)) : null];
  });
}"""


def by_library(dfa: DFA, word: Any) -> list[Any]:
    try:
        states = dfa.trace(word)
    except AlphabetError:
        known = next(i for i, symbol in enumerate(word) if symbol not in dfa.columns)
        return [dfa.trace(word[:known]), None]
    return [states, str(dfa.outputs[states[-1]])]


def random_dfa(alphabet: tuple[Any, ...], states: int, seed: int) -> DFA:
    table = np.random.default_rng(seed).integers(0, states, (states, len(alphabet)))
    return DFA(
        alphabet=alphabet,
        transitions=table,
        outputs=tuple(f"class {i % 3}" for i in range(states)),
        initial=seed % states,
    )


CHARACTERS = ("0", "1", "a", "é", "ß", "日", "𝒳", "👩", "<", "&", '"', "\\", " ")
VOCABULARY = ("the", "film", "<b>", "naïve", "日本", "𝒳𝒴", "__proto__", "constructor", "0", "-1")


@pytest.mark.parametrize("seed", range(2))
def test_thousand_words_by_character(seed: int) -> None:
    dice = random.Random(seed)
    dfa = random_dfa(CHARACTERS, states=1 + 8 * seed, seed=seed)
    letters = [*CHARACTERS] * 6 + ["x", "\ufeff"]
    words = ["".join(dice.choices(letters, k=dice.randrange(40))) for _ in range(1000)]
    found = in_node(STEPS, [page_table(dfa), "chars", words])
    assert found == [by_library(dfa, word) for word in words]


@pytest.mark.parametrize("seed", range(2))
def test_thousand_texts_by_white_space(seed: int) -> None:
    dice = random.Random(seed)
    dfa = random_dfa(VOCABULARY, states=7, seed=seed)
    spaces = [" ", "  ", "\t", "\n", "\u00a0", "\u2003", "\x1c", "\x85"]
    parts = [*VOCABULARY] * 6 + ["unknown", "toString"]
    texts = [
        "".join(dice.choice(parts) + dice.choice(spaces) for _ in range(dice.randrange(25)))
        for _ in range(1000)
    ]
    found = in_node(STEPS, [page_table(dfa), "words", texts])
    assert found == [by_library(dfa, text.split()) for text in texts]


def test_symbols_that_are_no_texts() -> None:
    dfa = random_dfa((0, 1, (0, 1), None, "0"), states=5, seed=3)
    words: list[list[Any]] = [[], [0, "0"], [[0, 1], None, 1], [1, 0, [0, 1]]]
    found = in_node(STEPS, [page_table(dfa), "symbols", [json.dumps(word) for word in words]])
    as_tuples = [[tuple(s) if isinstance(s, list) else s for s in word] for word in words]
    assert found == [by_library(dfa, word) for word in as_tuples]


def test_white_space_is_what_python_takes_for_it() -> None:
    every = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]
    found = in_node(
        "(all) => all.filter((c) => Kleene.symbolsOf(`a${c}b`, 'words').length === 2)", every
    )
    assert found == [c for c in every if len(f"a{c}b".split()) == 2]


def test_scripts_are_sound_javascript(tmp_path: Path) -> None:
    served = resources.files("kleene.web").joinpath("static")
    live = served.joinpath("live.js").read_text("utf-8")
    for i, code in enumerate((script("report.js"), script() + live)):
        path = tmp_path / f"{i}.js"
        path.write_text(code)
        subprocess.run([str(NODE), "--check", str(path)], check=True, capture_output=True)


TEXTS = [
    "It isn't GOOD...<br />Nor bad: 7/10!",
    "snake_case, ‘quotes’ and it’s",
    "Ça alors – naïve cafe\u0301",
    "日本語のテキスト and ไทย",
    "  \u00a0\t.. . ...a",
    "🙂👍🏽 <script>",
    "",
]


def test_the_page_tokenizes_as_the_library() -> None:
    found = in_node("(texts) => texts.map((text) => Kleene.symbolsOf(text, 'text'))", TEXTS)
    assert found == [list(tokenize(text)) for text in TEXTS]


def test_percentages_are_those_of_the_library() -> None:
    shares = [0, 1e-9, 0.00012, 0.004, 0.3, 0.5, 0.994, 0.9962, 0.99985, 1 - 1e-9, 1]
    found = in_node("(all) => all.map((s) => [Kleene.percent(s), Kleene.probability(s)])", shares)
    expected = [[percent(share), probability_text(share)] for share in shares]
    assert [[text.replace("\xa0", " ") for text in pair] for pair in found] == expected


def test_bars_are_shares_of_all_steps() -> None:
    states = [
        {"state": i, "label": None, "visits": share, "symbols": []}
        for i, share in enumerate([0.5, 0.25, 0.25])
    ]
    view = {"states": [{"name": str(i), "label": "-"} for i in range(3)], "centroids": [0, 1, 2]}
    code = "([m, view]) => Kleene.find(Kleene.meanings(m, view), '--share')"
    assert in_node(code, [{"states": states}, view], "sections.js", "meaning.js") == [
        0.5,
        0.25,
        0.25,
    ]


def test_tiny_weights_have_no_colour() -> None:
    code = "([one, ws, scale]) => Kleene.find(Kleene.highlighted(one, ws, scale), '--weight')"
    word = {"word": ["a", "b"], "between": " "}
    assert in_node(code, [word, [0.02, -0.01], 1.0], "sections.js", "meaning.js") == [0, 0]
    assert in_node(code, [word, [2.0, -1.0], 2.0], "sections.js", "meaning.js") == [1, 0.5]

"""Certified robustness against an oracle that tries every edited sequence."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import numpy as np
import pytest
from random_models import random_model

from kleene.automata import DFA
from kleene.cli import main
from kleene.errors import AlphabetError, ExtractionError, SettingError
from kleene.proof.certify import certify
from kleene.proof.robustness import KINDS, EditSearch, Robustness, robustness


def edited(word: str, budget: int, kinds: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """All sequences that at most so many edits make, with how many; by recursion on the word."""
    yield from ((word, 0),) if not word else ()
    if word:
        for rest, spent in edited(word[1:], budget, kinds):
            yield word[0] + rest, spent
    if not budget:
        return
    if "insert" in kinds:
        for symbol in "abc":
            for rest, spent in edited(word, budget - 1, kinds):
                yield symbol + rest, spent + 1
    if not word:
        return
    for rest, spent in edited(word[1:], budget - 1, kinds):
        if "delete" in kinds:
            yield rest, spent + 1
        if "substitute" in kinds:
            for symbol in set("abc") - {word[0]}:
                yield symbol + rest, spent + 1


def random_dfa(seed: int, states: int = 5) -> DFA:
    random = np.random.default_rng(seed)
    return DFA(
        alphabet="abc",
        transitions=random.integers(0, states, (states, 3)),
        outputs=tuple((random.random(states) < 0.3).tolist()),
    )


def applied(found: Robustness) -> str:
    """The edits carried out one by one, from the end."""
    symbols = list(found.sequence)
    for edit in reversed(found.edits):
        if edit.kind == "insert":
            symbols.insert(edit.position, edit.new)
        elif edit.kind == "delete":
            assert symbols.pop(edit.position) == edit.old
        else:
            assert symbols[edit.position] == edit.old != edit.new
            symbols[edit.position] = edit.new
    return "".join(symbols)


SUBSETS = [s for n in (1, 2, 3) for s in itertools.combinations(KINDS, n)]


@pytest.mark.parametrize("kinds", SUBSETS, ids="-".join)
def test_the_answer_is_the_oracles(kinds):
    random = np.random.default_rng(0)
    seen = set()
    for seed in range(12):
        dfa = random_dfa(seed)
        word = "".join(random.choice(list("abc"), seed % 5))
        for budget in (0, 1, 2):
            found = EditSearch(dfa, edits=budget, kinds=kinds)(word)
            label = dfa.run(word)
            tried = edited(word, budget, kinds)
            shortest = min((n for w, n in tried if dfa.run(w) != label), default=None)
            assert found.label == label
            assert found.distance == shortest
            assert found.certified is (shortest is None)
            seen.add(shortest)
            if shortest is not None:
                assert applied(found) == found.edited
                assert dfa.run(found.edited) == found.edited_label != label
                assert {edit.kind for edit in found.edits} <= set(kinds)
    assert {None, 1} <= seen


def test_long_sequences_and_many_symbols():
    symbols = tuple(f"s{i}" for i in range(3000))
    dfa = DFA(  # label: whether s7 has come
        alphabet=symbols,
        transitions=[[int(i == 7) for i in range(3000)], [1] * 3000],
        outputs=(False, True),
    )
    search = EditSearch(dfa, edits=2)
    once = search(("s1",) * 500 + ("s7",) + ("s1",) * 500)
    assert once.distance == 1
    assert once.edits[0].position == 500
    assert search(("s7",) * 3).certified
    assert EditSearch(dfa, edits=3)(("s7",) * 3).distance == 3
    assert search(()).edited == ("s7",)


def test_a_model_is_proved_first_or_its_certificate_verified():
    model = random_model(24)
    certificate = certify(model)
    own = robustness(model, "abab", edits=3)
    assert own.to_dict() == robustness(model, "abab", edits=3, certificate=certificate).to_dict()
    assert own.label == certificate.dfa.run("abab")
    with pytest.raises(ExtractionError, match="does not hold of this model"):
        robustness(random_model(5), "ab", certificate=certificate)
    model.network.rnn.temperature = 100.0
    with pytest.raises(ExtractionError, match="needs a proof"):
        robustness(model, "ab")


def test_wrong_arguments():
    dfa = random_dfa(0)
    with pytest.raises(SettingError, match="edits must be 0 to 1,000,000, got -1"):
        EditSearch(dfa, edits=-1)
    with pytest.raises(SettingError, match="got 'swap'"):
        EditSearch(dfa, kinds=("swap",))
    with pytest.raises(AlphabetError, match="'x' is not in the alphabet"):
        EditSearch(dfa)("axa")


def test_a_large_budget_finds_the_same_shortest_change():
    for seed in range(20):
        dfa = random_dfa(seed)
        few, many = EditSearch(dfa, edits=8)("abcab"), EditSearch(dfa, edits=1_000_000)("abcab")
        assert few.edits == many.edits


def test_one_edit_is_singular():
    dfa = DFA(alphabet="ab", transitions=[[1, 0], [1, 1]], outputs=(False, True))
    found = EditSearch(dfa, kinds=["insert"])("")
    assert str(found) == "1 edit changes False to True: insert 'a' before 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("robust")
    model = random_model(24)
    model.save(place / "model")
    certify(model).save(place / "proof.json")
    return place


def test_the_command_says_certified_or_names_the_edit(folder, capsys):
    dfa = certify(random_model(24)).dfa
    for word in ("ab", "abab", "bbbb", ""):
        found = EditSearch(dfa, edits=2)(word)
        status = main(["robust", str(folder / "model"), word, "--edits", "2", "--json"])
        assert status == (0 if found.certified else 1)
        assert json.loads(capsys.readouterr().out) == found.to_dict()
    assert main(["robust", str(folder / "model"), "ab", "--edits", "0"]) == 0
    assert "no edit of at most 0 symbols" in capsys.readouterr().out
    proof = ["--kinds", "insert", "--certificate", str(folder / "proof.json")]
    status = main(["robust", str(folder / "model"), "ab", *proof])
    assert status == (0 if EditSearch(dfa, kinds=["insert"])("ab").certified else 1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["axb"],
        ["ab", "--kinds", "swap"],
        [],
        ["ab", "--certificate", "missing.json"],
    ],
)
def test_mistakes_are_one_line_and_status_2(folder, arguments, capsys):
    assert main(["robust", str(folder / "model"), *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1

"""What a report says about trust, against the network and the automaton themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from built_models import built_model
from pages import page_model, random_words

import kleene as kl
from kleene.data.batch import make_batch
from kleene.extraction.extract import extract
from kleene.nn.mode import HARD, OWN, Mode, inference
from kleene.report.trust import trust


def test_unknown_symbols_are_a_warning_instead_of_a_tick() -> None:
    model = built_model(kl.languages.tomita(4).dfa)
    words = ["01" * 10] * 9
    reading = extract(model, words)
    assert trust(model, reading, [*words, "012"])["warning"] is None  # 1 of 183 symbols
    warning = trust(model, reading, [*words[:3], "0122"])["warning"]
    assert warning is None  # 2 of 64
    warning = trust(model, reading, [*words[:1], "0122"])["warning"]
    assert warning is not None
    assert warning.startswith("8.3 % of the symbols")


def test_what_the_extraction_refused_is_not_proved_again() -> None:
    model = built_model(kl.languages.tomita(4).dfa)
    reading = replace(extract(model), certificate=None, refusal="too hard")
    found = trust(model, reading)
    assert (found["proved"], found["detail"]) == (False, "too hard")
    assert found["proof"].count(".") == 1
    large = trust(model, replace(reading, refusal=None))
    assert "kleene certify" in large["proof"]


@pytest.mark.parametrize("cell", ["gru", "lstm-p"])
def test_answers_that_are_sums_are_not_compared_with_a_last_state(cell: str) -> None:
    model = page_model(cell=cell, pooling="states", similarity="dot", temperature=3.0)
    words = random_words(model, 60)
    found = trust(model, extract(model, words), words)
    assert "fidelity" not in found
    assert "agreement" not in found
    assert found["summed"].count(".") == 1
    assert "add up" in found["detail"]

    def answer(word: str, mode: Mode) -> int:
        batch = make_batch(model.alphabet.encode_many([word]))
        with inference(model.network), torch.no_grad():
            return int(model.network(batch, mode=mode).argmax())

    same = sum(answer(word, HARD) == answer(word, OWN) for word in words)
    assert found["nearest"]["same"] == same < found["nearest"]["total"] == 60
    assert trust(model, extract(model, words))["nearest"] is None

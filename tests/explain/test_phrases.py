"""Phrases against a loop over all windows."""

import json
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from toy_readers import ALPHABET, CLASSES, toy_model, toy_network, toy_words

from kleene.data.alphabet import Alphabet
from kleene.errors import SettingError
from kleene.explain.explain import explain_many
from kleene.explain.phrases import phrases
from kleene.explain.traces import state_leads

WORDS = toy_words(120)


def owner(windows: dict, gram: tuple) -> str:
    """The class in which a gram makes up the greatest share of all windows."""
    sizes = {c: sum(len(v) for (which, _), v in windows.items() if which == c) for c in CLASSES}
    return max(CLASSES, key=lambda c: (len(windows.get((c, gram), ())) / max(sizes[c], 1), c))


@pytest.mark.parametrize("n", [1, 2, 3, 8])
@pytest.mark.parametrize("pooling", ["last", "states"])
def test_phrases_are_the_windows_of_highest_mean(n: int, pooling: str) -> None:
    network = toy_network(pooling=pooling)
    leads = state_leads(toy_model(network))
    windows = defaultdict(list)
    for found in explain_many(toy_model(network), WORDS, method="level"):
        weights = found.weights
        if leads is not None:  # the weights of the states that each step leads to
            weights = found.probs @ leads[:, CLASSES.index(found.prediction)]
        for t in range(len(found.word) - n + 1):
            gram = found.word[t : t + n]
            if all(symbol in ALPHABET for symbol in gram):
                windows[found.prediction, gram].append(weights[t : t + n].mean())
    found = phrases(toy_model(network), WORDS, n=n, top=5, min_count=1)
    for label in CLASSES:
        rows = {gram: v for (which, gram), v in windows.items() if which == label}
        rows = {gram: v for gram, v in rows.items() if owner(windows, gram) == label}
        best = sorted(rows, key=lambda gram: -np.mean(rows[gram]))[:5]
        mine = found.classes[label]
        assert [p.weight for p in mine] == pytest.approx([np.mean(rows[g]) for g in best], abs=1e-5)
        assert all(p.weight == pytest.approx(np.mean(rows[p.symbols]), abs=1e-5) for p in mine)
        assert [p.count for p in mine] == [len(rows[p.symbols]) for p in mine]


def test_rare_phrases_can_be_left_out() -> None:
    found = phrases(toy_model(), WORDS, n=2, min_count=4)
    assert all(p.count >= 4 for mine in found.classes.values() for p in mine)
    assert any(found.classes.values())


def test_phrases_of_prose_have_no_punctuation() -> None:
    marked = Alphabet((*ALPHABET.symbols[:-2], "...", "'"))
    words = [
        tuple(marked.symbols[i] for i in marked_ids) for marked_ids in ([0, 1, -1, 0], [-2, 1])
    ]
    model = toy_model(toy_network(), marked)
    for tokens, expected in (("words", 4), ("text", 1)):
        found = phrases(replace(model, tokens=tokens), words, n=2, top=9)
        grams = {p.symbols for mine in found.classes.values() for p in mine}
        assert len(grams) == expected
        assert words[0][:2] in grams


def test_long_windows_over_a_large_alphabet_do_not_overflow() -> None:
    large = Alphabet(range(20_000))
    network = toy_network(num_symbols=len(large))
    word = tuple(range(0, 20_000, 997))
    other = (19_999 - word[0], *word[1:])
    found = phrases(toy_model(network, large), [word, other], n=len(word), top=9)
    grams = {p.symbols for mine in found.classes.values() for p in mine}
    assert grams == {word, other}


def test_no_phrase_stands_for_two_classes() -> None:
    found = phrases(toy_model(), WORDS, n=1, top=50)
    first, second = ({p.symbols for p in found.classes[label]} for label in CLASSES)
    assert first
    assert second
    assert not first & second


def test_they_show_and_save() -> None:
    found = phrases(toy_model(), WORDS, n=2, top=2)
    assert "2-grams" in str(found)
    first = next(p for mine in found.classes.values() for p in mine)
    assert " ".join(first.symbols) in str(found)
    assert json.loads(json.dumps(found.to_dict()))["n"] == 2
    assert found._repr_html_().startswith("<table>")
    letters = Alphabet("ab")
    close = phrases(toy_model(alphabet=letters, num_symbols=len(letters)), ["abab"], n=2)
    assert "ab (" in str(close)


def test_mistakes_are_named() -> None:
    with pytest.raises(SettingError, match="n must be at least 1, got 0"):
        phrases(toy_model(), WORDS, n=0)

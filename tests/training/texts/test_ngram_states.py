"""Networks that classify their states are taught those states by n-grams."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from kleene.data.alphabet import FIRST_SYMBOL, START
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.training.texts import ngram_states
from kleene.training.texts.ngram_states import init_ngram_states
from kleene.training.texts.ngrams import MIN_COUNT, NgramWeights, Texts, ngram_weights, read_texts
from kleene.training.texts.step_kinds import step_kinds

NOT, GOOD, BAD, *OTHERS = range(FIRST_SYMBOL, FIRST_SYMBOL + 13)
SYMBOLS = FIRST_SYMBOL + 14


def reviews(
    count: int, classes: int = 2, seed: int = 0, turned_share: float = 0.4, between: int = 0
) -> Examples:
    """Texts of neutral words, with one opinion that "not" may turn round, words between or not."""
    random = np.random.default_rng(seed)
    words, labels = [], random.integers(0, classes, count)
    for label in labels:
        text = random.choice(OTHERS, 12)
        at, turned = random.integers(0, 10 - between), random.random() < turned_share
        word = GOOD if bool(label) != turned else BAD
        text[at] = NOT if turned else OTHERS[0]
        text[at + 1 + between] = word
        words.append(text)
    return Examples(words=words, labels=labels)


def network(cell: str, transition: str = "mixture") -> Classifier:
    torch.manual_seed(0)
    config = NetworkConfig(
        num_symbols=SYMBOLS,
        num_classes=2,
        cell=cell,
        input_size=16,
        hidden_size=16,
        num_states=6,
        pooling="states",
        transition=transition,
    )
    return Classifier(config)


def test_texts_come_out_of_their_batches_in_order() -> None:
    examples = reviews(50)
    texts = read_texts(examples, seed=0)
    found = {
        (tuple(ids), label)
        for ids, label in zip(np.split(texts.ids, texts.starts[1:]), texts.labels, strict=True)
    }
    assert found == {
        (tuple(word), label) for word, label in zip(examples.words, examples.labels, strict=True)
    }


def step_weights(weights: NgramWeights, *words: int) -> NDArray[np.float32]:
    """The weights of the steps of one text."""
    one = Texts(ids=np.array(words), lengths=np.array([len(words)]), labels=np.array([0]))
    return weights.of_steps(one)[:, 0]


def test_pairs_have_weights_of_their_own() -> None:
    texts = read_texts(reviews(2_000), seed=0)
    weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    assert step_weights(weights, OTHERS[0], GOOD)[1] > 0 > step_weights(weights, OTHERS[0], BAD)[1]
    assert step_weights(weights, NOT, BAD)[1] > 0 > step_weights(weights, NOT, GOOD)[1]


def test_pairs_may_stand_apart() -> None:
    texts = read_texts(reviews(2_000, between=1), seed=0)
    weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    assert step_weights(weights, NOT, OTHERS[1], BAD)[2] > 0
    assert step_weights(weights, NOT, OTHERS[1], GOOD)[2] < 0


def test_pairs_do_not_cross_texts() -> None:
    texts = Texts(ids=np.array([5, 6, 7, 8]), lengths=np.array([1, 0, 3]), labels=np.zeros(3, int))
    before = texts.pairs(100, 2) // 100 % 100
    assert before.tolist() == [START, START, START, 6]
    assert texts.select(np.array([False, True, True])).ids.tolist() == [6, 7, 8]
    assert texts.means(np.arange(4, dtype=np.float32)).tolist() == [0, 0, 2]


def test_rare_words_and_pairs_have_no_weight() -> None:
    examples = reviews(2_000)
    label = int(examples.labels[0])
    rare = [np.r_[examples.words[0], SYMBOLS - 1]] * (2 * MIN_COUNT - 1)
    more = Examples(
        words=[*examples.words, *rare], labels=np.r_[examples.labels, [label] * len(rare)]
    )
    texts = read_texts(more, seed=0)
    seen = np.bincount(texts.ids, minlength=SYMBOLS)
    weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    assert 0 < seen[SYMBOLS - 1] < 2 * MIN_COUNT
    assert weights.words[SYMBOLS - 1] == 0
    assert weights.words[GOOD] != 0


def test_slope_and_bias_are_those_of_texts_held_back() -> None:
    texts = read_texts(reviews(2_000, turned_share=0.0), seed=0)
    rng = np.random.default_rng(1)
    wrong = rng.random(len(texts.labels)) < 0.2
    noisy = replace(texts, labels=np.where(wrong, 1 - texts.labels, texts.labels))
    weights = ngram_weights(noisy, SYMBOLS, 2, seed=0)
    logits = weights.slope * texts.means(weights.of_steps(texts)[:, 0]) + weights.bias
    probability = 1 / (1 + np.exp(-np.abs(logits)))
    assert np.mean((logits > 0) == texts.labels) > 0.95
    assert 0.7 < probability.mean() < 0.9  # a fifth of the labels is wrong


def test_words_that_stand_hundreds_of_times_bring_no_warning() -> None:
    random = np.random.default_rng(0)
    words = [random.choice([NOT, GOOD, BAD], random.integers(5, 3_000)) for _ in range(60)]
    lengths, labels = np.array([len(word) for word in words]), random.integers(0, 2, 60)
    texts = Texts(ids=np.concatenate(words), lengths=lengths, labels=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    assert np.isfinite(weights.words).all()


def test_kinds_on_both_sides_of_a_weight_add_up_to_it() -> None:
    texts = read_texts(reviews(2_000), seed=0)
    weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    kinds = step_kinds(weights, texts, network("lstm-p").config, seed=0)
    line, steps = kinds.weights[:, 0], weights.of_steps(texts)[:, 0]
    found = line[kinds.of_steps] * (1 - kinds.of_next) + line[kinds.of_steps + 1] * kinds.of_next
    assert np.allclose(found, np.clip(steps, line[0], line[-1]), atol=1e-5)
    assert abs(line[kinds.neutral]) == np.abs(line).min()


def test_three_classes_have_a_column_each() -> None:
    examples = reviews(600, classes=3)
    weights = ngram_weights(read_texts(examples, 0), SYMBOLS, 3, seed=0)
    assert weights.words.shape == (SYMBOLS, 3)
    assert np.abs(weights.words.sum(1)).max() < 1e-4


def test_kinds_of_a_memoryless_cell_are_those_of_an_automaton() -> None:
    texts = read_texts(reviews(1_000), seed=0)
    weights = ngram_weights(texts, SYMBOLS, 2, seed=0)
    kinds = step_kinds(weights, texts, network("gru").config, seed=0)
    assert not kinds.of_next.any()
    before = np.roll(kinds.of_steps, 1)
    before[texts.starts] = kinds.neutral
    after: dict[tuple[int, int], int] = {}
    for state, word, target in zip(before, texts.ids, kinds.of_steps, strict=True):
        assert after.setdefault((state, word), target) == target
    assert len(np.unique(kinds.of_steps)) > 2


@pytest.mark.parametrize("words", [[[], []], [[GOOD], [BAD]], [[GOOD, NOT], [GOOD, NOT]]])
def test_few_words_are_enough(words: list[list[int]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ngram_states, "LEAST", 4)
    taught = network("lstm-p")
    examples = Examples(
        words=[np.array(word, dtype=np.int64) for word in words], labels=np.array([0, 1])
    )
    init_ngram_states(taught, examples, seed=0)
    assert all(torch.isfinite(weight).all() for weight in taught.parameters())


def test_networks_that_do_not_classify_states_get_their_embeddings_only() -> None:
    config = NetworkConfig(num_symbols=SYMBOLS, num_classes=2, num_states=0, pooling="max")
    torch.manual_seed(0)
    plain, taught = Classifier(config), Classifier(config)
    plain.load_state_dict(taught.state_dict())
    init_ngram_states(taught, reviews(50), seed=0)
    same = {
        name: torch.equal(weight, taught.state_dict()[name])
        for name, weight in plain.state_dict().items()
    }
    assert [name for name, equal in same.items() if not equal] == ["embedding.weight"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "transition", "turned"), [("lstm-p", "mixture", 0.4), ("gru", "soft-argmax", 0.0)]
)
def test_a_taught_network_is_accurate_before_any_epoch(
    cell: str, transition: str, turned: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ngram_states, "LEAST", 600)
    taught = network(cell, transition)
    init_ngram_states(taught, reviews(1_500, turned_share=turned), seed=0)
    held_out = reviews(500, seed=1, turned_share=turned)
    assert evaluate(taught, held_out).accuracy > 0.95
    assert not taught.head.weight[:, taught.config.num_states :].any()

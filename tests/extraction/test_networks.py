"""Automata from networks trained elsewhere, against automata and networks that are known."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from built_models import random_dfa

import kleene as kl
from kleene.errors import KleeneError
from kleene.extraction.fidelity import Fidelity
from kleene.extraction.front import Front, FrontPoint


def words_over(symbols: str, n: int, longest: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    return ["".join(random.choice([*symbols], random.integers(longest + 1))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(3))
def test_a_black_box_that_is_an_automaton_is_read_exactly(seed: int) -> None:
    dfa = random_dfa(seed, states=6)
    reading = kl.read(dfa.run_many, dfa.alphabet, words_over("ab", 400, 15), seed=seed)
    assert reading.dfa == dfa
    assert reading.disagreement is None
    assert reading.dfa.num_states == reading.front[-1].states


def test_without_words_random_ones_decide() -> None:
    language = kl.languages.tomita(4)
    reading = kl.read(language.dfa.run_many, "01")
    assert reading.dfa == language.dfa
    assert reading.fidelity.given_total == 0


def test_noise_does_not_grow_the_automaton() -> None:
    """A network that is wrong on a few long words is read as the machine it nearly is."""
    dfa = kl.languages.tomita(3).dfa

    def noisy(words: Sequence[str]) -> list[bool]:
        return [dfa.accepts(w) != (len(w) > 6 and zlib.crc32(w.encode()) % 997 == 0) for w in words]

    reading = kl.read(noisy, "01", words_over("01", 3000, 15), seconds=10)
    assert reading.dfa.num_states <= dfa.minimize().num_states + 2
    assert reading.chosen.held_out_error < 0.01


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("layers", [1, 2])
def test_a_torch_network_gets_its_tokens_and_its_last_vector(kind: str, layers: int) -> None:
    torch.manual_seed(0)
    rnn = getattr(torch.nn, kind)(5, 7, num_layers=layers, batch_first=layers == 2)
    head = torch.nn.Linear(7, 3)
    words = [(), (0,), (1, 2, 0), (2, 2), (0, 1, 2, 2, 1)]
    expected = []
    for word in words:
        x = torch.eye(5)[[3, *word, 4]]
        outputs, _ = rnn(x)  # without a batch
        expected.append(int(head(outputs[-1]).argmax()))
    assert kl.adapt.torch(rnn, head, embed=5, start=3, end=4)(words) == expected


def test_batches_of_one_length_change_no_answer_and_modes_are_restored() -> None:
    torch.manual_seed(1)
    embedding, rnn = torch.nn.Embedding(4, 6), torch.nn.GRU(6, 8, dropout=0.5, num_layers=2)
    head = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(8, 2))
    rnn.train()
    network = kl.adapt.torch(rnn, head, embed=embedding)
    words = [(0, 1), (3,), (2, 2, 2), (1, 0)]
    assert network(words) == [network([word])[0] for word in words]
    assert rnn.training
    assert head[0].training


def test_any_module_from_ids_to_scores() -> None:
    class Counts(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([0.0, 1.0]))

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            odd = self.weight[ids].sum(-1, keepdim=True) % 2
            return torch.cat([1 - odd, odd], -1)

    network = kl.adapt.module(Counts(), ids={"a": 0, "b": 1})
    assert kl.read(network, "ab").dfa.num_states == 2
    assert kl.extract(Counts(), alphabet=(0, 1)).dfa.num_states == 2


def test_a_file_that_is_no_onnx_model(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no network")
    with pytest.raises(kl.KleeneError, match="not an ONNX model"):
        kl.adapt.onnx(broken)


def constant(words: Sequence[str]) -> list[int]:
    return [0] * len(words)


@pytest.mark.parametrize(
    ("classify", "alphabet", "options", "message"),
    [
        (lambda w: np.random.default_rng().integers(2, size=len(w)), "ab", {}, "answers diff"),
        (lambda w: np.zeros((len(w), 2)), "ab", {}, "one label per sequence, got shape"),
        (lambda w: [0], "ab", {}, "one label for each"),
        (constant, "", {}, "alphabet is empty"),
        (constant, "ab", {"max_states": 0}, "max_states must be >= 1"),
        (constant, "ab", {"seconds": 0}, "seconds must be > 0"),
        (None, "ab", {}, "expected a model or a callable"),
        (torch.nn.Linear(1, 1), "ab", {}, "token ids"),
    ],
)
def test_mistakes_are_named(
    classify: object, alphabet: str, options: dict[str, int], message: str
) -> None:
    with pytest.raises(KleeneError, match=message):
        kl.read(classify, alphabet, **options)


def test_the_knee_is_the_smallest_within_one_standard_error() -> None:
    front = Front()
    for states, errors in ((1, 500), (3, 12), (9, 10), (40, 9), (5, 400)):
        front.add(
            FrontPoint(
                dfa=random_dfa(states, states=states),
                origin="test",
                fidelity=Fidelity(
                    given_same=1000 - errors,
                    given_total=1000,
                    drawn_same=10,
                    drawn_total=10,
                    longest=1,
                ),
            )
        )
    assert [point.states for point in front] == [1, 3, 9, 40]
    assert front.knee().states == 3
    assert front.knee(max_states=2).states == 1


def test_a_network_over_many_symbols_has_a_front() -> None:
    found = kl.read(lambda words: [len(word) > 100 for word in words], range(300), seconds=1)
    assert found.dfa.num_states == 1
    assert found.dfa.run(()) is False


@pytest.mark.parametrize("kind", ["GRU", "LSTM"])
def test_a_network_of_two_directions_labels_the_empty_sequence(kind: str) -> None:
    torch.manual_seed(0)
    rnn = getattr(torch.nn, kind)(3, 5, num_layers=2, bidirectional=True, batch_first=True)
    head = torch.nn.Linear(10, 2)
    classify = kl.adapt.torch(rnn, head, embed=3)
    assert classify([(), (1,)])[0] == int(head.bias.argmax())


def test_a_module_without_weights() -> None:
    class Parity(torch.nn.Module):
        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            return ids.sum(1) % 2

    assert kl.adapt.module(Parity())([(1, 1), (1,)]) == [0, 1]

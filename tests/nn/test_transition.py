"""Transitions: weights that sum to 1, draws that follow alpha, gradients that pass or do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from networks import TRANSITIONS
from scipy import stats
from textbook import textbook_weights

from kleene.nn import Gumbel, gumbel, gumbel_hard, mixture, sample, soft_argmax
from kleene.nn.mode import OWN, Mode
from kleene.nn.similarity import probabilities
from kleene.nn.transition import gumbel_noise

ONE = torch.ones((), dtype=torch.float64)


@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda t: t.name)
def test_values_and_gradients_are_those_of_the_definition(transition) -> None:
    torch.manual_seed(0)
    scores = torch.randn(6, 4, dtype=torch.float64, requires_grad=True)
    tau = (0.5 * ONE).requires_grad_()
    noise = transition.draw(6, 4, scores, True)
    found = transition(scores, tau, noise)
    torch.testing.assert_close(found.sum(-1), torch.ones(6).double())
    rows = [None] * 6 if noise is None else noise
    expected = torch.stack(
        [textbook_weights(transition.name, s, tau, g) for s, g in zip(scores, rows, strict=True)]
    )
    torch.testing.assert_close(found, expected)
    if transition is sample:
        assert not found.requires_grad
        return
    towards = torch.randn(6, 4).double()
    for a, b in zip(
        torch.autograd.grad((found * towards).sum(), [scores, tau], retain_graph=True),
        torch.autograd.grad((expected * towards).sum(), [scores, tau]),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("transition", [soft_argmax, gumbel_hard, sample], ids=lambda t: t.name)
def test_hard_transitions_choose_one_state_exactly(transition) -> None:
    scores = torch.randn(50, 4)
    weights = transition(scores, ONE, transition.draw(50, 4, scores, True))
    assert set(weights.unique().tolist()) == {0, 1}
    assert torch.equal(weights.sum(-1), torch.ones(50))


def test_draws_follow_alpha() -> None:
    torch.manual_seed(0)
    row = torch.tensor([0.3, -1.0, 0.8, 0.0], dtype=torch.float64)
    tau, draws = 0.6, 20_000
    scores = row.expand(draws, 4)
    expected = draws * probabilities(row, tau).numpy()
    counts = sample(scores, tau * ONE, sample.draw(draws, 4, scores, False)).sum(0).numpy()
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    # The paper's Gumbel-softmax adds the noise before the temperature divides: at 1 both agree.
    counts = gumbel_hard(scores, ONE, gumbel_hard.draw(draws, 4, scores, True)).sum(0).numpy()
    assert stats.chisquare(counts, draws * probabilities(row, 1.0).numpy()).pvalue > 1e-3


def test_the_noise_is_gumbels() -> None:
    torch.manual_seed(0)
    values = gumbel_noise(500, 20, torch.zeros((), dtype=torch.float64)).flatten().numpy()
    assert np.isfinite(values).all()
    assert stats.kstest(values, stats.gumbel_r.cdf).pvalue > 1e-3


def test_gumbel_without_noise_is_the_mixture_or_the_argmax() -> None:
    scores = torch.randn(6, 4)
    for quiet, loud, plain in [(gumbel, True, mixture), (gumbel_hard, True, soft_argmax)]:
        assert quiet.draw(6, 4, scores, noise=False) is None
        assert quiet.draw(6, 4, scores, noise=loud) is not None
        assert torch.equal(quiet(scores, ONE, None), plain(scores, ONE, None))
    assert Gumbel(scale=0).draw(6, 4, scores, noise=True) is None


def test_scale_multiplies_the_noise() -> None:
    scores = torch.zeros(6, 4)
    torch.manual_seed(3)
    once = Gumbel().draw(6, 4, scores, True)
    torch.manual_seed(3)
    assert torch.equal(Gumbel(scale=2.5).draw(6, 4, scores, True), 2.5 * once)


def test_networks_draw_while_training_only_unless_told() -> None:
    from networks import network

    net = network("gru", 2, 3, num_states=4, transition=gumbel)
    x = torch.randn(5, 1, 2).double()

    def varies(mode: Mode = OWN) -> bool:
        return not torch.equal(net(x, mode=mode)[0], net(x, mode=mode)[0])

    assert varies()
    net.eval()
    assert not varies()
    assert varies(Mode(noise=True))

"""What tells similarities and transitions apart; `test_cells` has their values and gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from kleene.nn import (
    Gumbel,
    cosine,
    dot,
    euclidean,
    gumbel,
    gumbel_hard,
    mixture,
    sample,
    soft_argmax,
)
from kleene.nn.similarity import probabilities
from kleene.nn.similarity import scores as similarities
from kleene.nn.transition import gumbel_noise

ONE = torch.ones((), dtype=torch.float64)


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


def test_the_highest_euclidean_score_is_the_nearest_centroid() -> None:
    S, u = torch.randn(20, 3).double(), torch.randn(100, 3).double()
    assert torch.equal(similarities(euclidean, S, u).argmax(-1), torch.cdist(u, S).argmin(-1))


def test_a_long_centroid_wins_under_the_dot_product_only() -> None:
    S = torch.tensor([[1.0, 0.0], [10.0, 10.0]])
    u = S[:1]
    assert similarities(dot, S, u).argmax() == 1
    assert similarities(euclidean, S, u).argmax() == 0
    assert similarities(cosine, S, u).argmax() == 0


def test_cosine_sees_directions_only() -> None:
    S, u = torch.randn(5, 3).double(), torch.randn(4, 3).double()
    torch.testing.assert_close(similarities(cosine, 7 * S, 0.1 * u), similarities(cosine, S, u))


def test_scores_too_large_for_an_exponential_still_give_probabilities() -> None:
    alpha = probabilities(torch.tensor([[1e4, 0.0, -1e4]]), 1e-3)
    assert alpha.tolist() == [[1, 0, 0]]

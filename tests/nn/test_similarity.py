"""Similarities against their definitions; what tells them apart."""

from __future__ import annotations

import pytest
import torch
from networks import SIMILARITIES
from textbook import textbook_scores

from kleene.nn import cosine, dot, euclidean
from kleene.nn.similarity import probabilities, scores


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=lambda s: s.name)
def test_alphas_are_those_of_the_definition(similarity) -> None:
    S, u = torch.randn(5, 3).double(), torch.randn(2, 4, 3).double()
    found = probabilities(scores(similarity, S, u), 0.7)
    for i in range(2):
        for j in range(4):
            expected = torch.exp(textbook_scores(similarity.name, u[i, j], S) / 0.7)
            torch.testing.assert_close(found[i, j], expected / expected.sum())


def test_the_highest_euclidean_score_is_the_nearest_centroid() -> None:
    S, u = torch.randn(20, 3).double(), torch.randn(100, 3).double()
    assert torch.equal(scores(euclidean, S, u).argmax(-1), torch.cdist(u, S).argmin(-1))


def test_a_long_centroid_wins_under_the_dot_product_only() -> None:
    S = torch.tensor([[1.0, 0.0], [10.0, 10.0]])
    u = S[:1]
    assert scores(dot, S, u).argmax() == 1
    assert scores(euclidean, S, u).argmax() == 0
    assert scores(cosine, S, u).argmax() == 0


def test_cosine_sees_directions_only() -> None:
    S, u = torch.randn(5, 3).double(), torch.randn(4, 3).double()
    torch.testing.assert_close(scores(cosine, 7 * S, 0.1 * u), scores(cosine, S, u))


def test_scores_too_large_for_an_exponential_still_give_probabilities() -> None:
    alpha = probabilities(torch.tensor([[1e4, 0.0, -1e4]]), 1e-3)
    assert alpha.tolist() == [[1, 0, 0]]

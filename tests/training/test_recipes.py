"""The named recipes, and the centroids they start from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from toys import make_network, words_ending_in_5

from kleene.config import TrainConfig
from kleene.errors import SettingError
from kleene.evaluation.metrics import evaluate
from kleene.nn.mode import PLAIN
from kleene.training import centroids as clusters
from kleene.training.centroids import hidden_vectors, spread_centroids
from kleene.training.loop import fit
from kleene.training.recipes import RECIPES, cell_stage
from kleene.training.reconstruction import reconstruct_centroids
from kleene.training.stages import Curriculum, Stage, make_optimizer

EXAMPLES = words_ending_in_5()


def plain_vectors(layer: int, **settings: object) -> np.ndarray:
    """Hidden vectors of torch's own GRU along every word, the start token first."""
    network = make_network(num_layers=layer + 1, **settings)
    rnn = torch.nn.GRU(4, 6, layer + 1)
    rnn.load_state_dict({name: network.rnn.state_dict()[name] for name in rnn.state_dict()})
    rows = []
    for word in EXAMPLES.words:
        x = network.embedding.weight[torch.tensor([2, *word])]
        rows.append(rnn(x)[0].detach().numpy())
    return np.concatenate(rows)


@pytest.mark.parametrize("layer", [0, 1])
def test_hidden_vectors_are_those_of_the_plain_cell(layer) -> None:
    network = make_network(num_layers=layer + 1)
    found = hidden_vectors(network, EXAMPLES, layer)
    expected = plain_vectors(layer)
    assert found.shape == expected.shape
    order = [np.lexsort(rows.round(4).T) for rows in (found, expected)]
    np.testing.assert_allclose(found[order[0]], expected[order[1]], atol=1e-5)


def test_the_number_of_vectors_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(clusters, "MAX_VECTORS", 10)
    network = make_network()
    first, spread = (hidden_vectors(network, EXAMPLES, spread=n) for n in (1, 4))
    assert first.shape == spread.shape == (10, 6)
    monkeypatch.setattr(clusters, "MAX_VECTORS", 40)
    assert np.array_equal(spread, hidden_vectors(network, EXAMPLES)[::4])
    assert len(hidden_vectors(network, EXAMPLES.select(np.arange(3)), spread=4)) < 40


@pytest.mark.parametrize("layers", [1, 2])
def test_centroids_start_at_vectors(layers) -> None:
    network = make_network(num_layers=layers, num_states=10)
    spread_centroids(network, EXAMPLES, seed=0)
    for layer in range(layers):
        vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES, layer))
        distances = torch.cdist(vectors, network.rnn.centroids(layer).detach())
        assert distances.min(0).values.max() < 2e-3  # cdist is rough


def test_fewer_vectors_than_states() -> None:
    few = EXAMPLES.select(np.flatnonzero(EXAMPLES.lengths <= 1))  # three vectors, start included
    network = make_network(num_states=8)
    spread_centroids(network, few, seed=0)
    assert len(torch.unique(network.rnn.centroids().detach().round(decimals=5), dim=0)) == 3


@pytest.mark.parametrize("temperature", [0.01, 0.3, 3.0])
def test_mixtures_of_reconstructed_centroids_are_near_the_vectors(temperature) -> None:
    network = make_network(num_states=10, similarity="euclidean", temperature=temperature)
    vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES))

    def error() -> float:  # by distances, not by the library's own scores
        centroids = network.rnn.centroids().detach()
        alpha = torch.softmax(-(torch.cdist(vectors, centroids) ** 2) / 2 / temperature, -1)
        return float((alpha @ centroids - vectors).square().sum(-1).mean())

    spread_centroids(network, EXAMPLES, seed=0)
    before = error()
    reconstruct_centroids(network, EXAMPLES, seed=0)
    assert error() < before / 4


def test_a_cell_hardly_notices_more_reconstructed_states_than_units() -> None:
    network = make_network(num_states=16, similarity="euclidean", temperature=3.0)
    fit(network, EXAMPLES, stages=[replace(cell_stage(TrainConfig(epochs=20)), learning_rate=0.02)])
    words = words_ending_in_5(6)
    plain = evaluate(network, words, mode=PLAIN).loss
    reconstruct_centroids(network, EXAMPLES, seed=0)
    assert evaluate(network, words).loss < plain + 0.05


def test_reconstruction_of_fewer_vectors_than_states() -> None:
    few = EXAMPLES.select(np.flatnonzero(EXAMPLES.lengths <= 1))  # three vectors, start included
    network = make_network(num_states=8, similarity="euclidean", temperature=0.01)
    reconstruct_centroids(network, few, seed=0)
    distances = torch.cdist(torch.from_numpy(hidden_vectors(network, few)), network.rnn.centroids())
    assert distances.min(-1).values.max() < 0.05


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_learns_an_easy_language(name) -> None:
    network = make_network(cell="gru", num_states=6)
    settings = TrainConfig(learning_rate=0.02, epochs=25)
    fit(network, EXAMPLES, stages=RECIPES[name](settings), validation=words_ending_in_5(4))
    assert evaluate(network, words_ending_in_5(7)).accuracy == 1


def test_settings_reach_the_stages() -> None:
    config = TrainConfig(class_weight="balanced", epochs=3, patience=2, ema=0.9)
    for stages in (make(config) for make in RECIPES.values()):
        for stage in stages:
            assert (stage.class_weight, stage.epochs, stage.patience) == ("balanced", 3, 2)
            assert stage.ema == 0.9


def test_a_curriculum_starts_with_a_full_batch() -> None:
    keys = np.array([9, 1, 3, 7, 5])
    assert Curriculum(start=0).first(keys, least=2) == 3
    assert Curriculum(start=4).first(keys, least=2) == 4
    assert Curriculum(start=0).first(keys, least=99) == 9


def test_a_curriculum_has_a_bounded_number_of_levels() -> None:
    plan = Curriculum(start=4, step=2, levels=10)
    for longest in (5, 20, 1000):
        keys, limit, levels = np.arange(longest + 1), 4.0, 0
        while limit < longest:
            limit, levels = plan.next(limit, keys.max()), levels + 1
        assert levels <= 10
    assert plan.next(4, 9) == 6


def test_optimisers_by_name() -> None:
    network = make_network()
    for name in ("adam", "adadelta", "rmsprop"):
        made = make_optimizer(Stage(optimizer=name, learning_rate=0.5), network)
        assert type(made).__name__.lower() == name
        assert made.param_groups[0]["lr"] == 0.5
        held = {id(w) for w in made.param_groups[0]["params"]}
        assert held == {id(w) for w in network.parameters() if w.requires_grad}
    with pytest.raises(SettingError, match="one of adam, adadelta, rmsprop"):
        make_optimizer(Stage(optimizer="sgdd"), network)

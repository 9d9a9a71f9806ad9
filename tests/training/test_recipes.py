"""The named recipes, and the centroids they start from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from toys import make_network, words_ending_in_5

from kleene.errors import SettingError
from kleene.evaluation.metrics import evaluate
from kleene.training import centroids as clusters
from kleene.training import reconstruction
from kleene.training.centroids import hidden_vectors, seed_centroids
from kleene.training.config import TrainConfig
from kleene.training.loop import fit
from kleene.training.recipes import RECIPES, warm
from kleene.training.reconstruction import reconstruct_centroids, reconstruct_gate_inputs
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
    assert network.rnn.regularized


def test_the_number_of_vectors_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(clusters, "MOST_VECTORS", 10)
    network = make_network()
    first, spread = (hidden_vectors(network, EXAMPLES, spread=n) for n in (1, 4))
    assert first.shape == spread.shape == (10, 6)
    monkeypatch.setattr(clusters, "MOST_VECTORS", 40)
    assert np.array_equal(spread, hidden_vectors(network, EXAMPLES)[::4])
    assert len(hidden_vectors(network, EXAMPLES.select(np.arange(3)), spread=4)) < 40


@pytest.mark.parametrize("layers", [1, 2])
def test_centroids_lie_where_the_vectors_are(layers) -> None:
    network = make_network(num_layers=layers, num_states=10)
    seed_centroids(network, EXAMPLES, seed=0)
    for layer in range(layers):
        vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES, layer))
        centroids = network.rnn.centroids(layer).detach()
        owner = torch.cdist(vectors, centroids).argmin(-1)
        for state, centroid in enumerate(centroids):  # what k-means converges to
            torch.testing.assert_close(vectors[owner == state].mean(0), centroid, atol=1e-3, rtol=0)


def test_fewer_vectors_than_states() -> None:
    few = EXAMPLES.select(np.flatnonzero(EXAMPLES.lengths <= 1))  # three vectors, start included
    network = make_network(num_states=8)
    before = network.rnn.centroids().detach().clone()
    seed_centroids(network, few, seed=0)
    found = network.rnn.centroids().detach()
    vectors = torch.from_numpy(np.unique(hidden_vectors(network, few).round(5), axis=0))
    assert len(vectors) == 3
    assert torch.cdist(vectors, found[:3]).min(-1).values.max() < 1e-4
    assert torch.equal(found[3:], before[3:])


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_the_same_seed_gives_the_same_centroids(seed) -> None:
    networks = [make_network(), make_network()]
    for network in networks:
        seed_centroids(network, EXAMPLES, seed)
    assert torch.equal(*(network.rnn.centroids() for network in networks))


@pytest.mark.parametrize("temperature", [0.01, 0.3, 3.0])
def test_mixtures_of_reconstructed_centroids_are_near_the_vectors(temperature) -> None:
    network = make_network(num_states=10, similarity="euclidean", temperature=temperature)
    vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES))

    def error() -> float:  # by distances, not by the library's own scores
        centroids = network.rnn.centroids().detach()
        alpha = torch.softmax(-(torch.cdist(vectors, centroids) ** 2) / 2 / temperature, -1)
        return float((alpha @ centroids - vectors).square().sum(-1).mean())

    seed_centroids(network, EXAMPLES, seed=0)
    by_kmeans = error()
    reconstruct_centroids(network, EXAMPLES, seed=0)
    assert error() < (by_kmeans * 1.01 if temperature < 0.1 else by_kmeans / 4)


@pytest.mark.parametrize("cell", ["lstm-p", "gru"])
def test_gates_see_less_of_an_error_that_was_measured_at_the_gates(cell, monkeypatch) -> None:
    monkeypatch.setattr(reconstruction, "STEPS", 500)
    network = make_network(cell=cell, num_states=10, similarity="euclidean", temperature=1.0)
    weight = network.rnn.get_parameter("weight_hh_l0").detach()
    with torch.no_grad():
        weight[:, :3] *= 10  # gates hardly see the last three units

    def error() -> float:
        centroids = network.rnn.centroids().detach()
        alpha = torch.softmax(-(torch.cdist(vectors, centroids) ** 2) / 2, -1)
        return float(((alpha @ centroids - vectors) @ weight.T).square().sum(-1).mean())

    vectors = torch.from_numpy(hidden_vectors(network, EXAMPLES))
    reconstruct_centroids(network, EXAMPLES, seed=0)
    by_vectors = error()
    reconstruct_gate_inputs(network, EXAMPLES, seed=0)
    assert error() < by_vectors


def test_a_cell_hardly_notices_more_reconstructed_states_than_units() -> None:
    network = make_network(num_states=16, similarity="euclidean", temperature=3.0)
    fit(network, EXAMPLES, stages=[replace(warm(TrainConfig(epochs=20))[0], learning_rate=0.02)])
    words = words_ending_in_5(6)
    plain = evaluate(network, words).loss
    reconstruct_centroids(network, EXAMPLES, seed=0)
    network.rnn.regularized = True
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
    assert network.rnn.regularized


def test_settings_reach_the_stages() -> None:
    config = TrainConfig(class_weight="balanced", epochs=3, patience=2, ema=0.9)
    for stages in (make(config) for make in RECIPES.values()):
        for stage in stages:
            assert (stage.class_weight, stage.epochs, stage.patience) == ("balanced", 3, 2)
            assert stage.ema == 0.9


def test_the_warm_start_turns_the_component_on_last() -> None:
    assert [stage.regularized for stage in warm(TrainConfig())] == [False, True]


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

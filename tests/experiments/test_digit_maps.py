"""Maps of states over pixels against the trace of each image alone."""

import numpy as np
import pytest
from digit_maps import states_picture, transition_maps
from sklearn.linear_model import LinearRegression
from toy_readers import toy_network

from kleene.data.alphabet import Alphabet
from kleene.errors import DataError
from kleene.explain.explain import explain_many
from kleene.model import Model


def test_maps_are_means_over_the_images_of_a_class() -> None:
    network = toy_network(num_symbols=0, input_size=1, num_classes=3)
    random = np.random.default_rng(0)
    images = [random.random((6, 1)).astype(np.float32) for _ in range(20)]
    labels = np.array([0, 2] * 10)
    maps = transition_maps(network, images, labels)
    model = Model(network=network, alphabet=Alphabet(()), classes=tuple("abc"))
    explained = explain_many(model, images)
    assert maps.shape == (3, 4, 6)
    for label in (0, 2):
        mean = np.mean([explained[i].probs for i in np.flatnonzero(labels == label)], axis=0)
        assert np.allclose(maps[label], mean.T, atol=1e-5)
    assert not maps[1].any()
    predicted = np.array(["abc".index(e.prediction) for e in explained])
    assert np.allclose(
        transition_maps(network, images), transition_maps(network, images, predicted), atol=1e-6
    )
    probs, inputs = np.concatenate([e.probs for e in explained]), np.concatenate(images)[:, 0]
    regression = LinearRegression(fit_intercept=False).fit(probs, inputs)  # they sum to 1
    expected = regression.predict(probs).reshape(20, 6)[labels == 0].mean(0)
    assert np.allclose(states_picture(network, images, maps)[0], expected, atol=1e-2)
    with pytest.raises(DataError, match="one length, got 2, from 4 to 6"):
        transition_maps(network, [*images, images[0][:4]], np.zeros(21, int))

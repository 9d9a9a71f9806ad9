"""What the parameters of `SequenceClassifier` do, and where they come from."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV
from toys import LABELS, WORDS, small, small_estimator

from kleene import SequenceClassifier
from kleene.cli.commands.train import train
from kleene.config import TrainConfig, described
from kleene.errors import DataError, SettingError
from kleene.nn.config import NetworkConfig

CLI_ONLY = {"class_weight": "balanced", "random_state": "seed", "tokens": "tokens"}


def probabilities(found: SequenceClassifier) -> list[list[float]]:
    return found.predict_proba(WORDS).tolist()


def test_signature_help_and_options_come_from_the_same_fields() -> None:
    signature = inspect.signature(SequenceClassifier.__init__).parameters
    options = inspect.signature(train).parameters
    assert [*signature][1:4] == ["cell", "states", "learn"]
    assert len(signature) - 1 <= 16
    for group, one in described():
        if not group:
            assert signature[one.name].default == one.default
            assert f"{one.name} : " in (SequenceClassifier.__doc__ or "")
            assert one.metadata["help"] in (SequenceClassifier.__doc__ or "")
        if one.metadata["option"]:
            default = None if group == "network" else one.default
            assert options[one.name].default == default
        else:
            assert CLI_ONLY.get(one.name, "json") in options


def test_parameters_inside_network_and_training_are_reached_by_name() -> None:
    for training in (None, {"epochs": 9, "ema": 0.5}, TrainConfig(epochs=9, ema=0.5)):
        clf = SequenceClassifier(training=training).set_params(training__epochs=3, states=5)
        params = clf.get_params()
        assert (params["training__epochs"], params["states"]) == (3, 5)
        assert params.get("training__ema") == (0.5 if training else None)
    with pytest.raises(SettingError, match="no parameter 'states__x'"):
        clf.set_params(states__x=1)
    grid = GridSearchCV(small(states=2), {"training__epochs": [1, 2]}, cv=2)
    assert grid.fit(WORDS, LABELS).best_params_["training__epochs"] in (1, 2)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cell": "quantum"}, "cell must be one of gru, lstm"),
        ({"states": -1}, "states must be a whole number >= 0, got -1"),
        ({"states": "4"}, "states must be a whole number >= 0, got '4'"),
        ({"states": True}, "states must be a whole number"),
        ({"states": 2.5}, "states must be a whole number"),
        ({"hidden_size": 0}, "hidden_size must be a whole number >= 1, got 0"),
        ({"temperature": 0}, "temperature must be > 0, got 0"),
        ({"temperature": "hot"}, "temperature must be a number > 0, got 'hot'"),
        ({"learning_rate": "x"}, "learning_rate must be a number > 0, got 'x'"),
        ({"validation": "0.1"}, "validation must be a number >= 0 and < 1, got '0.1'"),
        ({"validation": 1}, "validation must be >= 0 and < 1, got 1"),
        ({"ema": 1.0}, "ema must be > 0 and < 1, got 1.0"),
        ({"similarity": "love"}, "similarity must be one of dot"),
        ({"transition": "beam"}, "transition must be one of mixture"),
        ({"recipe": "cake"}, "recipe must be one of"),
        ({"optimizer": "luck"}, "optimizer must be one of adam"),
        ({"embeddings": "glove"}, "embeddings must be one of random, ppmi"),
        ({"learn": "small"}, "learn must be one of auto, network, paper, automaton"),
        ({"tokens": "atoms"}, "tokens must be one of"),
        ({"device": "moon"}, "device 'moon' is not available"),
        ({"class_weight": "heavy"}, "class_weight must be None, 'balanced' or a dict"),
        ({"class_weight": {7: 1.0}}, "class_weight has 7, which is none of the labels"),
        ({"class_weight": {0: -1.0}}, "class_weight must be >= 0"),
        ({"random_state": -1}, "random_state must be None, a whole number >= 0"),
        ({"random_state": 0.5}, "random_state must be None, a whole number >= 0"),
        ({"network": {"depth": 1}}, "network has no 'depth'; choose from"),
        ({"training": {"depth": 1}}, "training has no 'depth'; choose from"),
        ({"network": NetworkConfig(), "states": 3}, "states is given twice"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_the_name_of_its_parameter(
    parameters: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingError) as error:
        small(**parameters).fit(WORDS, LABELS)
    assert message in str(error.value)


def test_nothing_gives_nothing_and_features_have_names() -> None:
    found = small().fit(WORDS, LABELS)
    assert found.predict([]).shape == (0,)
    assert found.predict_proba([]).shape == (0, 2)
    assert found.transform([]).shape == (0, 4)
    assert found.get_feature_names_out().tolist() == ["state0", "state1", "state2", "state3"]
    assert found.set_output(transform="default").transform(WORDS).shape == (60, 4)


def test_weights_of_rows_and_classes() -> None:
    plain = probabilities(small().fit(WORDS, LABELS))
    assert probabilities(small().fit(WORDS, LABELS, sample_weight=[1.0] * 60)) == pytest.approx(
        np.array(plain), abs=1e-5
    )
    longer: dict[str, Any] = {"epochs": 20, "learning_rate": 0.02}
    for label in (0, 1):
        favoured = small(**longer).fit(
            WORDS, LABELS, sample_weight=[100.0 if y == label else 1e-6 for y in LABELS]
        )
        assert set(favoured.predict(WORDS).tolist()) == {label}
        weighted = small(class_weight={label: 100.0, 1 - label: 1e-6}, **longer)
        assert set(weighted.fit(WORDS, LABELS).predict(WORDS).tolist()) == {label}


@pytest.mark.parametrize("weights", [[1.0], [-1.0] * 60, [0.0] * 60, [float("nan")] * 60], ids=str)
def test_wrong_weights_of_rows(weights: list[float]) -> None:
    with pytest.raises(DataError, match="sample_weight must"):
        small().fit(WORDS, LABELS, sample_weight=weights)


def test_a_fit_where_gradients_are_off_elsewhere() -> None:
    expected = probabilities(small().fit(WORDS, LABELS))
    torch.set_grad_enabled(False)
    try:
        found = small().fit(WORDS, LABELS)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    assert probabilities(found) == expected


def test_embeddings_and_averages_can_be_asked_for() -> None:
    plain, ppmi, ema = (
        small(**given).fit(WORDS, LABELS) for given in ({}, {"embeddings": "ppmi"}, {"ema": 0.5})
    )
    assert not ppmi.network_.embedding.weight[:2].any()  # symbols without neighbours start at 0
    assert plain.network_.embedding.weight[:2].all()
    assert probabilities(ema) != probabilities(plain)


def test_a_bar_shows_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    small(verbose=True, recipe="warm").fit(WORDS, LABELS)
    lines = capsys.readouterr().err.strip().splitlines()
    assert [line.split()[0] for line in lines] == ["cell", "states"]
    assert all("loss" in line for line in lines)


def test_texts_are_said_to_be_taken_as_such() -> None:
    random = np.random.default_rng(0)
    words = [[f"w{i}" for i in random.integers(0, 1003, 60)] for _ in range(120)]
    labels = [int("w1" in word) for word in words]
    few = small_estimator(epochs=1, validation=0.0, max_symbols=999).fit(words, labels)
    assert few.network_.config.cell == "gru"
    many = small_estimator(learn="auto", epochs=1, validation=0.0, max_symbols=1000).fit(
        words, labels
    )
    assert many.network_.config.cell == "lstm-p"
    assert many.fit_log_[0] == (
        "1,000 different symbols, so read as text: cell lstm-p, pooling states, dropout 0.5; "
        "give these to override"
    )


@pytest.mark.parametrize("validation", [0.001, 0.999])
def test_a_share_too_small_or_too_large_to_split_still_trains(validation: float) -> None:
    words, labels = ["a", "b"] * 30, [0, 1] * 30
    clf = SequenceClassifier(validation=validation, training={"epochs": 1}, random_state=0).fit(
        words, labels
    )
    assert clf.score(words, labels) == 1


@pytest.mark.parametrize("weighted", ["rows", "classes"])
def test_weights_keep_an_automaton_that_ignores_them_from_the_networks_place(weighted: str) -> None:
    draw = np.random.default_rng(0)
    labels = (draw.random(200) < 0.1).astype(int)  # noise: the majority has fewest errors
    words = ["".join(draw.choice(["a", "b"], 4)) for _ in labels]
    given = {"class_weight": {0: 1.0, 1: 1000.0}} if weighted == "classes" else {}
    clf = small(learn="auto", states=None, epochs=3, **given)
    clf.fit(words, labels, sample_weight=None if given else 1.0 + 999 * labels)
    assert clf.origin_ != "induced"
    searches = [line for line in clf.fit_log_ if line.startswith("found an automaton")]
    assert len(searches) == (weighted == "classes")

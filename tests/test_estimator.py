"""`SequenceClassifier` as a scikit-learn estimator."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from toys import LABELS, WORDS, small

from kleene import SequenceClassifier
from kleene.errors import DataError, ModelError, NotFittedError


@pytest.fixture(scope="module")
def fitted() -> SequenceClassifier:
    return small().fit(WORDS, LABELS)


# -- scikit-learn's own checks ---------------------------------------------------------------------

CANNOT_APPLY = {
    "check_sample_weight_equivalence_on_dense_data": "a weight is no repetition: rows are held out",
    "check_transformer_general": "words may have any length, so none is of a wrong one",
}


def cannot_apply(estimator: BaseEstimator) -> dict[str, str]:
    return CANNOT_APPLY


@parametrize_with_checks([small()], expected_failed_checks=cannot_apply)
def test_scikit_learn_contract(estimator: BaseEstimator, check: Any) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ symbols in")  # matrices of numbers never seen
        check(estimator)


def test_tools_of_scikit_learn_take_it(fitted: SequenceClassifier) -> None:
    assert is_classifier(fitted)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert copy.fit(WORDS, LABELS).score(WORDS, LABELS) == fitted.score(WORDS, LABELS)
    assert len(cross_val_score(small(epochs=1), WORDS, LABELS, cv=3)) == 3
    lower = FunctionTransformer(lambda words: [word.lower() for word in words])
    pipeline = make_pipeline(lower, small()).fit([word.upper() for word in WORDS], LABELS)
    assert pipeline.predict(WORDS).tolist() == fitted.predict(WORDS).tolist()
    features = make_pipeline(small(), LogisticRegression()).fit(WORDS, LABELS)  # transform
    assert set(features.predict(WORDS)) <= {0, 1}


def test_grid_search_with_numbers_of_numpy() -> None:
    grid = {"states": np.array([2, 3]), "training__learning_rate": np.array([0.01])}
    search = GridSearchCV(small(epochs=1), grid, cv=2).fit(WORDS, LABELS)
    best = search.best_estimator_
    assert best.model.network.rnn.num_states == search.best_params_["states"]
    assert pickle.loads(pickle.dumps(best)).predict(WORDS).tolist() == best.predict(WORDS).tolist()


def test_pickling_is_by_the_contents_of_the_model_folder(fitted: SequenceClassifier) -> None:
    state = fitted.__getstate__()
    assert state["files"] == fitted.model.to_files()
    assert {type(value) for value in state["files"].values()} == {bytes}
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    copy = joblib.load(file)
    assert np.array_equal(copy.predict_proba(WORDS), fitted.predict_proba(WORDS))
    assert copy.get_params() == fitted.get_params()
    state["files"]["model.safetensors"] = state["files"]["model.safetensors"][:-1]
    with pytest.raises(ModelError, match=r"model\.safetensors"):
        SequenceClassifier().__setstate__(state)


def test_saved_and_loaded_it_is_the_same(fitted: SequenceClassifier, tmp_path: Any) -> None:
    copy = SequenceClassifier.load(fitted.save(tmp_path / "model"))
    assert np.array_equal(copy.predict_proba(WORDS), fitted.predict_proba(WORDS))
    assert copy.get_params() == fitted.get_params()


def test_the_same_seed_gives_the_same_network() -> None:
    one, two, other = (
        small(random_state=seed).fit(WORDS, LABELS).predict_proba(WORDS) for seed in (1, 1, 2)
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)
    first, second = (
        small(random_state=np.random.RandomState(5)).fit(WORDS, LABELS).predict_proba(WORDS)
        for _ in range(2)
    )
    assert np.array_equal(first, second)


# -- words and labels of any kind ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zero", "one"),
    [
        (False, True),
        (0, 1),
        (-3, 7),
        ("no", "yes"),
        ((1, 2), (3, 4)),
        (1, "1"),
        (np.int8(1), np.int8(2)),
        (np.str_("a"), np.str_("b")),
        (b"raw", b"bytes"),
    ],
    ids=repr,
)
def test_labels_of_any_type(zero: Any, one: Any) -> None:
    labels = [one if label else zero for label in LABELS]
    estimator = small(epochs=30, states=0, hidden_size=16, patience=30).fit(WORDS, labels)
    assert set(estimator.classes_.tolist()) == {zero, one}
    assert len(estimator.classes_) == 2
    predicted = estimator.predict(WORDS)
    assert predicted.shape == (len(WORDS),)
    right = sum(p == y for p, y in zip(predicted.tolist(), labels, strict=True))
    assert estimator.score(WORDS, labels) == pytest.approx(right / len(WORDS))
    assert right / len(WORDS) > 0.5
    order = estimator.predict_proba(WORDS).argmax(-1)
    assert [estimator.classes_[i] for i in order] == predicted.tolist()


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (["ab", "ba"], "chars"),
        (["the end", "end"], "words"),
        ([["ab", "c"], []], "symbols"),
        ([(1, 2), (2, 1)], "symbols"),
        ([[("x", 1)], [("y", 2), None]], "symbols"),
        (np.array([[1, 2], [2, 1]]), "symbols"),
        (np.array(["ab", "ba"]), "chars"),
        (np.array([[0.5, 0.25], [1.0, 0.5]]), "symbols"),
    ],
    ids=repr,
)
def test_words_of_any_kind(words: Any, tokens: str) -> None:
    estimator = small().fit(words, [0, 1])
    assert estimator.model.tokens == tokens
    assert estimator.predict(words).shape == (2,)


def test_unknown_symbols_are_counted_in_one_warning(fitted: SequenceClassifier) -> None:
    with pytest.warns(UserWarning, match="4 symbols in 2 examples .* 'z'") as caught:
        predicted = fitted.predict(["abz", "zzab?", "ab"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert len(predicted) == 3


# -- mistakes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        ([], []),
        ("abc", [0, 1, 0]),
        (["a", "b"], [0]),
        (["a", "b"], [1, 1]),
        (["a", "b"], [0, float("nan")]),
        (["a", "b"], [[0], [1]]),
        (["a", "b"], None),
        (7, [1]),
    ],
    ids=repr,
)
def test_wrong_data(words: Any, labels: Any) -> None:
    with pytest.raises(DataError):
        small().fit(words, labels)
    with pytest.raises(DataError):
        small().prepare(words, labels)


def test_nothing_works_before_fit(tmp_path: Any) -> None:
    for use in (
        lambda: small().predict(WORDS),
        lambda: small().extract(),
        lambda: small().save(tmp_path),
    ):
        with pytest.raises(NotFittedError, match="fit"):
            use()


TWICE = """
from kleene import SequenceClassifier
words = ["", "a", "b", "ab", "ba", "aab", "bba", "abab", "aa", "bb"] * 20
labels = [int(word.endswith("a")) for word in words]
fits = [SequenceClassifier(hidden_size=16, random_state=0) for _ in range(2)]
one, two = (fit.fit(words, labels).model.network.state_dict() for fit in fits)
print(all(tensor.equal(two[name]) for name, tensor in one.items()))
"""


@pytest.mark.slow
def test_the_first_fit_of_a_process_is_that_of_the_second() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"

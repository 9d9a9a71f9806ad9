"""`SequenceClassifier`: the whole path behind a scikit-learn estimator.

    sequences and labels -> network -> automaton -> the network taught that automaton

For memory-less cells `fit` ends with a small automaton where one does as well as the network. Tasks
that no small automaton solves keep the network, with states where these cost no accuracy.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import exceptions
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin

from kleene.automata.matcher import label_array
from kleene.config import Parameters, TrainConfig, describe
from kleene.data.alphabet import Alphabet
from kleene.data.batch import Encoded
from kleene.data.examples import Examples
from kleene.data.store import Store
from kleene.data.validate import UnknownSymbols, as_classes, as_labels, as_words
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError, NotFittedError, SettingError
from kleene.evaluation.metrics import Predictions, predict
from kleene.fitting import fit_and_measure
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.cells import Cell
from kleene.nn.config import NetworkConfig
from kleene.settings import Settings, from_saved, untrained_model
from kleene.training.progress import Bar, Reporter
from kleene.training.run import Hook, Run

if TYPE_CHECKING:
    from kleene.explain.explain import Explanation
    from kleene.explain.phrases import Phrases
    from kleene.explain.prototypes import Prototypes
    from kleene.extraction.result import Extraction

FITTED = ("model_", "network_", "alphabet_", "history_", "classes_", "words_")
NESTED = {"network": NetworkConfig, "training": TrainConfig}
"""Parameters that have parameters of their own, such as `training__epochs`."""


class UnfittedError(NotFittedError, exceptions.NotFittedError):  # type: ignore[misc]
    """Also a scikit-learn `NotFittedError`: call `fit` first."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An untrained model, and the rows to train it with; `SequenceClassifier.prepare` makes it."""

    model: Model
    settings: Settings
    examples: Examples
    words: list[Word] | None
    """None where the rows are on disk."""
    seed: int


@dataclass(eq=False, repr=False)
class SequenceClassifier(ClassifierMixin, TransformerMixin, BaseEstimator, Parameters):  # type: ignore[misc]
    """A classifier of sequences whose states can be read.

    Attributes
    ----------
    classes_ : the labels, in the order of `predict_proba`.
    model_, network_, alphabet_, history_ : the trained model and its parts.
    origin_ : who learned: `trained`, `paper`, `induced`, `ngrams` or `plain`; see `kleene.select`.
    fit_log_ : what `fit` did, in words, such as which automaton was found and what was kept.
    figures_ : accuracy on training, validation and held-out rows, of the majority class and, if
        asked for, of n-grams, and precision, recall and F1 of each class.

    >>> words, labels = ["ab", "ba", "abab", "aa"] * 20, [1, 0, 1, 0] * 20
    >>> SequenceClassifier(random_state=0).fit(words, labels).predict(["ab"]).tolist()
    [1]
    """

    # -- parameters -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep`, also those inside `network` and `training`."""
        found: dict[str, Any] = {one.name: getattr(self, one.name) for one in fields(Parameters)}
        for name, kind in NESTED.items() if deep else ():
            given = found[name]
            values = vars(given) if isinstance(given, kind) else given or {}
            found |= {f"{name}__{key}": value for key, value in values.items()}
        return found

    def set_params(self, **params: Any) -> SequenceClassifier:
        """Set parameters; `training__epochs=5` sets one inside `training`."""
        known = {one.name for one in fields(Parameters)}
        for key, value in params.items():
            name, nested, inner = key.partition("__")
            if name not in known or (nested and name not in NESTED):
                raise SettingError(f"SequenceClassifier has no parameter {key!r}")
            if nested:
                given = getattr(self, name)
                whole = isinstance(given, NESTED[name])
                value = (
                    replace(given, **{inner: value}) if whole else {**(given or {}), inner: value}
                )
            setattr(self, name, value)
        return self

    # -- learning -------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Label],
        sample_weight: Sequence[float] | None = None,
        *,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 30.0,
        reporter: Reporter | None = None,
        hook: Hook | None = None,
        baseline: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> SequenceClassifier:
        """Learn from sequences and their labels.

        `sample_weight` says how much each row counts in the loss. `checkpoint` names a file in
        which the run is saved every `checkpoint_every` seconds, and from which it continues where
        the file exists. `hook` is called after every epoch with the network and the epoch's
        figures. `baseline` also fits n-grams with logistic regression to the same rows, for
        `figures_`; with fewer than 1,000 rows, cross-fitting measures the accuracy of both. The
        processes of `process_group` share every batch; the first alone searches for an automaton
        and chooses.
        """
        run = Run(
            seed=self._seed(),
            reporter=reporter,
            hook=hook,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            checkpoint_every=checkpoint_every,
            processes=process_group,
        )
        prepared = self.prepare(X, y, sample_weight, seed=run.seed)
        return self.fit_prepared(prepared, run, baseline=baseline)

    def prepare(
        self,
        X: Sequence[Any],
        y: Sequence[Label],
        sample_weight: Sequence[float] | None = None,
        *,
        seed: int | None = None,
    ) -> Prepared:
        """Check parameters and data, and build the untrained model; `fit_prepared` trains it."""
        settings = Settings.of(self.get_params(deep=False))
        seed = self._seed() if seed is None else seed
        words, tokens = as_words(X, self.tokens)
        labels, classes = as_classes(words, y)
        training = settings.training
        alphabet = Alphabet.from_words(words, training.max_symbols, training.min_count)
        longest = max(map(len, words))
        model = untrained_model(
            settings, alphabet, classes, tokens=tokens, longest=longest, seed=seed
        )
        examples = Examples(
            words=alphabet.encode_many(words),
            labels=labels,
            weights=_row_weights(sample_weight, len(words)),
        )
        return Prepared(model=model, settings=settings, examples=examples, words=words, seed=seed)

    def fit_prepared(
        self, prepared: Prepared, run: Run, *, baseline: bool = False
    ) -> SequenceClassifier:
        """Learn from what `prepare` returned."""
        if run.reporter is None and self.verbose:
            run = replace(run, reporter=Bar())
        fitted = fit_and_measure(
            prepared.model, prepared.examples, prepared.settings, run, baseline=baseline
        )
        self.fit_log_, self.figures_, self.origin_ = fitted.log, fitted.figures, fitted.origin
        self._adopt(fitted.model)
        if prepared.words is not None:
            self.words_ = prepared.words
        return self

    def fit_stored(
        self, store: Store, run: Run | None = None, *, baseline: bool = False
    ) -> SequenceClassifier:
        """Learn from encoded rows on disk; memory holds their lengths and classes, not the rows.

        What looks at all rows at once (validation, the search for an automaton) sees a sample of a
        bounded size. `kleene.data.store.encode` makes a store.
        """
        settings, run = Settings.of(self.get_params(deep=False)), run or Run(seed=self._seed())
        model = untrained_model(
            settings,
            store.alphabet,
            store.classes,
            tokens=store.tokens,
            longest=store.longest,
            seed=run.seed,
        )
        examples = Examples(words=store.words, labels=store.labels)
        prepared = Prepared(
            model=model, settings=settings, examples=examples, words=None, seed=run.seed
        )
        return self.fit_prepared(prepared, run, baseline=baseline)

    def _seed(self) -> int:
        """The seed of this fit: `random_state`, or a number drawn from it."""
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if hasattr(self.random_state, "randint"):  # a numpy RandomState, as scikit-learn allows
            return int(self.random_state.randint(2**31))
        if not isinstance(self.random_state, int | np.integer) or self.random_state < 0:
            raise SettingError(
                "random_state must be None, a whole number >= 0 or a RandomState, "
                f"got {self.random_state!r}"
            )
        return int(self.random_state)

    def _adopt(self, model: Model) -> None:
        self.model_ = model
        self.network_ = model.network
        self.alphabet_ = model.alphabet
        self.history_ = model.history
        self.classes_ = label_array(model.classes)

    # -- using ----------------------------------------------------------------------------------

    def predict_proba(self, X: Sequence[Any]) -> NDArray[np.float32]:
        """Probabilities of the classes, in the order of `classes_`."""
        return self._evaluate(X).probabilities

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """The label of the highest score, for each word."""
        predicted = self._evaluate(X).predicted  # first, since it says that nothing is fitted
        found: NDArray[Any] = self.classes_[predicted]
        return found

    @property
    def model(self) -> Model:
        """The trained model."""
        if not hasattr(self, "model_"):
            raise UnfittedError("this SequenceClassifier is not fitted yet; call fit first")
        return self.model_

    def score(
        self, X: Sequence[Any], y: Sequence[Label], sample_weight: Sequence[float] | None = None
    ) -> float:
        """The share of words whose predicted label is the given one."""
        classes = self.model.classes
        predicted = [classes[i] for i in self._evaluate(X).predicted.tolist()]
        labels = as_labels(y)
        if len(labels) != len(predicted):
            raise DataError(
                f"expected one label per example, got {len(predicted)} examples and "
                f"{len(labels)} labels"
            )
        right = [one == other for one, other in zip(predicted, labels, strict=True)]
        return float(np.average(right, weights=sample_weight))

    def _evaluate(self, X: Sequence[Any]) -> Predictions:
        return predict(self.model.network, self._encode(X, stacklevel=4))

    def _encode(self, X: Sequence[Any], stacklevel: int = 3) -> Sequence[Encoded]:
        alphabet, tokens = self.model.alphabet, self.model.tokens
        nothing = not isinstance(X, str) and hasattr(X, "__len__") and len(X) == 0
        words = [] if nothing else as_words(X, tokens)[0]
        encoded = alphabet.encode_many(words)
        if unknown := UnknownSymbols.among(alphabet, words, encoded):
            warnings.warn(str(unknown), stacklevel=stacklevel)
        return encoded

    # -- reading --------------------------------------------------------------------------------

    def extract(
        self, X: Sequence[Any] | None = None, y: Sequence[Label] | None = None, **options: Any
    ) -> Extraction:
        """Extract the automaton of the network, and check it; `options` as in `kleene.extract`.

        `X` are sequences like those that the network is for; `y` is not used.
        """
        from kleene.extraction.extract import extract

        words = None if X is None else self.model.words(list(X))
        return extract(self.model, words, **options)

    def explain(self, x: Any, *, method: str | None = None) -> Explanation:
        """Why one word got its label: its states, and how much each symbol speaks for it."""
        from kleene.explain.explain import explain

        return explain(self.model, self.model.words([x])[0], method=method)

    def prototypes(
        self, X: Sequence[Any] | None = None, y: Sequence[Label] | None = None, *, top: int = 10
    ) -> Prototypes:
        """The symbols that lead to each state and class, over the given or the training words.

        `y` is not used: the classes are the predicted ones.
        """
        from kleene.explain.prototypes import prototypes

        model, texts = self.model, X if X is not None else getattr(self, "words_", None)
        if texts is None:
            raise DataError("a loaded model has no training examples; pass some to look at")
        words = model.words(list(texts))
        return prototypes(model, words, top=top)

    def phrases(self, X: Sequence[Any], *, n: int = 2, top: int = 10) -> Phrases:
        """The n-grams that speak most for each class."""
        from kleene.explain.phrases import phrases

        return phrases(self.model, self.model.words(list(X)), n=n, top=top)

    def transform(self, X: Sequence[Any]) -> NDArray[np.float32]:
        """Transition features: the mean probability of every state along each word."""
        from kleene.explain.features import features

        return features(self.model.network, self._encode(X))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Names of the columns of `transform`: `state0`, `state1`, ..."""
        count = self.model.network.rnn.num_states
        return np.array([f"state{i}" for i in range(count)], dtype=object)

    # -- keeping --------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model folder."""
        return self.model.save(folder)

    @classmethod
    def load(cls, folder: str | Path, *, cells: Iterable[Cell] = ()) -> SequenceClassifier:
        """An estimator with the model of a folder; `cells` as in `Model.load`."""
        return cls.from_model(Model.load(folder, cells=cells))

    def to_onnx(self) -> bytes:
        """The network as an ONNX file; see `Model.to_onnx`."""
        return self.model.to_onnx()

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: the parameters, and the contents of the model folder."""
        state = dict(super().__getstate__())
        if "model_" in state:
            state["files"] = self.model.to_files()
        return {name: value for name, value in state.items() if name not in FITTED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        files = state.pop("files", None)
        super().__setstate__(state)
        if files is not None:
            own: Any = self.cell
            cells = [] if isinstance(own, str | None) else [own]
            self._adopt(Model.from_files(files, cells=cells))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True  # words are lists of anything, of any length
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []  # features are float32
        tags.classifier_tags.poor_score = True  # on matrices of numbers that are all different
        return tags

    @classmethod
    def from_model(cls, model: Model) -> SequenceClassifier:
        """An estimator around a trained model."""
        given = from_saved(model.settings)
        if (own := model.network.config.custom_cell) is not None:
            given["cell"] = own
        estimator = cls(**given)
        estimator.fit_log_ = tuple(model.settings.get("fit_log", ()))
        estimator.origin_ = model.origin
        estimator._adopt(model)
        return estimator


def _row_weights(given: Sequence[float] | None, rows: int) -> NDArray[np.float32] | None:
    if given is None:
        return None
    weights = np.asarray(given, dtype=np.float32)
    if weights.shape != (rows,):
        raise DataError(f"sample_weight must have shape ({rows},), got {weights.shape}")
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise DataError("sample_weight must be >= 0, finite, and not all zero")
    return weights


SequenceClassifier.__doc__ = (SequenceClassifier.__doc__ or "").replace(
    "Attributes\n", f"{describe()}\n\n    Attributes\n", 1
)

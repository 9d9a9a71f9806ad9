"""`SequenceClassifier`: the whole path behind a scikit-learn estimator.

    words and labels -> network -> machine -> the network taught to be that machine

For memory-less cells `fit` ends with a small machine where there is one that does at least as well
as the network; cells with memory, and tasks that no small machine solves, keep the network as
trained.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn import exceptions
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from torch import Tensor

from kleene.automata.matcher import label_array
from kleene.config import (
    Parameters,
    config_of,
    plain_values,
    readable,
    stages_of,
    train_config,
)
from kleene.data.alphabet import Alphabet
from kleene.data.batch import Encoded
from kleene.data.examples import Examples
from kleene.data.fingerprint import fingerprint
from kleene.data.store import Store
from kleene.data.streaming import Streamed, TrainingData, bounded_share
from kleene.data.validate import UnknownSymbols, as_classes, as_labels, as_words
from kleene.distributed import SINGLE_PROCESS, ProcessGroup
from kleene.errors import DataError, NotFittedError, SettingError
from kleene.evaluation.figures import measure
from kleene.evaluation.metrics import Evaluation, evaluate
from kleene.machine import Label, Word
from kleene.model import Model
from kleene.nn.cells import Cell
from kleene.nn.classifier import Classifier
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.selection import compare, plain_cell

if TYPE_CHECKING:
    from kleene.evaluation.uncertainty import Distribution, Noise
    from kleene.explain.explain import Explanation
    from kleene.explain.phrases import Phrases
    from kleene.explain.prototypes import Prototypes
    from kleene.extraction.result import Extraction

LEAST_SPLIT = 50
"""Of fewer words none are held back."""
SUMMARIZED = 500
"""Training rows whose moves between states are kept in the model, where no table has them all."""
FITTED = ("model_", "network_", "alphabet_", "history_", "classes_", "words_")


class UnfittedError(NotFittedError, exceptions.NotFittedError):  # type: ignore[misc]
    """The same to those who wait for scikit-learn's own: call `fit` first."""


class SequenceClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of sequences whose states can be read.

    Parameters
    ----------
    cell : "gru", "rnn", "rnn-relu", "lstm", "lstm-p", a kleene.nn.Cell or None
        The recurrent cell. Only the first three carry everything in their state, so that they can
        be read as a finite automaton; "lstm-p" is the LSTM with peepholes. None is "gru", and
        "lstm-p" for texts: words over a thousand different symbols or more.
    states : int or None
        The number of centroids; None lets the data choose where a machine can be read, else 20.
        0 is the vanilla network.
    pooling : "last", "max", "mean", "states" or None
        What is classified: the last step, a maximum or mean over all of them, or "states": mean and
        maximum of the state probabilities, so that each state has a weight per class. None is
        "last", and "states" for texts; likewise a `dropout` of None is 0, and 0.5 for texts.
    tokens : "chars", "words", "text" or None
        How strings are split: "text" into lower-case words and punctuation; None on white space if
        any string has some, else into characters.
    consolidate : bool
        Whether memory-less networks are taught the machine found in them.

    The other parameters are those of `NetworkConfig` and of the training recipes; None stands for
    a default that fits the cell and the words.

    >>> words, labels = ["ab", "ba", "abab", "aa"] * 20, [1, 0, 1, 0] * 20
    >>> SequenceClassifier(random_state=0).fit(words, labels).predict(["ab"]).tolist()
    [1]
    """

    def __init__(
        self,
        cell: str | Cell | None = None,
        states: int | None = None,
        *,
        hidden_size: int = 100,
        embedding_size: int = 100,
        layers: int = 1,
        transition: str = "mixture",
        similarity: str | None = None,
        temperature: float | None = None,
        learn_temperature: bool = False,
        pooling: str | None = None,
        dropout: float | None = None,
        tokens: str | None = None,
        max_symbols: int | None = None,
        min_count: int = 1,
        recipe: str | None = None,
        optimizer: str = "adam",
        learning_rate: float = 3e-3,
        batch_size: int = 32,
        epochs: int | None = None,
        patience: int | None = None,
        class_weight: str | None = None,
        validation: float = 0.1,
        consolidate: bool = True,
        device: str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.cell = cell
        self.states = states
        self.hidden_size = hidden_size
        self.embedding_size = embedding_size
        self.layers = layers
        self.transition = transition
        self.similarity = similarity
        self.temperature = temperature
        self.learn_temperature = learn_temperature
        self.pooling = pooling
        self.dropout = dropout
        self.tokens = tokens
        self.max_symbols = max_symbols
        self.min_count = min_count
        self.recipe = recipe
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.patience = patience
        self.class_weight = class_weight
        self.validation = validation
        self.consolidate = consolidate
        self.device = device
        self.random_state = random_state

    # -- learning -------------------------------------------------------------------------------

    def fit(
        self,
        X: Sequence[Any],
        y: Sequence[Label],
        *,
        keys: Sequence[int] | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 30.0,
        reporter: Reporter | None = None,
        hook: Hook | None = None,
        baseline: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> SequenceClassifier:
        """Learn from words and their labels.

        `keys` orders the words for a curriculum other than by length. `checkpoint` names a file in
        which the run is saved every `checkpoint_every` seconds, and from which it continues where
        the file exists. `hook` is called after every epoch with the network and the epoch's
        figures. `baseline` also fits n-grams with logistic regression to the same rows, for
        `figures_`. The processes of `process_group` share every batch; the first alone runs the
        induction at the end.
        """
        seed = self._seed()
        self.fit_log_: tuple[str, ...] = ()
        model, words, labels = self._begin(X, y, seed)
        numbers = np.asarray(keys, dtype=np.int64) if keys is not None else None
        encoded = model.alphabet.encode_many(words)
        everything = Examples(words=encoded, labels=labels, keys=numbers)
        training, held = self._split(everything, seed)
        how = {
            "checkpoint_every": checkpoint_every,
            "reporter": reporter,
            "hook": hook,
            "process_group": process_group,
        }
        cell: dict[str, Tensor] = {}
        model = self._train(model, training, held, seed, checkpoint, cell_weights=cell, **how)
        if process_group.is_main:
            model, taught = self._induce(model, everything, training, held, seed, reporter, hook)
            if not taught:
                model = self._select(model, cell, everything, held)
            model = self._measure(model, training, held, everything.words, baseline, seed)
        self._adopt(model)
        self.words_ = words
        return self

    def fit_stored(
        self,
        store: Store,
        *,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 30.0,
        reporter: Reporter | None = None,
        baseline: bool = False,
        process_group: ProcessGroup = SINGLE_PROCESS,
    ) -> SequenceClassifier:
        """Learn from encoded words on disk, in memory that does not grow with their number.

        What looks at all words at once (validation, the search for a machine) sees a sample of a
        bounded size. See `kleene.data.encode` for how a store is made.
        """
        seed = self._seed()
        self.fit_log_ = ()
        model = self._untrained(
            store.alphabet, store.classes, tokens=store.tokens, longest=store.longest, seed=seed
        )
        share = bounded_share(store, self.validation) if len(store) >= LEAST_SPLIT else 0.0
        training = Streamed(store=store, share=share, seed=seed)
        held = training.held()
        how = {
            "checkpoint_every": checkpoint_every,
            "reporter": reporter,
            "process_group": process_group,
        }
        cell: dict[str, Tensor] = {}
        model = self._train(model, training, held, seed, checkpoint, cell_weights=cell, **how)
        if process_group.is_main and cell:
            sample = training.sample()
            model, taught = self._induce(model, sample, training, held, seed, reporter)
            if not taught:
                model = self._select(model, cell, sample, held)
        if process_group.is_main:
            rows = (word for part in Streamed(store=store).parts() for word in part.words)
            model = self._measure(model, training, held, rows, baseline, seed)
        self._adopt(model)
        return self

    def _train(
        self,
        model: Model,
        training: TrainingData,
        held: Examples | None,
        seed: int,
        checkpoint: str | Path | None,
        **how: Any,
    ) -> Model:
        """The model after the stages of its recipe; `how` are further options of `train.fit`."""
        history = fit(
            model.network,
            training,
            validation=held,
            stages=stages_of(self._plain, model.network),
            seed=seed,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            **how,
        )
        return replace(model, history=history)

    def _induces(self, network: Classifier) -> bool:
        return bool(self.consolidate) and readable(network)

    def _induce(
        self,
        model: Model,
        examples: Examples,
        training: TrainingData,
        held: Examples | None,
        seed: int,
        reporter: Reporter | None,
        hook: Hook | None = None,
    ) -> tuple[Model, bool]:
        """The model after induction, and whether it was taught the automaton found."""
        if not self._induces(model.network):
            return model, False
        from kleene.induction.network import induce_into

        induced = induce_into(
            model,
            examples,
            training=training,
            held_out=held,
            clusters=None if self.states is None else (self.states,),
            config=train_config(self._plain),
            seed=seed,
            reporter=reporter,
            hook=hook,
        )
        self.fit_log_ += induced.steps
        return induced.model, induced.taught

    def _select(
        self,
        model: Model,
        cell_weights: Mapping[str, Tensor],
        examples: Examples,
        held: Examples | None,
    ) -> Model:
        """The model, or the plain cell it started from where states cost accuracy.

        A number of states that was asked for is kept in any case; the log has both figures.
        """
        config = model.network.config
        if not cell_weights or not config.num_states or config.pooling == "states":
            return model
        cell = plain_cell(model.network, cell_weights)
        found = compare(model.network, cell, examples if held is None else held)
        figures = found.describe("training" if held is None else "held-out")
        if not found.states_cost_accuracy:
            self.fit_log_ += (f"kept the network with states: {figures}",)
            return model
        if self.states is not None:
            self.fit_log_ += (f"states={self.states} costs accuracy: {figures}",)
            return model
        self.fit_log_ += (f"kept the plain cell, as states cost accuracy: {figures}",)
        return replace(model, network=cell)

    def _measure(
        self,
        model: Model,
        training: TrainingData,
        held: Examples | None,
        rows: Iterable[Encoded],
        baseline: bool,
        seed: int,
    ) -> Model:
        """The model with its figures, and with a fingerprint of all rows that `fit` was given."""
        self.figures_ = measure(model.network, training, held, baseline=baseline, seed=seed)
        data = {**fingerprint(rows), **self.figures_.to_dict()}
        settings = {**model.settings, "data": data, "fit_log": list(self.fit_log_)}
        rnn = model.network.rnn
        if rnn.num_states and rnn.regularized and model.reads_symbols and not model.is_finite_state:
            from kleene.explain.summary import summarize_encoded

            some = next(training.parts()).words[:SUMMARIZED]
            settings["moves"] = summarize_encoded(model, some, top=3).to_dict()
        return replace(model, settings=settings)

    def check(self, X: Sequence[Any], y: Sequence[Label]) -> None:
        """Raise what `fit` would have to say about words, labels and parameters; learn nothing."""
        model, _, _ = self._begin(X, y, self._seed())
        stages_of(self._plain, model.network)

    def _begin(
        self, X: Sequence[Any], y: Sequence[Label], seed: int
    ) -> tuple[Model, list[Word], NDArray[np.int64]]:
        """The untrained model, and words and classes to train it with."""
        words, tokens = as_words(X, self.tokens)
        labels, classes = as_classes(words, y)
        train_config(self._plain)  # which complains of wrong ones
        alphabet = Alphabet.from_words(words, self.max_symbols, self.min_count)
        longest = max(map(len, words))
        model = self._untrained(alphabet, classes, tokens=tokens, longest=longest, seed=seed)
        return model, words, labels

    def _untrained(
        self,
        alphabet: Alphabet,
        classes: tuple[Label, ...],
        *,
        tokens: str,
        longest: int,
        seed: int,
    ) -> Model:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = Classifier(config_of(self._plain, len(alphabet), len(classes)))
        try:
            network.to(self.device or "cpu")
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0]
            raise SettingError(
                f"device {self.device!r} is not available: {reason}; use cpu"
            ) from None
        return Model(
            network=network,
            alphabet=alphabet,
            classes=classes,
            tokens=tokens,
            longest=longest,
            settings={
                **vars(self._plain),
                "cell": getattr(self.cell, "name", self.cell),
                "random_state": seed,
            },
        )

    def _seed(self) -> int:
        """The seed of this fit: `random_state`, or a number drawn from it."""
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if hasattr(self.random_state, "randint"):  # a numpy RandomState, as scikit-learn allows
            return int(self.random_state.randint(2**31))
        return int(self.random_state)

    @property
    def _plain(self) -> Parameters:
        return plain_values(self.get_params(deep=False))

    def _split(self, examples: Examples, seed: int) -> tuple[Examples, Examples | None]:
        if not self.validation or len(examples) < LEAST_SPLIT:
            return examples, None
        return examples.split(self.validation, seed)

    def _adopt(self, model: Model) -> None:
        self.model_ = model
        self.network_ = model.network
        self.alphabet_ = model.alphabet
        self.history_ = model.history
        self.classes_ = label_array(model.classes)

    # -- using ----------------------------------------------------------------------------------

    def predict_proba(
        self, X: Sequence[Any], samples: int | None = None, *, seed: int = 0
    ) -> NDArray[np.float32]:
        """Probabilities of the classes, in the order of `classes_`.

        With `samples`, the mean over so many random passes; see `predict_distribution`.
        """
        if samples is not None:
            return self.predict_distribution(X, samples, seed=seed).mean
        return self._evaluate(X).probabilities

    def predict_distribution(
        self, X: Sequence[Any], samples: int = 20, *, noise: Noise | None = None, seed: int = 0
    ) -> Distribution:
        """Answers of many random passes: `mean`, `spread`, `entropy`, `mutual_information`.

        Networks with states draw these from their transition probabilities, others leave dropout
        on; `noise` chooses otherwise, see `kleene.evaluation.uncertainty`.
        """
        from kleene.evaluation.uncertainty import draw_predictions

        examples = self._encode(X)
        network = self.model.network
        return draw_predictions(network, examples, samples=samples, noise=noise, seed=seed)

    def predict(self, X: Sequence[Any]) -> NDArray[Any]:
        """The label of the highest score, for each word."""
        found: NDArray[Any] = self.classes_[self._evaluate(X).predicted]
        return found

    @property
    def reading_(self) -> tuple[str, ...]:
        """Deprecated name of `fit_log_`."""
        warnings.warn("reading_ is now called fit_log_", DeprecationWarning, stacklevel=2)
        return self.fit_log_

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

    def _evaluate(self, X: Sequence[Any]) -> Evaluation:
        return evaluate(self.model.network, self._encode(X, stacklevel=4))

    def _encode(self, X: Sequence[Any], stacklevel: int = 3) -> Examples:
        words = as_words(X, self.model.tokens)[0]
        encoded = self.model.alphabet.encode_many(words)
        if unknown := UnknownSymbols.among(self.model.alphabet, words, encoded):
            warnings.warn(str(unknown), stacklevel=stacklevel)
        return Examples(words=encoded, labels=np.zeros(len(words), dtype=np.int64))

    # -- reading --------------------------------------------------------------------------------

    def extract(
        self,
        X: Sequence[Any] | None = None,
        y: Sequence[Label] | None = None,
        *,
        method: str = "auto",
        seconds: float = 10.0,
        max_queries: int = 200_000,
        centres: int | None = None,
        seed: int = 0,
    ) -> Extraction:
        """Read the automaton in the network, and check it; see `kleene.reading.extract`.

        `X` are sequences to read along, `y` their labels, for `method="auto"` to train a copy with.
        """
        from kleene.reading import extract

        return extract(
            self.model,
            None if X is None else self.model.words(list(X)),
            labels=y,
            method=method,
            seconds=seconds,
            max_queries=max_queries,
            centres=centres,
            seed=seed,
        )

    def explain(self, x: Any, *, method: str | None = None) -> Explanation:
        """Why one word got its label: its states, and how much each symbol speaks for it."""
        from kleene.explain.explain import explain

        return explain(self.model, self.model.words([x])[0], method=method)

    def prototypes(
        self, X: Sequence[Any] | None = None, y: Sequence[Label] | None = None, *, top: int = 10
    ) -> Prototypes:
        """The symbols that lead to each state and class, over the given or the training words."""
        from kleene.explain.prototypes import prototypes

        model, texts = self.model, X if X is not None else getattr(self, "words_", None)
        if texts is None:
            raise DataError("a loaded model has no training examples; pass some to look at")
        words = model.words(list(texts))
        return prototypes(model, words, labels=y, top=top)

    def phrases(self, X: Sequence[Any], *, n: int = 2, top: int = 10) -> Phrases:
        """The n-grams that speak most for each class."""
        from kleene.explain.phrases import phrases

        return phrases(self.model, self.model.words(list(X)), n=n, top=top)

    def transform(self, X: Sequence[Any]) -> NDArray[np.float32]:
        """Transition features: the mean probability of every state along each word."""
        from kleene.explain.features import features

        return features(self.model.network, self._encode(X).words)

    # -- keeping --------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> Path:
        """Write the model folder."""
        return self.model.save(folder)

    @classmethod
    def load(cls, folder: str | Path, *, cells: Iterable[Cell] = ()) -> SequenceClassifier:
        """An estimator with the model of a folder; `cells` as in `Model.load`."""
        return cls.from_model(Model.load(folder, cells=cells))

    def save_pretrained(self, folder: str | Path) -> Path:
        """`save`, by the name that users of Hugging Face's libraries look for."""
        return self.model.save_pretrained(folder)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> SequenceClassifier:
        """`load`, by the name that users of Hugging Face's libraries look for; from disk only."""
        return cls.from_model(Model.from_pretrained(folder))

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
            cells = [] if isinstance(self.cell, str | None) else [self.cell]
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
        names = cls._get_param_names()
        given = {k: v for k, v in model.settings.items() if k in names}
        if (own := model.network.config.custom_cell) is not None:
            given["cell"] = own
        estimator = cls(**given)
        estimator.fit_log_ = tuple(model.settings.get("fit_log", ()))
        estimator._adopt(model)
        return estimator

    @classmethod
    def of(cls, model: Model) -> SequenceClassifier:
        """Deprecated name of `from_model`."""
        warnings.warn("of is now called from_model", DeprecationWarning, stacklevel=2)
        return cls.from_model(model)

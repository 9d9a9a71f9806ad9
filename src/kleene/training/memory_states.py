"""Networks with memory and states, where states without memory fail.

What adds up along a sequence (how much of a motif was seen and where, how often a pair of letters
occurred) would need a state for every sum. An LSTM with peepholes keeps the sums in its memory; it
is not a finite automaton. There are two ways to learn it:

by n-grams, where they tell the classes: they teach the states, and mean and maximum of the state
probabilities are classified (`pooling="states"`), so that every state has a weight per class;

by reconstruction, where the place of symbols counts: it is trained as a plain cell, the maximum
over time of hidden vector and memory is classified, and it is then given states by the recipe
`reconstruct`. At its temperature the mixtures of centroids can follow the hidden vectors, so that
states cost hardly anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from kleene.config import TrainConfig
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.training.history import History
from kleene.training.loop import fit
from kleene.training.recipes import reconstruct, text
from kleene.training.run import Run
from kleene.training.stages import Stage, start_counts

STATES = 64
BY_NGRAMS: Mapping[str, Any] = {"similarity": "dot", "temperature": 1.0, "pooling": "states"}
BY_RECONSTRUCTION: Mapping[str, Any] = {
    "similarity": "euclidean",
    "temperature": 3.0,
    "pooling": "max",
}
OVERFIT, DROPOUT = 0.05, 0.5
"""How much better the plain cell is on training rows where it has learned them by heart."""
PATIENCE, STATES_PATIENCE = 8, 4


def memory_states(
    cell: Classifier,
    training: Examples,
    *,
    by_ngrams: bool,
    validation: Examples,
    config: TrainConfig,
    run: Run,
) -> tuple[Classifier, History]:
    """An LSTM with peepholes and states for the symbols and classes of a plain cell.

    It starts from random weights. Where the plain cell has learned rows by heart, entries are
    dropped in training by n-grams.
    """
    kind = BY_NGRAMS if by_ngrams else BY_RECONSTRUCTION
    dropped = DROPOUT * (by_ngrams and _overfits(cell, training, validation))
    settings = replace(
        cell.config,
        cell="lstm-p",
        num_states=STATES,
        end_token=False,
        dropout=max(cell.config.dropout, dropped),
        **kind,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(run.seed)
        made = Classifier(settings).to(cell.device)
    history = fit(
        made,
        training,
        validation=validation,
        stages=(ngram_stages if by_ngrams else reconstruction_stages)(config, len(training)),
        run=run,
    )
    return made, history


def _overfits(cell: Classifier, training: Examples, validation: Examples) -> bool:
    seen = next(training.parts())
    seen = seen.select(np.arange(len(seen))[: len(validation)])
    return evaluate(cell, seen).accuracy - evaluate(cell, validation).accuracy > OVERFIT


def ngram_stages(config: TrainConfig, rows: int) -> list[Stage]:
    """The stages of texts, until held-out rows stop improving."""
    ema = _ema(config, rows)
    first, fine = (replace(stage, ema=ema, by_loss=False) for stage in text(config))
    epochs, patience = config.epochs or 40, config.patience or PATIENCE
    return [
        replace(first, name="memory", epochs=epochs, patience=patience, target=0.999),
        replace(fine, epochs=config.epochs or 5),
    ]


def reconstruction_stages(config: TrainConfig, rows: int) -> list[Stage]:
    """The recipe `reconstruct` without a curriculum, for few epochs of states."""
    cell, states, fine = (replace(stage, ema=_ema(config, rows)) for stage in reconstruct(config))
    epochs, patience = config.epochs or 60, config.patience or PATIENCE
    soon = config.patience or STATES_PATIENCE
    return [
        replace(cell, name="memory", epochs=epochs, patience=patience, curriculum=None),
        replace(states, epochs=config.epochs or 8, patience=soon),
        replace(fine, epochs=config.epochs or 4, patience=soon, prepare=start_counts),
    ]


def _ema(config: TrainConfig, rows: int) -> float:
    """Weights are averaged over about two epochs."""
    steps = max(rows // (config.batch_size or 32), 1)
    return config.ema or min(max(1 - 1 / (2 * steps), 0.9), 0.998)

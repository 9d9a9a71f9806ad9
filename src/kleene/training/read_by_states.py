"""Networks with memory that are read by their states alone, where states without memory fail.

What adds up along a sequence (how often a pair of letters occurred) would need a state for every
sum. Where n-grams tell the classes, they teach the states of an LSTM with peepholes, and mean and
maximum of its state probabilities are classified (`pooling="states"`), so that every state has a
weight per class. It is not a finite automaton.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.evaluation.metrics import evaluate
from kleene.nn.classifier import Classifier
from kleene.training.config import TrainConfig
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.recipes import text
from kleene.training.stages import Stage

STATES = 64
OVERFIT, DROPOUT = 0.05, 0.5
"""How much better the plain cell is on training rows where it has learned them by heart."""
EPOCHS, PATIENCE, FINE_EPOCHS = 40, 8, 5


def read_by_states(
    cell: Classifier,
    training: TrainingData,
    *,
    held_out: Examples,
    config: TrainConfig,
    seed: int = 0,
    hook: Hook | None = None,
    reporter: Reporter | None = None,
) -> tuple[Classifier, History]:
    """An LSTM with peepholes for the same symbols and classes, trained from random weights.

    `cell` is the plain cell: where it has learned rows by heart, entries are dropped in training.
    """
    seen = next(training.parts())
    seen = seen.select(np.arange(len(seen))[: len(held_out)])
    overfit = evaluate(cell, seen).accuracy - evaluate(cell, held_out).accuracy > OVERFIT
    settings = replace(
        cell.config,
        cell="lstm-p",
        num_states=STATES,
        similarity="dot",
        temperature=1.0,
        pooling="states",
        end_token=False,
        dropout=max(cell.config.dropout, DROPOUT * overfit),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Classifier(settings).to(cell.device)
    history = fit(
        made,
        training,
        validation=held_out,
        stages=stages(config, len(training)),
        seed=seed,
        hook=hook,
        reporter=reporter,
    )
    return made, history


def stages(config: TrainConfig, rows: int) -> list[Stage]:
    """The stages of texts, until held-out rows stop improving; weights averaged over two epochs."""
    steps = max(rows // config.batch_size, 1)
    ema = config.ema or min(max(1 - 1 / (2 * steps), 0.9), 0.998)
    first, fine = text(config)
    first = replace(
        first,
        name="memory",
        ema=ema,
        epochs=config.epochs or EPOCHS,
        patience=config.patience or PATIENCE,
        target=0.999,
    )
    return [first, replace(fine, ema=ema, epochs=config.epochs or FINE_EPOCHS)]

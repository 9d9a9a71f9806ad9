"""Networks with memory where states without memory fail, and the place of symbols counts.

What adds up along a sequence (how much of a motif was seen, and where) would need a state for every
sum. An LSTM with peepholes keeps the sums in its memory; the maximum over time of hidden vector and
memory is classified. It is trained as a plain cell, then given states by the recipe `reconstruct`,
which costs it hardly anything. It is not a finite automaton.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from kleene.data.examples import Examples
from kleene.data.streaming import TrainingData
from kleene.nn.classifier import Classifier
from kleene.training.config import TrainConfig
from kleene.training.history import History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.recipes import reconstruct
from kleene.training.stages import Stage

STATES = 64
EPOCHS, PATIENCE, STATES_EPOCHS, FINE_EPOCHS = 60, 8, 4, 2


def memory_states(
    cell: Classifier,
    training: TrainingData,
    *,
    held_out: Examples,
    config: TrainConfig,
    seed: int = 0,
    hook: Hook | None = None,
    reporter: Reporter | None = None,
) -> tuple[Classifier, History]:
    """An LSTM with peepholes and states for the symbols and classes of a plain cell."""
    settings = replace(
        cell.config,
        cell="lstm-p",
        num_states=STATES,
        similarity="euclidean",
        temperature=1.0,
        pooling="max",
        end_token=False,
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
    """The recipe `reconstruct` without a curriculum, for few epochs of states."""
    steps = max(rows // config.batch_size, 1)
    ema = config.ema or min(max(1 - 1 / (2 * steps), 0.9), 0.998)
    cell, states, fine = reconstruct(config)
    epochs, patience = config.epochs or EPOCHS, config.patience or PATIENCE
    return [
        replace(cell, name="memory", epochs=epochs, patience=patience, curriculum=None),
        replace(states, epochs=config.epochs or STATES_EPOCHS, ema=ema),
        replace(fine, epochs=config.epochs or FINE_EPOCHS, ema=ema),
    ]

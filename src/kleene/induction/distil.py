"""Give a network as many states as an automaton has, and teach it to be that automaton."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.extraction.table import read_table
from kleene.induction.suggestions import with_centroids
from kleene.induction.table_teaching import RATE, teach_table
from kleene.model import Model
from kleene.training.history import Epoch, History
from kleene.training.loop import Hook
from kleene.training.progress import Quiet, Reporter
from kleene.training.stages import Stage

STAGE = Stage(name="machine", epochs=1, learning_rate=RATE)
"""Teaching as the history and the progress bar show it."""
SPREAD = 0.5
"""Centroids begin at random vectors with entries up to this size."""


def consolidate(
    model: Model,
    dfa: DFA,
    examples: Examples,
    *,
    seed: int = 0,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> tuple[Model, bool]:
    """A network taught to be `dfa`, and whether it is.

    It is if its own table is the automaton, and if it also runs as the automaton on `examples`
    with its probabilities as they are, not rounded to one state.
    """
    dfa, started = dfa.minimize(), time.monotonic()
    random = np.random.default_rng(seed)
    start = random.uniform(-SPREAD, SPREAD, (dfa.num_states, model.network.rnn.hidden_size))
    taught = replace(model, network=with_centroids(model.network, start.astype(np.float32)))
    shown = labelled_by(dfa, examples, model)
    with reporter or Quiet() as active:
        active.begin(STAGE)
        teach_table(
            taught.network,
            dfa,
            model.classes,
            seed=seed,
            progress=lambda done: active.step(STAGE, 0, done),
        )
        measured = evaluate(taught.network, shown)
        same = bool(read_table(taught).dfa == dfa)
        epoch = Epoch(
            stage=STAGE.name,
            epoch=0,
            loss=measured.loss,
            accuracy=measured.accuracy,
            words=len(shown),
            rate=RATE,
            seconds=time.monotonic() - started,
            states=dfa.num_states,
            temperature=taught.network.rnn.temperature,
        )
        notes = {} if hook is None else dict(hook(taught.network, epoch) or {})
        epoch = replace(epoch, notes={**notes, "same": float(same)})
        active.end(epoch)
    taught = replace(taught, history=History([*model.history.epochs, epoch]))
    return taught, same and measured.accuracy == 1


def labelled_by(dfa: DFA, examples: Examples, model: Model) -> Examples:
    """The distinct words whose symbols the automaton knows, labelled by the automaton."""
    distinct = {word.tobytes(): word for word in examples.words}
    words = [word for word in distinct.values() if (word >= FIRST_SYMBOL).all()]
    numbers = {label: i for i, label in enumerate(model.classes)}
    ends = [_end(dfa, Alphabet.columns(word).tolist()) for word in words]
    labels = np.array([numbers[dfa.outputs[state]] for state in ends], dtype=np.int64)
    return Examples(words=words, labels=labels)


def _end(dfa: DFA, columns: list[int]) -> int:
    state = dfa.initial
    for column in columns:
        state = dfa.rows[state][column]
    return state

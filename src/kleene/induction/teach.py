"""Search the rows of a `fit` for an automaton, and teach a memory-less network to be one.

Teaching needs no words. From the centroid of each state, one step of the cell with each symbol must
come nearest to the centroid of the next state, and the classes after the end token must be the
automaton's, each by a margin. All transitions are one batch (or a few, if they are many), so that
rare transitions count like common ones and nothing has to be carried through time: tables of a
hundred states are learned in about a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from kleene.arrays import Ints
from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, START, Alphabet
from kleene.data.batch import Encoded
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.induction.evidence import Evidence
from kleene.induction.learner import compile_kernels, search_automaton
from kleene.induction.result import Induction
from kleene.machine import Label
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.similarity import scores
from kleene.passes.table import transition_table
from kleene.training.history import Epoch, History
from kleene.training.optimizers import Adam
from kleene.training.run import Run
from kleene.training.stages import Stage

STATE_MARGIN, CLASS_MARGIN = 12.0, 6.0
"""Margins: of scores over the temperature, and of classes."""
LEARNING_RATE = 5e-3
STEPS = 2_000
MAX_TRANSITIONS = 2_000
"""Transitions of one step of the optimiser."""
STAGE = Stage(name="machine", epochs=1, learning_rate=LEARNING_RATE)
"""Teaching as the history and the progress bar show it."""
SPREAD = 0.5
"""Centroids begin at random vectors with entries up to this size."""


def can_be_taught(config: NetworkConfig) -> bool:
    """Whether such a network can be taught an automaton: one layer, no memory, the last step."""
    one_layer = config.pooling == "last" and config.num_layers == 1 and config.num_symbols > 0
    return one_layer and config.num_states > 0 and not config.cell_object.has_memory


def search_rows(
    model: Model,
    rows: Examples,
    validation: Examples | None,
    *,
    seconds: float,
    seed: int,
) -> Induction:
    """Search rows for a small automaton; `validation` rows, which are among them, choose one."""
    check = evidence_of(model, validation or Examples(words=[], labels=rows.labels[:0]))
    training = evidence_of(model, rows).without(check)
    compile_kernels()
    return search_automaton(training, check, seconds=seconds, seed=seed)


def evidence_of(model: Model, examples: Examples) -> Evidence:
    """Encoded rows as evidence; rows with unknown symbols are left out."""
    words = [Alphabet.columns(word) for word in examples.words]
    return Evidence.from_columns(
        words, examples.labels, alphabet=model.alphabet.symbols, classes=model.classes
    )


def teach(model: Model, dfa: DFA, examples: Examples, run: Run) -> tuple[Model, bool]:
    """A network taught to be `dfa`, and whether it is.

    It is if its own table is the automaton, and if it also runs as the automaton on `examples`
    with its probabilities as they are, not rounded to one state.
    """
    dfa, started = dfa.minimize(), time.monotonic()
    random = np.random.default_rng(run.seed)
    start = random.uniform(-SPREAD, SPREAD, (dfa.num_states, model.network.rnn.hidden_size))
    network = with_centroids(model.network, start.astype(np.float32))
    taught = replace(model, network=network)
    distinct = list({word.tobytes(): word for word in examples.words}.values())
    answers = automaton_answers(dfa, model, distinct)
    known = np.flatnonzero(answers >= 0)
    shown = Examples(words=[distinct[i] for i in known.tolist()], labels=answers[known])
    with run.bar as active:
        active.begin(STAGE)
        teach_table(
            network,
            dfa,
            model.classes,
            seed=run.seed,
            progress=lambda done: active.step(STAGE, 0, done),
        )
        measured = evaluate(network, shown)
        same = bool(transition_table(taught).dfa == dfa)
        epoch = Epoch(
            stage=STAGE.name,
            epoch=0,
            loss=measured.loss,
            accuracy=measured.accuracy,
            words=len(shown),
            rate=LEARNING_RATE,
            seconds=time.monotonic() - started,
            states=dfa.num_states,
            temperature=network.rnn.temperature,
        )
        notes = {} if run.hook is None else dict(run.hook(network, epoch) or {})
        epoch = replace(epoch, notes={**notes, "same": float(same)})
        active.end(epoch)
    taught = replace(taught, history=History([*model.history.epochs, epoch]))
    return taught, same and measured.accuracy == 1


def automaton_answers(dfa: DFA, model: Model, words: Sequence[Encoded]) -> Ints:
    """The class that an automaton gives each encoded word; -1 for words with unknown symbols."""
    found = np.full(len(words), -1, dtype=np.int64)
    for row, word in enumerate(words):
        if len(word) and word.min() < FIRST_SYMBOL:
            continue
        state = dfa.initial
        for column in Alphabet.columns(word).tolist():
            state = dfa.rows[state][column]
        found[row] = model.class_ids[dfa.outputs[state]]
    return found


def teach_table(
    network: Classifier,
    dfa: DFA,
    classes: Sequence[Label],
    *,
    seed: int = 0,
    steps: int = STEPS,
    progress: Callable[[float], None] = lambda done: None,
) -> bool:
    """Train a network whose centroids are the states of `dfa`; whether all margins are met."""
    goals = torch.from_numpy(dfa.transitions.astype(np.int64)).flatten().to(network.device)
    initial = goals.new_tensor([dfa.initial])
    outputs = goals.new_tensor([classes.index(label) for label in dfa.outputs])
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = Adam(weights, lr=LEARNING_RATE)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=steps)
    generator = torch.Generator().manual_seed(seed)
    met, parts = 0, -(-len(goals) // MAX_TRANSITIONS)
    network.eval()  # no dropout
    with torch.enable_grad():
        for step in range(steps):
            if step % parts == 0:
                order = torch.randperm(len(goals), generator=generator)
            pairs = order[step % parts :: parts]
            optimizer.zero_grad()
            found = network.classify([network.rnn.centroids(0)], [None])
            missing = missing_margin(found, outputs, CLASS_MARGIN)
            reached = torch.cat([initial, goals[pairs]])
            missing = missing + missing_margin(_next_states(network, pairs), reached, STATE_MARGIN)
            met = 0 if missing.item() > 0 else met + 1
            if met == parts:
                break
            if not met:
                missing.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(weights, 1.0)
                optimizer.step()
            falling.step()
            progress(step / steps)
    return met == parts


def _next_states(network: Classifier, pairs: Tensor) -> Tensor:
    """Scores over the temperature after the start token and after some transitions."""
    rnn, recurrence = network.rnn, network.rnn.recurrence(0)
    width = network.config.num_symbols - FIRST_SYMBOL
    state, symbol = pairs // width, pairs % width
    S, zero = rnn.centroids(0), rnn.zeros(1)
    x, h = rnn.project(network.embedding.weight), recurrence.gates(S)
    first, _ = rnn.cell.step(x[START][None], recurrence.gates(zero), zero, None, None)
    u, _ = rnn.cell.step(x[FIRST_SYMBOL + symbol], h[state], S[state], None, None)
    return scores(rnn.similarity, S, torch.cat([first, u])) / rnn.temperature


def missing_margin(found: Tensor, goals: Tensor, margin: float) -> Tensor:
    """The share of a margin by which another comes too near: mean, and a tenth of the worst."""
    goal = found.gather(-1, goals[:, None])
    if found.shape[-1] == 1:
        return goal.sum() * 0
    others = found.scatter(-1, goals[:, None], -torch.inf).amax(-1, keepdim=True)
    missing = torch.relu(1 - (goal - others) / margin)
    return missing.mean() + missing.amax() / 10


def with_centroids(network: Classifier, centroids: NDArray[np.float32]) -> Classifier:
    """A copy of a one-layer network that has the given centroids, the component on."""
    copy = Classifier(replace(network.config, num_states=len(centroids)))
    weights = network.state_dict()
    weights = {name: w for name, w in weights.items() if not name.startswith("rnn.centroids")}
    copy.load_state_dict(weights, strict=False)
    with torch.no_grad():
        copy.rnn.centroids(0).copy_(torch.from_numpy(centroids))
    copy.rnn.temperature = network.rnn.temperature
    return copy.to(network.device).eval()

"""Give a network as many states as its machine has, and teach it to be that machine.

The centroids are put at the mean hidden vectors of the machine's states, with the words run through
network and machine side by side; then the network is taught the machine's states, on the words and
on words that visit every transition. It has learned it if its own table is the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kleene.automata import DFA
from kleene.data.alphabet import FIRST_SYMBOL, Alphabet
from kleene.data.examples import Examples
from kleene.extraction.table import read_table
from kleene.induction.suggestions import with_centroids
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.inference import inference
from kleene.training.history import Epoch, History
from kleene.training.loop import Hook, fit
from kleene.training.progress import Reporter
from kleene.training.stages import Stage
from kleene.training.teacher import Teacher

MOST_PAIRS = 4_000
LONGEST = 20
LEAST_EPOCHS, LEAST_WORDS = 30, 60_000
"""Teaching may take so many epochs, and where there are few words, until so many were shown."""


def consolidate(
    model: Model,
    dfa: DFA,
    examples: Examples,
    *,
    seed: int = 0,
    epochs: int | None = None,
    learning_rate: float = 2e-3,
    reporter: Reporter | None = None,
    hook: Hook | None = None,
) -> tuple[Model, bool]:
    """A network taught to be `dfa`, and whether its own table now is that machine."""
    dfa = dfa.minimize()
    means = state_means(model.network, examples, dfa, seed)
    taught = replace(model, network=with_centroids(model.network, means))
    shown = teaching_words(dfa, examples, model.classes, seed)

    def same(network: Classifier, epoch: Epoch) -> dict[str, float]:
        notes = {} if hook is None else dict(hook(network, epoch) or {})
        same = read_table(replace(taught, network=network)).dfa == dfa
        return {**notes, "same": float(same)}

    def learned(epochs: Sequence[Epoch]) -> bool:
        return len(epochs) >= 3 and all(e.notes["same"] and e.accuracy == 1 for e in epochs[-3:])

    stage = Stage(
        name="machine",
        epochs=epochs or max(LEAST_EPOCHS, LEAST_WORDS // len(shown)),
        learning_rate=learning_rate,
        batch_size=64,
        teacher=Teacher(dfa),
        until=learned,
    )
    history = fit(taught.network, shown, stages=[stage], seed=seed, hook=same, reporter=reporter)
    taught = replace(taught, history=History([*model.history.epochs, *history.epochs]))
    return taught, bool(read_table(taught).dfa == dfa)


def state_means(
    network: Classifier, examples: Examples, dfa: DFA, seed: int
) -> NDArray[np.float32]:
    """The mean hidden vector of each state of the machine; random where it was never visited."""
    teacher = Teacher(dfa)
    sums = np.zeros((dfa.num_states, network.rnn.hidden_size))
    counts = np.zeros(dfa.num_states)
    with inference(network):
        for index, batch in enumerate(examples.batches(256, seed=seed)):
            hidden = network.observe(batch)[1][-1].hidden.cpu().numpy()
            states = teacher.targets(batch)
            known = states >= 0
            np.add.at(sums, states[known], hidden[known])
            np.add.at(counts, states[known], 1)
            if index >= 40:
                break
    random = np.random.default_rng(seed).uniform(-0.5, 0.5, sums.shape)
    means = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], random)
    gaps = np.linalg.norm(means[:, None] - means[None], axis=-1) + 10 * np.eye(len(means))
    return np.where(gaps.min(1)[:, None] < 1e-2, means + random, means).astype(np.float32)


def teaching_words(dfa: DFA, examples: Examples, classes: Sequence[object], seed: int) -> Examples:
    """Words that show a machine's every transition, labelled by the machine.

    They are the distinct training words known to it, random ones, and some through each transition.
    """
    random = np.random.default_rng(seed)
    width = len(dfa.alphabet)
    distinct = {word.tobytes(): word for word in examples.words}
    words = [word for word in distinct.values() if (word >= FIRST_SYMBOL).all()]
    walks = [
        Alphabet.ids(random.integers(0, width, random.integers(0, LONGEST + 1)))
        for _ in range(min(1000, max(100, len(words) // 2)))
    ]
    access = access_words(dfa)
    pairs = [(state, column) for state in range(dfa.num_states) for column in range(width)]
    chosen = random.permutation(len(pairs))[:MOST_PAIRS]
    through = [
        Alphabet.ids(
            np.concatenate([access[pairs[i][0]], [pairs[i][1]], random.integers(0, width, 3)])
        ).astype(np.int64)
        for i in chosen
        for _ in range(max(1, 300 // len(pairs)))
    ]
    every = [*words, *walks, *through]
    numbers = {label: i for i, label in enumerate(classes)}
    states = [_end(dfa, Alphabet.columns(word)) for word in every]
    labels = np.array([numbers[dfa.outputs[s]] for s in states], dtype=np.int64)
    return Examples(words=every, labels=labels)


def access_words(dfa: DFA) -> list[NDArray[np.int64]]:
    """A shortest word, as columns, that leads to each state of a machine with no useless states."""
    words: dict[int, list[int]] = {dfa.initial: []}
    queue = [dfa.initial]
    for state in queue:
        for column, target in enumerate(dfa.transitions[state].tolist()):
            if target not in words:
                words[target] = [*words[state], column]
                queue.append(target)
    return [np.array(words[state], dtype=np.int64) for state in range(dfa.num_states)]


def _end(dfa: DFA, columns: NDArray[Any]) -> int:
    state = dfa.initial
    for column in columns.tolist():
        state = dfa.rows[state][column]
    return state

"""A network taught to count exactly is proved to be its machine; before, it is not."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from counting_network import counting_model
from paper.counter_reading import balanced

from kleene.automata.counter.machine import CounterMachine
from kleene.data.alphabet import Alphabet
from kleene.errors import ExtractionError
from kleene.estimator import SequenceClassifier
from kleene.induction.teach_counter import _table, teach_counter
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.passes.memory import CountingUnit
from kleene.proof.counter import counter_bound

MACHINE = balanced(True, letters="a").minimize()
UNIT = CountingUnit(unit=3, step=-0.5, noise=0.0)


def random_network(cell: str) -> Model:
    torch.manual_seed(0)
    alphabet = Alphabet("a()")
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        cell=cell,
        input_size=8,
        hidden_size=8,
        num_states=3,
    )
    network = Classifier(config).eval()
    return Model(network=network, alphabet=alphabet, classes=(False, True), longest=20)


@pytest.mark.slow
@pytest.mark.parametrize("cell", ["lstm-p", "lstm"])
def test_taught_means_provable(cell):
    model = random_network(cell)
    before = {name: weight.clone() for name, weight in model.network.state_dict().items()}
    assert not counter_bound(model, MACHINE, UNIT, depth=2, length=30).reached
    taught, unit = teach_counter(model, MACHINE, UNIT, depth=2, steps=1_000)
    found = counter_bound(taught, MACHINE, unit, depth=2, length=30)
    assert found.reached
    assert (unit.unit, unit.step) == (3, -1.0)
    assert taught.network.rnn.num_states == MACHINE.num_states
    words = ["", "a", "()", "(a)", "(", ")", ")(", "a()()", "(()a)", "())("]
    predicted = SequenceClassifier.from_model(taught).predict(words)
    assert predicted.tolist() == [bool(MACHINE.accepts(word)) for word in words]
    after = model.network.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_configurations_are_those_that_words_reach():
    table = _table(random_network("lstm-p"), MACHINE, 2)
    wrong = int(MACHINE.transitions[MACHINE.initial, MACHINE.clip, MACHINE.alphabet.index(")")])
    found = set(zip(table.state.tolist(), table.count.tolist(), strict=True))
    right = 1 - wrong
    assert found == {(right, n) for n in range(3)} | {(wrong, n) for n in range(-2, 3)}


def test_machines_that_do_not_fit_are_refused():
    model = random_network("lstm-p")
    never = CounterMachine.from_rule(
        lambda state, view, symbol: (0, 0), start=0, alphabet="a()", accept=[(0, 0)]
    )
    with pytest.raises(ExtractionError, match="never counts"):
        teach_counter(model, never, UNIT, depth=2)
    with pytest.raises(ExtractionError, match="never counts"):
        counter_bound(model, never, depth=2, length=3)
    named = CounterMachine.from_rule(
        lambda state, view, symbol: (min(state + 1, 4), 1), start=0, alphabet="a()", accept=[]
    )
    assert named.num_states > np.shape(model.network.rnn.centroids(0))[0]
    with pytest.raises(ExtractionError, match="5 states, the network 3 centroids"):
        teach_counter(model, named, UNIT, depth=2)
    with pytest.raises(ExtractionError, match="cell gru"):
        teach_counter(random_network("gru"), MACHINE, UNIT)


def test_labels_must_be_the_models():
    model = counting_model("a")
    strange = CounterMachine(
        alphabet=MACHINE.alphabet,
        transitions=MACHINE.transitions,
        increments=MACHINE.increments,
        outputs=tuple(tuple("yes" if o else "no" for o in row) for row in MACHINE.outputs),
    )
    with pytest.raises(ExtractionError, match="labels that the network has not"):
        counter_bound(model, strange, depth=2, length=3)

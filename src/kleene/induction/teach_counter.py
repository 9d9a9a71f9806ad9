"""Teach a network that counts to count exactly, so that `counter_bound` can prove it.

A network that counts is right on the words it has seen with gates that are nearly open and states
that are nearly pure; over a thousand symbols the rest adds up. Here one unit of the memory keeps
and shows all it has and the others keep nothing, by constant gates. Then the configurations of the
network's own machine up to a depth are a finite table, (state, counter, symbol), and one step of
the cell over all of it is a loss: the counting unit must write what the machine adds, the next
centroid and the class after the end token must be the machine's, each with a margin that holds as
long as the unit has not drifted by more than a quarter of a step. No words are needed.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from kleene.arrays import Ints
from kleene.automata.counter.machine import CounterMachine
from kleene.automata.symbols import check_same_alphabet
from kleene.data.alphabet import FIRST_SYMBOL, START
from kleene.errors import ExtractionError
from kleene.induction.teach import missing_margin, with_centroids
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.similarity import scores
from kleene.passes.memory import CountingUnit, require_memory
from kleene.training.optimizers import Adam

OPEN = 30.0  # pre-activation of a forget gate that keeps everything; its negative, nothing
WRITES, CLOSED, SATURATED = 8.0, 12.0, 5.0  # of the input gate when it writes or not; of g
STATES, CLASSES = 20.0, 5.0  # gaps of scores over the temperature, and of classes
DRIFT = 0.25  # how far the counting unit may be off, in steps, with all margins kept
TEMPERATURE = 0.02
STEPS, RATE = 3_000, 5e-3


def teach_counter(
    model: Model,
    machine: CounterMachine,
    unit: CountingUnit,
    *,
    depth: int = 20,
    steps: int = STEPS,
) -> tuple[Model, CountingUnit]:
    """A copy of the model that counts in whole steps as the machine does, and its counting unit.

    It has a centroid for each state of the machine and runs at a low temperature. Teaching ends as
    soon as all margins are met.
    """
    require_memory(model)
    check_same_alphabet(model.alphabet.symbols, machine.alphabet)
    sign = 1.0 if unit.step > 0 else -1.0
    table = _table(model, machine, depth + 1)
    centroids = model.network.rnn.centroids(0).detach().cpu().numpy()
    if machine.num_states > len(centroids):
        raise ExtractionError(
            f"the machine has {machine.num_states} states, the network {len(centroids)} centroids; "
            "minimize the machine, or train with more states"
        )
    network = with_centroids(deepcopy(model.network).cpu(), centroids[: machine.num_states])
    network.rnn.temperature = TEMPERATURE
    _keep_one_counter(network, unit.unit)
    if (peephole := network.rnn.recurrence(0).peephole) is not None:  # what is 0 stays 0
        hook = (peephole.detach() != 0).float().mul
        peephole.register_hook(hook)  # type: ignore[no-untyped-call]
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    optimizer = Adam(weights, lr=RATE)
    falling = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, total_iters=steps)
    network.train()
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            missing = _gates(network, table, unit.unit, sign)
            missing = missing + _states_and_classes(network, table, unit.unit, sign)
            if not missing > 0:
                break
            missing.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            falling.step()
    taught = Classifier(network.config)  # without the hook
    taught.load_state_dict(network.state_dict())
    return replace(model, network=taught.eval()), CountingUnit(unit=unit.unit, step=sign, noise=0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Table:
    """A machine's configurations within a depth, and what follows each symbol."""

    initial: int
    added: Tensor  # (state, symbol) what the unit adds
    state: Tensor  # (configuration,)
    count: Tensor  # (configuration,) of the unit
    moves: Tensor  # (configuration, symbol) the next state
    classes: Tensor  # (configuration,)


def _table(model: Model, machine: CounterMachine, depth: int) -> _Table:
    """Where the machine stops counting, the unit counts on as it does elsewhere."""
    columns = [machine.alphabet.index(symbol) for symbol in model.alphabet.symbols]
    moves = np.asarray(machine.transitions)[:, :, columns]
    adds = np.asarray(machine.increments)[:, :, columns]
    far = adds[:, -1]
    counts = np.abs(far).sum(1) > 0
    if not counts.any():
        raise ExtractionError("this machine never counts; read a finite automaton instead")
    added = np.where(counts[:, None], far, far[counts.argmax()])
    start = int(machine.initial), 0, 0
    found, seen = [start], {start}
    for state, counter, count in found:
        view = _view(machine, counter)
        for symbol in range(len(columns)):
            after = (
                int(moves[state, view, symbol]),
                counter + int(adds[state, view, symbol]),
                count + int(added[state, symbol]),
            )
            if after not in seen and max(abs(after[1]), abs(after[2])) <= depth:
                seen.add(after)
                found.append(after)
    places: Ints = np.array([(state, _view(machine, counter)) for state, counter, _ in found])
    labels = np.array([[model.classes.index(label) for label in row] for row in machine.outputs])
    return _Table(
        initial=start[0],
        added=torch.tensor(added),
        state=torch.tensor(places[:, 0]),
        count=torch.tensor([count for _, _, count in found]),
        moves=torch.tensor(moves[places[:, 0], places[:, 1]]),
        classes=torch.tensor(labels[places[:, 0], places[:, 1]]),
    )


def _view(machine: CounterMachine, counter: int) -> int:
    return int(np.clip(counter, -machine.clip, machine.clip)) + machine.clip


def _keep_one_counter(network: Classifier, unit: int) -> None:
    """Let one unit keep its memory and always show it, and the others keep none.

    Of the peepholes, those of the other units' output gates stay.
    """
    rnn, size = network.rnn, network.rnn.hidden_size
    shows = 3 * size + unit
    with torch.no_grad():
        for rows in (slice(size, 2 * size), shows):
            for name in ("weight_ih_l0", "weight_hh_l0", "bias_hh_l0"):
                rnn.get_parameter(name)[rows] = 0.0
        bias = rnn.get_parameter("bias_ih_l0")
        bias[size : 2 * size] = -OPEN
        bias[[size + unit, shows]] = OPEN
        if (peephole := rnn.recurrence(0).peephole) is not None:
            peephole[:2], peephole[:, unit] = 0.0, 0.0


def _gates(network: Classifier, table: _Table, unit: int, sign: float) -> Tensor:
    """What is missing to the saturation of what the counting unit writes."""
    rnn = network.rnn
    rows = torch.tensor([unit, 2 * rnn.hidden_size + unit])
    x = rnn.project(network.embedding.weight)[:, rows]
    h, zero = rnn.recurrence(0).gates(rnn.centroids(0)), rnn.recurrence(0).gates(rnn.zeros(1))
    h, zero = h[:, rows], zero[:, rows]
    i, g = (x[None, FIRST_SYMBOL:] + h[:, None]).unbind(-1)  # state symbol
    closed = torch.relu(1 + i / CLOSED)
    written = torch.relu(1 - i / WRITES) + torch.relu(1 - sign * table.added * g / SATURATED)
    start = torch.relu(1 + (x[START, 0] + zero[0, 0]) / CLOSED)
    return torch.where(table.added == 0, closed, written).mean() + start


def _states_and_classes(network: Classifier, table: _Table, unit: int, sign: float) -> Tensor:
    """What is missing to the gaps between states and between classes, from every configuration."""
    rnn, recurrence = network.rnn, network.rnn.recurrence(0)
    S, peephole = rnn.centroids(0), recurrence.peephole
    state = table.state.repeat(2)
    memory = torch.zeros(len(state), rnn.hidden_size)
    memory[:, unit] = sign * torch.cat([table.count - DRIFT, table.count + DRIFT])
    x = rnn.project(network.embedding.weight)  # token gates*hidden
    h, zero = recurrence.gates(S), rnn.zeros(1)  # state gates*hidden
    first, _ = rnn.cell.step(x[None, START], recurrence.gates(zero), None, zero, peephole)
    u, _ = rnn.cell.step(
        x[None, FIRST_SYMBOL:], h[state][:, None], None, memory[:, None], peephole
    )  # configuration symbol hidden
    found = scores(rnn.similarity, S, torch.cat([first, u.flatten(0, 1)])) / rnn.temperature
    goals = torch.cat([torch.tensor([table.initial]), table.moves.repeat(2, 1).flatten()])
    classes = network.classify([S[state]], [memory])
    return missing_margin(found, goals, STATES) + missing_margin(
        classes, table.classes.repeat(2), CLASSES
    )

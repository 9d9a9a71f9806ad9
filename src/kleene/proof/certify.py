"""Prove that a network is an automaton: for all words, of every length.

The probabilities of a memory-less network are followed as boxes, one or more per state of the
automaton (`prove`). Boxes that no step leaves are an invariant: the network follows the automaton
on every sequence. If from every box the class is the label of the box's state, both are the same
function. Every result is checked by the verifier, which is other code, before it is returned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np

from kleene.automata import DFA
from kleene.automata.symbols import check_same_alphabet, show_word
from kleene.automata.table import explore
from kleene.model import Model
from kleene.passes.table import NetworkTable, require_memoryless, transition_table
from kleene.proof.bounds import Bounds, as_saved
from kleene.proof.certificate import Certificate, CounterCertificate, Refusal
from kleene.proof.functions import unmeasured
from kleene.proof.invariant import Break, Locations, Proof, largest_closing, prove
from kleene.proof.verify import CLAIM, verify
from kleene.proof.verify_core import NotProvedError


def certify(model: Model, dfa: DFA | None = None) -> Certificate | Refusal:
    """Prove that the network gives every sequence the label that the automaton gives it.

    Without `dfa`, the automaton is the one in the network's own table. The proof is about the
    temperature that the network runs with.
    """
    require_memoryless(model)
    saved = as_saved(model)
    temperatures = saved.temperatures
    tau = sum(temperatures) / len(temperatures)
    try:
        bounds = Bounds(saved.network)
    except NotProvedError as error:
        return Refusal(reason=f"no proof: {error}", temperature=tau)
    table = transition_table(model)
    goal = table.dfa.minimize() if dfa is None else dfa
    check_same_alphabet(model.alphabet.symbols, goal.alphabet)
    word = table.dfa.difference(goal)
    candidates = _candidates(model, bounds, table, goal, word is None)
    outcomes = []
    for locations in candidates:
        outcome = prove(bounds, locations, temperatures)
        if isinstance(outcome, Proof):
            certificate = Certificate(
                claim=CLAIM,
                temperatures=tuple(temperatures),
                centroids=tuple(map(tuple, locations.centroids.tolist())),
                dfa_states=tuple(locations.dfa_states.tolist()),
                transitions=locations.transitions,
                lo=np.maximum(outcome.lo, 0),
                hi=np.minimum(outcome.hi, 1),
                model_sha256=saved.digest,
                dfa=goal,
            )
            return verified(model, certificate)
        outcomes.append(outcome)
    if word is not None:
        reason = (
            f"the network in hard mode labels {show_word(word)} {table.dfa.run(word)!r}, the "
            f"automaton labels it {goal.run(word)!r}; certify without an automaton to prove the "
            "network's own"
        )
        return Refusal(reason=reason, temperature=tau, word=word)
    largest = largest_closing(bounds, candidates, tau)
    return _refuse_break(model, candidates[0], outcomes[0], tau, largest)


Proved = TypeVar("Proved", Certificate, CounterCertificate)


def verified(model: Model, certificate: Proved) -> Proved | Refusal:
    """The certificate, after the verifier has checked it against the files of the model."""
    document = certificate.to_dict()
    checked = verify(model.to_files(), document.get("dfa") or document["machine"], document)
    if checked.holds:
        note = unmeasured()
        assumes = checked.assumes if note is None else f"{checked.assumes}; {note}"
        return replace(certificate, verification=replace(checked, assumes=assumes))
    reason = f"the prover found a proof that the verifier refuses: {checked}"
    return Refusal(reason=reason, temperature=checked.temperature or 0.0)


# -- where the boxes are -----------------------------------------------------------------------


def _candidates(
    model: Model, bounds: Bounds, table: NetworkTable, goal: DFA, equal: bool
) -> list[Locations]:
    """Boxes around the table's centroids; and one box for each state of the automaton.

    The second are fewer and larger. They serve networks whose mixtures say more than their table.
    """
    if any(label not in model.classes for label in goal.reachable().outputs):
        return []
    fine = _follow(model, table, goal)
    coarse = _merge(fine)
    if bounds.net.hard or (equal and len(coarse.centroids) == len(fine.centroids)):
        return [fine] if equal else []
    return [fine, coarse] if equal else [coarse]


def _follow(model: Model, table: NetworkTable, goal: DFA) -> Locations:
    """One location for each pair of a table's state and a state that some word leads to."""
    symbols = model.alphabet.symbols
    moves = [
        dfa.transitions[:, [dfa.columns[symbol] for symbol in symbols]].tolist()
        for dfa in (table.dfa, goal)
    ]
    pairs, rows = explore(
        (table.dfa.initial, goal.initial),
        lambda pair: zip(moves[0][pair[0]], moves[1][pair[1]], strict=True),
    )
    return Locations(
        centroids=np.array([table.states[p] for p, _ in pairs]),
        dfa_states=np.array([q for _, q in pairs]),
        transitions=np.array(rows, np.int32).reshape(len(pairs), len(symbols)),
        classes=np.array([model.classes.index(goal.outputs[q]) for _, q in pairs]),
    )


def _merge(locations: Locations) -> Locations:
    """One location for each state, around the centroid of the first pair that was met."""
    _, first, number = np.unique(locations.dfa_states, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    kept = np.sort(first)
    return Locations(
        centroids=locations.centroids[kept],
        dfa_states=locations.dfa_states[kept],
        transitions=rank[number][locations.transitions[kept]].astype(np.int32),
        classes=locations.classes[kept],
    )


def _refuse_break(
    model: Model, locations: Locations, broken: Break, tau: float, largest: float | None
) -> Refusal:
    """The automaton is the right one, but at this temperature the bounds do not close."""
    state, symbol = int(locations.centroids[broken.location, 0]), None
    if broken.column is None:
        what = f"the class of words that end in state {state} is not certain"
    else:
        symbol = model.alphabet.symbols[broken.column]
        target = locations.centroids[locations.transitions[broken.location, broken.column], 0]
        what = f"state {state} on {symbol!r} may not go to state {target}"
    if largest is not None:
        cure = f"it closes up to temperature {largest:.3g}"
    else:
        cure = "it closes at no lower temperature; consolidate the network, or train longer"
    return Refusal(
        reason=f"no proof at temperature {tau:.3g}: {what}; {cure}",
        temperature=tau,
        largest_temperature=largest,
        state=state,
        symbol=symbol,
    )

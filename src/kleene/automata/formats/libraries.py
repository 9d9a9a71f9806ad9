"""Conversion to the automata of AALpy and automata-lib, and from those of AALpy."""

from __future__ import annotations

from typing import Any

from kleene.automata.symbols import show, spelled_by_characters
from kleene.automata.table import Table, TransitionTable
from kleene.errors import AutomatonError, extra


def to_aalpy(dfa: TransitionTable) -> Any:
    """An AALpy `Dfa`, or a `MooreMachine` when the outputs are not truth values.

    State ids are the names, or the numbers, of the states.
    """
    with extra("peers"):
        from aalpy.automata import Dfa, DfaState, MooreMachine, MooreState

    automaton, make = (Dfa, DfaState) if dfa.is_boolean else (MooreMachine, MooreState)
    states: list[Any] = [make(_state_id(dfa, i), label) for i, label in enumerate(dfa.outputs)]
    for state, row in zip(states, dfa.rows, strict=True):
        state.transitions = {s: states[i] for s, i in zip(dfa.alphabet, row, strict=True)}
    return automaton(states[dfa.initial], states)


def from_aalpy(cls: type[Table], automaton: Any) -> Table:
    """See `DFA.from_aalpy`. A partial automaton is completed with a rejecting sink."""
    with extra("peers"):
        from aalpy.automata import Dfa, MooreMachine

    if not isinstance(automaton, Dfa | MooreMachine):
        kind = type(automaton).__name__
        message = f"expected an AALpy Dfa or MooreMachine, got {kind}; convert it first"
        raise AutomatonError(message)
    attribute = "is_accepting" if isinstance(automaton, Dfa) else "output"
    try:
        names = {id(state): state.state_id for state in automaton.states}
        return cls.from_table(
            {
                state.state_id: {symbol: names[id(t)] for symbol, t in state.transitions.items()}
                for state in automaton.states
            },
            start=automaton.initial_state.state_id,
            outputs={state.state_id: getattr(state, attribute) for state in automaton.states},
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"[:120]
        message = f"this AALpy automaton is incomplete ({reason}); check its states"
        raise AutomatonError(message) from error


def to_automata_lib(dfa: TransitionTable) -> Any:
    """An automata-lib `DFA` of the same states; for one-character symbols and truth values."""
    with extra("peers"):
        from automata.fa import dfa as library

    dfa.require_boolean("to_automata_lib()", "recognizer(label) makes a language of a label")
    if not spelled_by_characters(dfa.alphabet):
        raise AutomatonError(
            f"automata-lib reads one-character symbols only, but these are {show(dfa.alphabet)}; "
            "use to_aalpy()"
        )
    symbols = [str(symbol) for symbol in dfa.alphabet]
    return library.DFA(
        states=set(range(dfa.num_states)),
        input_symbols=set(symbols),
        transitions={
            state: dict(zip(symbols, row, strict=True)) for state, row in enumerate(dfa.rows)
        },
        initial_state=dfa.initial,
        final_states={state for state, label in enumerate(dfa.outputs) if label},
    )


def _state_id(dfa: TransitionTable, state: int) -> str:
    """A name that AALpy can print; numbers when the names are not all different."""
    if dfa.names is None or len(set(dfa.names)) < dfa.num_states:
        return f"s{state}"
    return dfa.names[state]

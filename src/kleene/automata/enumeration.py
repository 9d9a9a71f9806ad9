"""The words of a language: how many of a length, in order, the shortest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from kleene.automata.symbols import spell
from kleene.automata.table import TransitionTable
from kleene.errors import SettingError
from kleene.machine import Word


def count_words(dfa: TransitionTable, length: int) -> int:
    """See `DFA.count_words`: one sum over states a symbol, with integers of any size."""
    dfa.require_boolean("count_words()", "recognizer(label) first makes a language of a label")
    if length < 0:
        raise SettingError(f"length must be >= 0, got {length}")
    counts = [int(bool(output)) for output in dfa.outputs]
    for _ in range(length):
        counts = [sum(counts[target] for target in row) for row in dfa.rows]
    return counts[dfa.initial]


def words(dfa: TransitionTable, max_length: int | None = None) -> Iterator[Word]:
    """See `DFA.words`; only states from which a word of the length is accepted are entered."""
    dfa.require_boolean("words()", "recognizer(label) first makes a language of a label")
    if not _is_infinite(dfa):
        most = dfa.num_states - 1  # a longer word has a loop, and loops can be repeated
        max_length = most if max_length is None else min(most, max_length)
    alive = [{state for state, output in enumerate(dfa.outputs) if output}]
    for length in count() if max_length is None else range(max_length + 1):
        if dfa.initial in alive[length]:
            yield from _of_length(dfa, alive, length)
        alive.append({s for s, row in enumerate(dfa.rows) if not alive[length].isdisjoint(row)})


def shortest_accepted(dfa: TransitionTable) -> Word | None:
    """See `DFA.shortest_accepted`."""
    return next(words(dfa), None)


def is_empty(dfa: TransitionTable) -> bool:
    """See `DFA.is_empty`."""
    dfa.require_boolean("is_empty", "recognizer(label) first makes a language of a label")
    return _distances(dfa)[dfa.initial] is None


def _of_length(dfa: TransitionTable, alive: list[set[int]], length: int) -> Iterator[Word]:
    path: list[int] = []  # the columns read so far
    states = [dfa.initial]
    column = 0
    while True:
        left = length - len(path)
        if left == 0:
            yield spell([dfa.alphabet[c] for c in path], dfa.alphabet)
            column = len(dfa.alphabet)
        while column < len(dfa.alphabet) and dfa.rows[states[-1]][column] not in alive[left - 1]:
            column += 1
        if column < len(dfa.alphabet):
            path.append(column)
            states.append(dfa.rows[states[-1]][column])
            column = 0
        elif path:
            column = path.pop() + 1
            states.pop()
        else:
            return


def _is_infinite(dfa: TransitionTable) -> bool:
    """Whether a path of as many symbols as there are states can still be accepted."""
    useful = {state for state, distance in enumerate(_distances(dfa)) if distance is not None}
    reached = {dfa.initial} & useful
    for _ in range(dfa.num_states):
        reached = {target for state in reached for target in dfa.rows[state]} & useful
    return bool(reached)


def _distances(dfa: TransitionTable) -> list[int | None]:
    """How many symbols away from acceptance each state is; None where it is never accepted."""
    found: list[int | None] = [0 if output else None for output in dfa.outputs]
    sources: list[list[int]] = [[] for _ in dfa.rows]
    for state, row in enumerate(dfa.rows):
        for target in set(row):
            sources[target].append(state)
    queue = [state for state, distance in enumerate(found) if distance is not None]
    for state in queue:
        for source in sources[state]:
            if found[source] is None:
                found[source] = (found[state] or 0) + 1
                queue.append(source)
    return found

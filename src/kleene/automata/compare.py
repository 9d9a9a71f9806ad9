"""A shortest word on which two machines differ, or the proof that there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from kleene.automata.symbols import check_same_alphabet, spell
from kleene.automata.table import TransitionTable
from kleene.errors import AutomatonError
from kleene.machine import Machine, Symbol, Word

Moves = Callable[[Any], Sequence[Any]]


def difference(
    a: Machine[Any],
    b: Machine[Any],
    *,
    max_pairs: int = 1_000_000,
    check: Callable[[], None] | None = None,
) -> Word | None:
    """A shortest word on which `a` and `b` give different outputs, or None if they are equal.

    Works for any two machines over the same symbols. A machine with infinitely many states
    is searched until `max_pairs` pairs have been visited; then an error is raised. `check` is
    called once for each pair that is followed, and may raise to end the search.

    The search is breadth-first over pairs of states, but a pair is only followed when it does not
    already follow from earlier ones by transitivity (Hopcroft and Karp's union-find), so at most
    |a| + |b| pairs are followed instead of |a| x |b|. The word stays a shortest one: if w
    distinguishes a skipped pair (p, q), it distinguishes one of the pairs on the chain that links p
    with q, and all pairs on the chain were visited at the same depth or before.
    """
    check_same_alphabet(a.alphabet, b.alphabet)
    alphabet = a.alphabet
    moves_a, moves_b = _moves(a, alphabet), _moves(b, alphabet)
    output_a, output_b = cache(a.output), cache(b.output)  # a machine may be a network
    pairs: list[tuple[Any, Any]] = [(a.start(), b.start())]
    came_from = [(-1, -1)]  # (index of the pair before, column of the symbol read)
    if output_a(pairs[0][0]) != output_b(pairs[0][1]):
        return spell((), alphabet)
    number_a: dict[Any, int] = {pairs[0][0]: 0}
    number_b: dict[Any, int] = {pairs[0][1]: 1}
    parent = [0, 0]  # the union-find forest over the states of both machines
    for index, (p, q) in enumerate(pairs):
        if check is not None:
            check()
        for column, (p_next, q_next) in enumerate(zip(moves_a(p), moves_b(q), strict=True)):
            i = number_a.get(p_next)
            if i is None:
                i = number_a[p_next] = len(parent)
                parent.append(i)
            j = number_b.get(q_next)
            if j is None:
                j = number_b[q_next] = len(parent)
                parent.append(j)
            while parent[i] != i:
                parent[i] = i = parent[parent[i]]
            while parent[j] != j:
                parent[j] = j = parent[parent[j]]
            if i == j:
                continue
            parent[j] = i
            pairs.append((p_next, q_next))
            came_from.append((index, column))
            if output_a(p_next) != output_b(q_next):
                return _spell_path(came_from, alphabet)
        if len(pairs) > max_pairs:
            raise AutomatonError(
                f"no difference among the first {max_pairs} pairs of states, and there are more; "
                "raise max_pairs, or compare words up to a length"
            )
    return None


def _moves(machine: Machine[Any], alphabet: Sequence[Symbol]) -> Moves:
    """All successors of a state at once, in the order of the given alphabet."""
    if isinstance(machine, TransitionTable):
        order = [machine.columns[symbol] for symbol in alphabet]
        rows: list[list[int]] = machine.transitions[:, order].tolist()
        return rows.__getitem__
    return lambda state: [machine.step(state, symbol) for symbol in alphabet]


def _spell_path(came_from: list[tuple[int, int]], alphabet: Sequence[Symbol]) -> Word:
    symbols = []
    index, column = came_from[-1]
    while index >= 0:
        symbols.append(alphabet[column])
        index, column = came_from[index]
    return spell(symbols[::-1], alphabet)

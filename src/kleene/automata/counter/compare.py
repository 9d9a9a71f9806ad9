"""A shortest word on which two one-counter machines differ, or the proof that there is none.

Both machines read the same word side by side. Where the output of one is constant, whatever
follows, its counter no longer matters and is forgotten. Elsewhere the pair is (p, q, d, m): two
states, the counter m of the first machine, and by how much the second counter is ahead. As long as
d stays within `APART`, this is a machine with one counter and finitely many controls (p, q, d), and
two finite graphs decide:

1. *The abstraction*: m is known exactly near 0 and as "far" beyond, from where it may come back
   after any number of moves. It holds everything that can happen and more, so when no pair
   in it disagrees, the machines agree on every word.
2. *The search*: breadth-first over exact pairs, so that the first disagreement is a shortest word.
   It may stop at |m| of about N + N^2 for N controls: take a shortest path to a disagreement, and
   at each height that both machines see as far the control when it was last there on the way up
   and first there on the way down; were the path higher, two heights would have the same controls,
   and what lies between could be cut out. (And a little more, since the height jumps once: where
   the first counter no longer matters and the second takes its place.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kleene.automata.counter.configuration_graph import constant_outputs
from kleene.automata.counter.table import CounterTable, flipped
from kleene.automata.symbols import check_same_alphabet, spell
from kleene.errors import AutomatonError
from kleene.machine import Label, Word

APART = 8  # by how much two counters may differ before they count as diverging
MAX_PAIRS = 300_000


class Pair(NamedTuple):
    """Two machines after the same word; `p` or `q` is None where that output is constant."""

    p: int | None
    q: int | None
    ahead: int  # second counter minus first, where both matter
    counter: int  # the first counter where it matters, else the second
    labels: tuple[Label, Label]

    @property
    def agrees(self) -> bool:
        return self.labels[0] == self.labels[1]


def difference(a: CounterTable, b: CounterTable) -> Word | None:
    """A shortest word with different outputs, or None: then they agree on all words."""
    check_same_alphabet(a.alphabet, b.alphabet)
    kept: _Product | None = None
    for other in (b, flipped(b)):  # counters that run in opposite directions
        product = _Product(a, other)
        controls, agrees, apart = product.abstraction()
        if agrees and not apart:
            return None
        if kept is None or not apart:
            kept = product
            height = None if apart else 3 * product.top + controls + controls**2
        if not apart:
            break
    assert kept is not None
    return kept.search(height)


class _Product:
    def __init__(self, a: CounterTable, b: CounterTable) -> None:
        self.a, self.b = a, b
        self.constant_a, self.constant_b = set(constant_outputs(a)), set(constant_outputs(b))
        alike: dict[bytes, tuple[int, int]] = {}  # symbols that act alike in both are tried once
        for i, symbol in enumerate(a.alphabet):
            j = b.columns[symbol]
            parts = a.transitions[..., i], a.increments[..., i], b.transitions[..., j]
            key = b"".join(part.tobytes() for part in (*parts, b.increments[..., j]))
            alike.setdefault(key, (i, j))
        self.columns = list(alike.values())
        self.top = APART + 1 + max(a.clip, b.clip)  # from here on both see only "far from 0"

    def pair(self, p: int | None, m: int, q: int | None, n: int, old: Pair | None) -> Pair:
        """The two configurations as a pair, without what no longer matters."""
        one, other = (None, None) if old is None else old.labels
        if p is not None:
            one = self.a.output((p, m))
            p = None if (p, self.a.clipped_counter(m)) in self.constant_a else p
        if q is not None:
            other = self.b.output((q, n))
            q = None if (q, self.b.clipped_counter(n)) in self.constant_b else q
        ahead = n - m if p is not None and q is not None else 0
        counter = m if p is not None else n if q is not None else 0
        return Pair(p, q, ahead, counter, (one, other))

    def start(self) -> Pair:
        return self.pair(self.a.initial, 0, self.b.initial, 0, None)

    def moves(self, pair: Pair) -> Iterator[Pair]:
        p, q, ahead, counter, _ = pair
        second = counter + ahead
        for i, j in self.columns:
            p_next, m = (None, 0) if p is None else self.a.move((p, counter), i)
            q_next, n = (None, 0) if q is None else self.b.move((q, second), j)
            yield self.pair(p_next, m, q_next, n, pair)

    def abstraction(self) -> tuple[int, bool, bool]:
        """How many controls there are, whether all pairs agree, whether the counters run apart."""
        top = self.top
        seen = {self.start()}
        agrees, apart = all(pair.agrees for pair in seen), False
        for pair in (todo := list(seen)):
            for after in self.moves(pair):
                if abs(after.ahead) > APART:
                    apart = True
                    continue
                for clipped in _clipped(pair.counter, after, top):
                    if clipped not in seen:
                        seen.add(clipped)
                        todo.append(clipped)
                        agrees = agrees and clipped.agrees
        return len({(*pair[:3], pair.labels) for pair in seen}), agrees, apart

    def search(self, height: int | None) -> Word | None:
        pairs, came_from = [self.start()], [(-1, -1)]
        seen = set(pairs)
        for index, pair in enumerate(pairs):
            if not pair.agrees:
                return self._spell(came_from, index)
            if len(pairs) > MAX_PAIRS:
                break
            for number, after in enumerate(self.moves(pair)):
                if after not in seen and (height is None or abs(after.counter) <= height):
                    seen.add(after)
                    pairs.append(after)
                    came_from.append((index, number))
        else:
            return None
        raise AutomatonError(
            f"no difference among {MAX_PAIRS:,} pairs of configurations, and there are more, "
            "since the two counters diverge; compare words up to a length instead"
        )

    def _spell(self, came_from: list[tuple[int, int]], index: int) -> Word:
        symbols = []
        while index:
            index, number = came_from[index]
            symbols.append(self.a.alphabet[self.columns[number][0]])
        return spell(symbols[::-1], self.a.alphabet)


def _clipped(before: int, after: Pair, top: int) -> list[Pair]:
    """The pairs of the abstraction: `top` stands for all counters from there on."""
    sign, height = (1 if after.counter > 0 else -1), abs(after.counter)
    if abs(before) < top:
        return [after._replace(counter=sign * min(height, top))]
    return [after._replace(counter=sign * h) for h in range(min(height, top), top + 1)]

"""One-counter machines, against predicates on words and against brute force over short words."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kleene.automata.counter import compare as counter_compare
from kleene.automata.counter.configuration_graph import clipped_after
from kleene.automata.counter.formats import describe_counters, edges
from kleene.automata.counter.machine import CounterMachine
from kleene.errors import AlphabetError, AutomatonError, SettingError
from kleene.languages.context_free import balanced_parentheses, blocks


def parentheses(letters: str = "a", *, below: bool = False, up: int = 1) -> CounterMachine:
    """Balanced parentheses; with `below`, the machine only counts and forgets the order."""

    def rule(state: str, clipped: int, symbol: object) -> tuple[str, int]:
        if state == "wrong" or (symbol == ")" and clipped == 0 and not below):
            return "wrong", 0
        return state, {"(": up, ")": -up}.get(symbol, 0)

    alphabet, accept = f"{letters}()", {("right", 0)}
    return CounterMachine.from_rule(rule, start="right", alphabet=alphabet, accept=accept)


def counts_on(letters: str = "a") -> CounterMachine:
    """Balanced parentheses by a machine that goes on counting after an error."""

    def rule(state: str, clipped: int, symbol: object) -> tuple[str, int]:
        move = {"(": 1, ")": -1}.get(symbol, 0)
        return ("wrong" if clipped + move < 0 else state), move

    return CounterMachine.from_rule(
        rule, start="right", alphabet=f"{letters}()", accept={("right", 0)}
    )


def equal_blocks() -> CounterMachine:
    """a^n b^n."""

    def rule(state: str, clipped: int, symbol: object) -> tuple[str, int]:
        if symbol == "a":
            return ("up", 1) if state == "up" else ("wrong", 0)
        return ("down", -1) if state != "wrong" and clipped == 1 else ("wrong", 0)

    accept = {("up", 0), ("down", 0)}
    return CounterMachine.from_rule(rule, start="up", alphabet="ab", accept=accept)


def words(alphabet: str, longest: int) -> list[str]:
    return ["".join(w) for n in range(longest + 1) for w in product(alphabet, repeat=n)]


def random_machine(seed: int, *, states: int = 3, clip: int = 1) -> CounterMachine:
    random = np.random.default_rng(seed)
    shape = (states, 2 * clip + 1, 2)
    labels = random.random((states, 2 * clip + 1)) < 0.5
    return CounterMachine(
        alphabet=("a", "b"),
        transitions=random.integers(states, size=shape),
        increments=random.integers(-1, 2, size=shape),
        outputs=tuple(map(tuple, labels.tolist())),
    )


def brute_force(a: CounterMachine, b: CounterMachine, longest: int) -> str | None:
    """The length-first word on which the two differ."""
    return next((w for w in words("ab", longest) if a.run(w) != b.run(w)), None)


@pytest.mark.parametrize("machine", [parentheses(), counts_on(), parentheses(up=-1)])
def test_parentheses_agree_with_the_predicate(machine: CounterMachine) -> None:
    language = balanced_parentheses("a")
    assert all(machine.accepts(w) == language.contains(w) for w in words("a()", 7))


def test_blocks_agree_with_the_predicate() -> None:
    language = blocks("ab")
    assert all(equal_blocks().accepts(w) == language.contains(w) for w in words("ab", 10))


def test_deep_words_are_counted() -> None:
    assert parentheses().accepts("(" * 5000 + ")" * 5000)
    assert not parentheses().accepts("(" * 5000 + ")" * 4999)


def test_machines_that_count_differently_are_proved_equal() -> None:
    machines = [parentheses(), counts_on(), parentheses(up=-1)]
    for a, b in product(machines, repeat=2):
        assert a == b


def test_counting_without_order_is_told_apart_by_a_shortest_word() -> None:
    assert parentheses().difference(parentheses(below=True)) == ")("


@pytest.mark.parametrize("depth", [1, 5, 20])
def test_a_bound_on_the_depth_is_found(depth: int) -> None:
    """Equal up to some depth, so the shortest difference is that deep."""

    def rule(state: int, clipped: int, symbol: object) -> tuple[int, int]:
        if state < 0 or (symbol == ")" and clipped == 0) or (symbol == "(" and state == depth):
            return -1, 0
        move = {"(": 1, ")": -1}.get(symbol, 0)
        return state + move, move

    accept = {(state, 0) for state in range(depth + 1)}
    bounded = CounterMachine.from_rule(rule, start=0, alphabet="a()", accept=accept)
    assert bounded.difference(parentheses()) == "(" * (depth + 1) + ")" * (depth + 1)


@pytest.mark.parametrize("clip", [1, 2])
def test_differences_of_random_machines_are_shortest(clip: int) -> None:
    """Against all short words."""
    decided = 0
    for seed in range(60):
        a, b = random_machine(seed, clip=clip), random_machine(1000 + seed)
        found, expected = a.difference(b), brute_force(a, b, 7)
        if found is None or len(found) > 7:
            assert expected is None
        else:
            decided += 1
            assert a.run(found) != b.run(found)
            assert expected is not None
            assert len(found) == len(expected)
    assert decided > 30


@pytest.mark.parametrize("clip", [1, 2])
def test_small_changes_of_random_machines_are_found_or_do_not_matter(
    clip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two machines that differ in one entry: equal in language or told apart, as brute force."""
    monkeypatch.setattr(counter_compare, "MAX_PAIRS", 2_000)
    same = 0
    for seed in range(40):
        a = random_machine(seed, clip=clip)
        table = a.transitions.copy()
        configuration = tuple(np.random.default_rng(seed).integers(a.transitions.shape))
        table[configuration] = (table[configuration] + 1) % a.num_states
        b = CounterMachine(
            alphabet=a.alphabet, transitions=table, increments=a.increments, outputs=a.outputs
        )
        expected = brute_force(a, b, 8)
        try:
            found = a.difference(b)
        except AutomatonError:  # the counters run apart
            assert expected is None
            continue
        same += found is None
        assert (found is None) == (expected is None) or len(found) > 8
        assert expected is None or len(found) == len(expected)
    assert 0 < same < 40


def test_minimizing_keeps_the_language() -> None:
    for seed in range(40):
        machine = random_machine(seed, states=4, clip=1 + seed % 2)
        small = machine.minimize()
        assert small.num_states <= machine.num_states + 2  # two sinks may join
        assert all(machine.run(w) == small.run(w) for w in words("ab", 7))


def test_minimizing_rests_the_counter_and_shortens_the_view() -> None:
    machine = counts_on()
    far = CounterMachine(
        alphabet=machine.alphabet,
        transitions=np.repeat(machine.transitions, [2, 1, 2], axis=1),
        increments=np.repeat(machine.increments, [2, 1, 2], axis=1),
        outputs=tuple((a, a, b, c, c) for a, b, c in machine.outputs),
    )
    small = far.minimize()
    assert (small.num_states, small.clip) == (2, 1)
    assert small == parentheses()


def test_counters_that_run_apart_are_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal languages, but one counter stands still where the other goes on."""
    monkeypatch.setattr(counter_compare, "MAX_PAIRS", 2_000)

    def rule(state: str, clipped: int, symbol: object) -> tuple[str, int]:
        return ("even" if state == "odd" else "odd"), (symbol == "a")

    def still(state: str, clipped: int, symbol: object) -> tuple[str, int]:
        return rule(state, clipped, symbol)[0], 0

    accept = [("even", clipped) for clipped in (-1, 0, 1)]
    a, b = (
        CounterMachine.from_rule(one, start="even", alphabet="ab", accept=accept)
        for one in (rule, still)
    )
    with pytest.raises(AutomatonError, match="diverge"):
        a.difference(b)


def test_clipped_after_covers_all_counters() -> None:
    for clip, increment in product((1, 2, 3), (-1, 0, 1)):
        clipped_counter = lambda n, c=clip: max(-c, min(c, n))  # noqa: E731
        for clipped in range(-clip, clip + 1):
            counters = [n for n in range(-9, 10) if clipped_counter(n) == clipped]
            real = {clipped_counter(n + increment) for n in counters}
            assert set(clipped_after(clipped, increment, clip)) == real


def test_json_round_trip(tmp_path: Path) -> None:
    machine = random_machine(5, clip=2)
    again = CounterMachine.from_json(machine.to_json())
    assert json.loads(again.to_json()) == json.loads(machine.to_json())
    saved = parentheses().save(tmp_path / "m.json")
    assert CounterMachine.load(saved) == parentheses()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"outputs": [[True, False]] * 2}, "every clipped"),
        ({"outputs": [True, False]}, "list of labels"),
        ({"increments": [[[2, 0, 0]] * 3] * 2}, "run from 0 to 2"),
        ({"transitions": [[[9, 0, 0]] * 3] * 2}, "run from 0 to 9"),
        ({"transitions": [[[0, 0]] * 3] * 2}, "shape"),
        ({"start": 5}, "initial state is 5"),
        ({"names": ["one"]}, "1 names for 2 states"),
        ({"format": "kleene.dfa/1"}, "format"),
    ],
)
def test_a_wrong_document_is_refused(change: dict[str, object], said: str) -> None:
    document = json.loads(parentheses().to_json()) | change
    with pytest.raises(AutomatonError, match=said):
        CounterMachine.from_json(json.dumps(document))


def test_strange_symbols_are_named() -> None:
    with pytest.raises(AlphabetError, match="'x'"):
        parentheses().run("(x)")
    with pytest.raises(AlphabetError, match="alphabets differ"):
        parentheses().difference(parentheses("b"))


def test_edges_say_push_and_pop() -> None:
    texts = [text for lines in edges(parentheses()).values() for text in lines]
    assert sorted(texts) == sorted(["(  push", ") when >0  pop", "a", ") when =0", "Σ"])
    assert describe_counters([-1, 1], 1) == "<0 or >0"


def test_drawing(tmp_path: Path) -> None:
    path = parentheses().draw(tmp_path / "m.svg")
    assert "push" in path.read_text()
    with pytest.raises(SettingError, match="gif"):
        parentheses().draw(tmp_path / "m.gif")

"""Languages: predicates against automata, and samples that are what they say."""

from collections import Counter
from itertools import product

import pytest

from kleene import languages
from kleene.errors import SettingError
from kleene.languages.base import Language

TOMITA = [f"tomita{number}" for number in range(1, 8)]
LENGTHS = [*range(16), 20, 25, 30]


def all_words(alphabet, longest: int) -> list[str]:
    return ["".join(w) for n in range(longest + 1) for w in product(alphabet, repeat=n)]


@pytest.mark.parametrize("name", TOMITA)
def test_predicate_and_automaton_agree_up_to_length_12(name: str) -> None:
    language = languages.by_name(name)
    words = all_words("01", 12)
    state = {"": language.dfa.start()}
    for word in words[1:]:
        state[word] = language.dfa.step(state[word[:-1]], word[-1])
    assert all(language.contains(w) == language.dfa.output(state[w]) for w in words)


def test_bounded_dyck2_agrees_with_its_automaton() -> None:
    for depth in (1, 2, 3):
        language = languages.bounded_dyck2(depth)
        words = all_words("()[]", 8)
        assert all(language.contains(w) == language.dfa.accepts(w) for w in words)
        assert language.contains("[" * depth + "]" * depth)
        assert not language.contains("(" * (depth + 1) + ")" * (depth + 1))


def naive_membership(name: str, word: str) -> bool:
    """Membership by rewriting or comparing, written apart from the library's predicates."""
    if name.startswith(("balanced", "dyck1")):
        word = "".join(c for c in word if c in "()")
        while "()" in word:
            word = word.replace("()", "")
        return word == ""
    if name.startswith("dyck2"):
        stack = []
        for c in word:
            if c in "([":
                stack.append(c)
            elif not stack or stack.pop() + c not in ("()", "[]"):
                return False
            if len(stack) > 3:
                return False
        return not stack
    if name == "palindromes":
        half = len(word) // 2
        return word[:half] == "".join(reversed(word[half:]))
    if name in ("anbn", "anbncn"):
        letters = "abc"[: len(name) // 2]
        return list(word) == sorted(word) and len({word.count(c) for c in letters}) == 1
    return bool(languages.by_name(name).dfa.accepts(word))


@pytest.mark.parametrize("name", languages.names())
def test_samples_are_labelled_rightly_and_balanced(name: str) -> None:
    language = languages.by_name(name)
    words, labels = language.sample(400, lengths=LENGTHS, seed=3, balance=0.25)
    assert len(words) == len(labels) == 400
    assert labels == [naive_membership(name, word) for word in words]
    assert labels == [language.contains(word) for word in words]
    assert labels.count(True) == 100
    assert {len(word) for word in words} <= set(LENGTHS)
    assert {type(label) for label in labels} == {bool}
    assert {type(word) for word in words} == {str}
    assert labels[:200] != sorted(labels[:200])
    assert not set("".join(words)) - set(language.alphabet)


@pytest.mark.parametrize("name", languages.names())
def test_samples_depend_on_the_seed_alone(name: str) -> None:
    first, again, other = (
        languages.by_name(name).sample(100, lengths=LENGTHS, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_few_members_come_all_and_evenly() -> None:
    words, labels = languages.tomita(2).sample(100, lengths=range(16), seed=0)
    members = Counter(word for word, label in zip(words, labels, strict=True) if label)
    assert set(members) == {"10" * i for i in range(8)}
    assert max(members.values()) - min(members.values()) <= 1


def test_members_are_uniform_within_a_length() -> None:
    language = languages.tomita(4)
    members = [word for word in all_words("01", 6) if len(word) == 6 and language.contains(word)]
    counts = Counter()
    for seed in range(400):
        words, _ = language.sample(10, lengths=[6], seed=seed, balance=1.0)
        assert len(set(words)) == 10
        counts.update(words)
    assert set(counts) == set(members)
    expected = 4000 / len(members)
    chi_square = sum((counts[word] - expected) ** 2 / expected for word in members)
    assert chi_square < 2 * len(members)


def test_near_misses_are_a_share_of_the_non_members() -> None:
    language = languages.tomita(1)
    plain, near = (
        language.sample(500, lengths=[30], seed=0, balance=0.0, near=share)[0]
        for share in (0.0, 0.5)
    )
    assert sum(word.count("0") <= 3 for word in plain) < 5
    assert sum(word.count("0") <= 3 for word in near) >= 250


def test_long_words_are_reached() -> None:
    for number in range(1, 8):
        words, labels = languages.tomita(number).sample(50, lengths=[1200], seed=0)
        assert sum(labels) == 25
        assert labels == [languages.tomita(number).contains(word) for word in words]


def test_a_class_without_words_leaves_its_place_to_the_other() -> None:
    words, labels = languages.tomita(2).sample(10, lengths=[7], seed=0)
    assert not any(labels)
    assert len(words) == 10
    words, labels = languages.tomita(1).sample(10, lengths=[0], seed=0)
    assert words == [""] * 10
    assert all(labels)


def test_words_of_other_symbols_are_outside() -> None:
    assert not languages.tomita(1).contains("1x")
    assert not languages.palindromes().contains("éé")
    assert languages.tomita(1).contains(["1", "1"])
    assert "11" in languages.tomita(1)


def test_symbols_need_not_be_characters() -> None:
    from kleene.automata.dfa import DFA

    dfa = DFA.from_table({0: {"up": 1}, 1: {"down": 0}}, start=0, accept={0})
    language = Language(name="lift", alphabet=dfa.alphabet, contains=dfa.accepts, dfa=dfa)
    words, labels = language.sample(20, lengths=range(5), seed=0)
    assert ("up", "down") in words
    assert labels == [dfa.accepts(word) for word in words]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: languages.tomita(8), "no Tomita language 8"),
        (lambda: languages.by_name("tomita"), "choose one of tomita1"),
        (lambda: languages.tomita(1).sample(5, lengths=[]), "lengths must be >= 0"),
        (lambda: languages.tomita(1).sample(5, lengths=[-1]), "lengths must be >= 0"),
        (lambda: languages.tomita(1).sample(5, balance=2), "balance"),
        (lambda: languages.balanced_parentheses().sample(5, lengths=[3], depth=[2]), "2d"),
        (lambda: languages.palindromes().sample(5, lengths=[3]), "has no word of the lengths"),
        (lambda: languages.bounded_dyck2(0), "must be 1 to 12"),
        (
            lambda: Language(name="x", alphabet=("a",), contains=bool),
            "give it a sampler",
        ),
    ],
)
def test_mistakes_are_named(call, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        call()

"""Languages made here, of the classes of MLRegTest, to tune on: none of them is one of MLRegTest.

    SL coSL TSL     m forbidden factors of k symbols, on a tier or not; complement
    SP coSP         m forbidden subsequences of k symbols; complement
    LT LTT PT PLT   and TLT TLTT TPLT on a tier: a random formula of m tests
    LTTD TLTTD      as LTT and TLTT, occurrences that overlap counted once
    Zp              the weights of the symbols summed modulo p
    Reg             a random automaton

The words of half the tests have one or two different symbols, so that their occurrences overlap.

Words have lengths 20-29 (training, SR) and 31-50 (LR), uniform among the words of a length, half of
them accepted; SA and LA have pairs at edit distance one, one accepted and the other not.

Run: python experiments/own_languages.py [--symbols 4,16] [--methods fit,network,gru] [--seed 0]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from ledger import Ledger

import kleene as kl
from kleene.automata import DFA
from kleene.induction.features import Occurrence, counter
from kleene.induction.learner import compile_kernels

Rows = tuple[list[tuple[int, ...]], list[bool]]
Random = np.random.Generator
TESTS = ("SR", "SA", "LR", "LA")
TIERS = {4: 3, 16: 7, 64: 16}
DRAWS = 100
CLASSES = (
    *(("SL", k, 1) for k in (4, 6)),
    *(("coSP", k, 1) for k in (4, 6)),
    *(("SP", k, 1) for k in (4, 6)),
    *(("TSL", k, 1) for k in (2, 4)),
    *(("LT", k, 1) for k in (2, 4)),
    *(("PT", k, 1) for k in (4, 6)),
    *(("LTT", k, t) for k, t in ((2, 5), (4, 3), (6, 2))),
    *(("TLTT", k, t) for k, t in ((2, 5), (4, 3), (6, 2))),
    *(("LTTD", k, t) for k, t in ((2, 5), (4, 3), (6, 2))),
    *(("TLTTD", k, t) for k, t in ((4, 3), (6, 2))),
    ("TLT", 4, 1),
    *(("PLT", k, t) for k, t in ((4, 1), (6, 1), (4, 2), (6, 3))),
    *(("TPLT", 4, t) for t in (1, 2)),
    *(("Zp", p, 1) for p in (2, 3)),
    ("Reg", 12, 1),
)


def language(kind: str, k: int, t: int, width: int, seed: int) -> DFA | None:
    """A language of a class in which both labels occur among long words; None if none is drawn."""
    random = np.random.default_rng([len(kind), ord(kind[-1]), k, t, width, seed])
    for _ in range(DRAWS):
        dfa = _draw(kind, k, t, width, random).minimize()
        shares = [_shares(dfa, length) for length in (20, 50)]
        if dfa.num_states > 1 and all(min(share) > 1e-12 for share in shares):
            return dfa
    return None


def _draw(kind: str, k: int, t: int, width: int, random: Random) -> DFA:
    if kind == "Reg":
        table = random.integers(0, k, (k, width))
        outputs = tuple((random.random(k) < 0.5).tolist())
        return DFA(alphabet=range(width), transitions=table, outputs=outputs)
    if kind == "Zp":
        feature = counter(random.integers(0, k, width).tolist(), k)
        outputs = tuple(value == 0 for value in range(k))
        return DFA(alphabet=range(width), transitions=feature.table, outputs=outputs)
    tier = None
    if kind.startswith("T"):
        tier = sorted(random.permutation(width)[: TIERS[width]].tolist())
    count = int(random.integers(1, 4))
    tests = [_test(kind.lstrip("T"), k, t, tier, width, random) for _ in range(count)]
    if kind.endswith(("SL", "SP")):
        dfa = tests[0]
        for test in tests[1:]:
            dfa = dfa | test
        return dfa if kind.startswith("co") else dfa.complement()
    dfa = tests[0]
    for test in tests[1:]:
        other = test.complement() if random.random() < 0.5 else test
        dfa = dfa | other if random.random() < 0.5 else dfa & other
    return dfa


def _test(kind: str, k: int, t: int, tier: Any, width: int, random: Random) -> DFA:
    letters = range(width) if tier is None else tier
    if random.random() < 0.5:  # few letters, so that occurrences overlap
        letters = random.choice(letters, int(random.integers(1, 3)), replace=False)
    word = tuple(int(letter) for letter in random.choice(letters, k))
    if kind in ("SP", "coSP", "PT"):
        test = Occurrence.subsequence(word)
    elif kind == "PLT":
        if t == 1:
            ends = random.integers(1, k, 1)
        else:  # up to t factors, each of up to k symbols
            ends = np.cumsum(random.integers(1, k + 1, int(random.integers(2, t + 1))))
            word = tuple(int(letter) for letter in random.choice(letters, ends[-1]))
        joined = tuple(i not in ends for i in range(1, len(word)))
        test = Occurrence(word, joined, None if tier is None else frozenset(tier))
    else:
        times = t if t == 1 else int(random.integers(2, t + 1))
        test = Occurrence.factor(word, tier, times=times, overlap=kind != "LTTD")
    feature = test.feature(width)
    outputs = tuple(bool(value) for value in feature.values)
    return DFA(alphabet=range(width), transitions=feature.table, outputs=outputs).minimize()


def _counts(dfa: DFA, label: bool, length: int) -> np.ndarray:
    """The share of the words of each length, from each state, that have a label."""
    shares = [np.array([float(output == label) for output in dfa.outputs])]
    for _ in range(length):
        shares.append(shares[-1][dfa.transitions].mean(1))
    return np.array(shares)


def _shares(dfa: DFA, length: int) -> tuple[float, float]:
    found = [_counts(dfa, label, length)[length, dfa.initial] for label in (True, False)]
    return float(found[0]), float(found[1])


def sample(dfa: DFA, lengths: range, rows: int, random: Random) -> Rows:
    """Words drawn uniformly among those of a length and a label."""
    words: list[tuple[int, ...]] = []
    labels: list[bool] = []
    shares = {label: _counts(dfa, label, max(lengths)) for label in (True, False)}
    for i in range(rows):
        label, length = i % 2 == 0, lengths[(i // 2) % len(lengths)]
        state, word = dfa.initial, []
        for left in range(length - 1, -1, -1):
            weights = shares[label][left][dfa.transitions[state]]
            symbol = int(random.choice(len(weights), p=weights / weights.sum()))
            word.append(symbol)
            state = int(dfa.transitions[state, symbol])
        words.append(tuple(word))
        labels.append(label)
    return words, labels


def adversarial(dfa: DFA, lengths: range, rows: int, random: Random) -> Rows:
    """Pairs of words at edit distance one with different labels."""
    words: list[tuple[int, ...]] = []
    given, labels = sample(dfa, lengths, rows, random)
    for word, label in zip(given, labels, strict=True):
        edits = _edits(word, len(dfa.alphabet), random)
        outputs = dfa.run_many(edits)
        near = [n for n, output in zip(edits, outputs, strict=True) if output != label]
        if near and len(words) < rows:
            words += [word, near[int(random.integers(len(near)))]]
    return words, [bool(dfa.run(word)) for word in words]


def _edits(word: tuple[int, ...], width: int, random: Random) -> list[tuple[int, ...]]:
    letters = random.permutation(width)[:16].tolist()
    places = range(len(word))
    found = [(*word[:i], *word[i + 1 :]) for i in places]
    found += [(*word[:i], a, *word[i + 1 :]) for i, a in product(places, letters)]
    return found + [(*word[:i], a, *word[i:]) for i, a in product(places, letters)]


def rows_of(dfa: DFA, seed: int) -> dict[str, Rows]:
    """The training rows and the four tests."""
    random = np.random.default_rng(seed)
    return {
        "train": sample(dfa, range(20, 30), 2_000, random),
        "SR": sample(dfa, range(20, 30), 500, random),
        "SA": adversarial(dfa, range(20, 30), 500, random),
        "LR": sample(dfa, range(31, 51), 500, random),
        "LA": adversarial(dfa, range(31, 51), 500, random),
    }


def run(dfa: DFA, method: str, seed: int) -> dict[str, Any]:
    """Learn the training rows by one method; accuracy on the four tests."""
    rows = rows_of(dfa, seed)
    started = time.process_time()
    predict, notes = METHODS[method](*rows["train"], seed)
    result: dict[str, Any] = {"true_states": dfa.num_states, **notes}
    result["learning_seconds"] = round(time.process_time() - started, 2)
    for test in TESTS:
        words, labels = rows[test]
        result[test] = round(float((np.asarray(predict(words)) == np.array(labels)).mean()), 4)
    return result


Learned = tuple[Callable[[Any], Any], dict[str, Any]]


def by_induction(words: Any, labels: Any, seed: int) -> Learned:
    found = kl.induce(words, labels, seed=seed)
    notes = {"states": found.dfa.num_states, "method": found.method}
    return found.dfa.run_many, {**notes, "errors": found.training_errors}


def by_fit(words: Any, labels: Any, seed: int) -> Learned:
    classifier = kl.SequenceClassifier(random_state=seed).fit(words, labels)
    notes = {"states": classifier.model_.network.rnn.num_states}
    held_out = classifier.figures_.held_out_accuracy
    return classifier.predict, {**notes, "held_out": held_out, "log": list(classifier.fit_log_)}


def by_network(words: Any, labels: Any, seed: int) -> Learned:
    classifier = kl.SequenceClassifier(learn="network", random_state=seed).fit(words, labels)
    extraction = classifier.extract(words)
    notes = {"states": extraction.dfa.num_states, "fidelity": extraction.fidelity.overall}
    return classifier.predict, {**notes, "log": list(classifier.fit_log_)}


def by_plain_gru(words: Any, labels: Any, seed: int) -> Learned:
    classifier = kl.SequenceClassifier(
        states=0, training={"epochs": 400, "patience": 5}, random_state=seed
    )
    classifier.fit(words, labels)
    return classifier.predict, {"held_out": classifier.figures_.held_out_accuracy}


METHODS = {"induce": by_induction, "fit": by_fit, "network": by_network, "gru": by_plain_gru}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--symbols", default="4,16,64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--methods", default="induce", help="some of induce,fit,network,gru")
    parser.add_argument("--only", default="", help="only keys that hold this text")
    parser.add_argument("--try", action="store_true", help="print, and write nothing")
    options = parser.parse_args()
    compile_kernels()
    ledger = Ledger("own_languages")
    for width in map(int, options.symbols.split(",")):
        for kind, k, t in CLASSES:
            for method in options.methods.split(","):
                key = {"class": f"{kind}.{k}.{t}", "symbols": width, "method": method}
                key["seed"] = options.seed
                if not any(text in str(key) for text in options.only.split(",")):
                    continue
                dfa = language(kind, k, t, width, options.seed)
                if dfa is None:
                    print(key, "no language whose words are not too rare")
                    continue
                if vars(options)["try"]:
                    print(key, run(dfa, method, options.seed), flush=True)
                    continue
                searches = method in ("induce", "fit")
                recipe = {**RECIPE, "search": SEARCH} if searches else RECIPE
                row = ledger.run(
                    lambda d=dfa, m=method: run(d, m, options.seed), recipe=recipe, **key
                )
                print(row["key"], row["result"], row["cpu_seconds"], flush=True)


RECIPE = {"rows": 2_000, "settings": "defaults"}
FRESH = 22
"""The seed of languages that were drawn and run once, after the search was finished."""
SEARCH = "the most specific test that agrees: overlaps or none, 12 symbols, repetitions; refined"
"""What of the search a run depends on; other runs of `induce` and `fit` are out of date."""

if __name__ == "__main__":
    main()

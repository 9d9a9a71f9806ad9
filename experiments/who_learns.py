"""Where does the network beat the search for an automaton, and where does it lose?

Twelve tasks, chosen before any of them was measured; three seeds each draw a new task and new rows.
Every learner gets the same training rows. Accuracy is on 2,000 fresh rows whose symbols and labels
are clean.

    random 30, 60, 100   random DFAs of so many states over two symbols
    symbol noise 2, 4    random DFAs of 10 states; 5 % of the symbols of the training words replaced
    label noise          a random DFA of 10 states; 10 % of the training labels flipped
    modulo 13            the number of a's is a multiple of 13 or one more, words up to length 60
    majority             more a's than b's, words up to length 60: no finite automaton is right
    motif in place       a noisy motif in the middle of 40 letters, or elsewhere, or none
    motif anywhere       a noisy motif anywhere in 40 letters, or none
    lexicon              1,000 words; more words of one list than of another
    negation             the same, and "not" turns the word after it

Run: python experiments/who_learns.py [--seeds 3] [--learners network,automaton,auto,plain,ngrams]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from induction import flipped, random_dfa
from ledger import Ledger
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import kleene as kl
from kleene.nn.fused import load_kernels

FRESH = 2_000
MOTIFS = {"donor": "CAGGTAAG", "acceptor": "TTTCAGGA"}
Word = tuple[Any, ...]
Rows = tuple[list[Word], list[Any]]
Task = Callable[[int], tuple[Rows, Rows]]
Random = np.random.Generator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learners", default="network,automaton,auto,plain,ngrams")
    parser.add_argument("--only", default="", help="only tasks whose name holds this text")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    load_kernels()
    ledger = Ledger("who_learns")
    for seed in range(options.seeds):
        for name, task in TASKS.items():
            for learner in options.learners.split(","):
                if options.only in name:
                    work = partial(measure, task, learner, seed)
                    key = {"task": name, "learner": learner, "seed": seed}
                    row = ledger.run(work, recipe={"fresh": FRESH}, **key)
                    print(row["key"], row["result"], row["cpu_seconds"], flush=True)


def measure(task: Task, learner: str, seed: int) -> dict[str, Any]:
    """Accuracy on fresh rows, who learned, and the number of states."""
    (words, labels), (fresh, truth) = task(seed)
    result: dict[str, Any] = {"rows": len(words)}
    if learner == "ngrams":
        model = make_pipeline(
            CountVectorizer(analyzer=list_ngrams), LogisticRegression(C=10, max_iter=1_000)
        )
        return {**result, "accuracy": float(model.fit(words, labels).score(fresh, truth))}
    settings = {"states": 0} if learner == "plain" else {"learn": learner}
    fitted = kl.SequenceClassifier(random_state=seed, **settings).fit(words, labels)
    result |= {"accuracy": fitted.score(fresh, truth), "origin": fitted.origin_}
    return {**result, "states": fitted.model_.network.rnn.num_states, "log": [*fitted.fit_log_]}


def list_ngrams(word: Word) -> list[str]:
    """Factors of one to three symbols, joined to strings."""
    texts = [str(symbol) for symbol in word]
    return [" ".join(texts[i : i + n]) for n in (1, 2, 3) for i in range(len(texts) - n + 1)]


def automaton(
    states: int,
    seed: int,
    *,
    rows: int = 2_000,
    symbols: int = 2,
    lengths: range = range(5, 21),
    symbol_noise: float = 0.0,
    label_noise: float = 0.0,
) -> tuple[Rows, Rows]:
    """Words of a random DFA, as it sees them; noise is for the training rows only."""
    dfa, random = random_dfa(states, symbols, seed), np.random.default_rng([seed, states])

    def draw(count: int) -> list[Word]:
        sizes = random.choice(lengths, count)
        return [tuple(dfa.alphabet[i] for i in random.integers(0, symbols, n)) for n in sizes]

    words, fresh = draw(rows), draw(FRESH)
    labels = flipped([bool(one) for one in dfa.run_many(words)], label_noise, seed)
    seen = [
        tuple(
            dfa.alphabet[random.integers(symbols)] if random.random() < symbol_noise else symbol
            for symbol in word
        )
        for word in words
    ]
    return (seen, labels), (fresh, [bool(one) for one in dfa.run_many(fresh)])


def counted(rule: Callable[[Word], bool], seed: int) -> tuple[Rows, Rows]:
    """Words over a, b and c up to length 60, half of each label."""
    random = np.random.default_rng([seed, 60])

    def draw(count: int) -> Rows:
        words: dict[bool, list[Word]] = {True: [], False: []}
        while min(map(len, words.values())) < count // 2:
            word = tuple(random.choice(list("abc"), random.integers(1, 61)).tolist())
            words[rule(word)].append(word)
        chosen = [(word, label) for label in words for word in words[label][: count // 2]]
        order = random.permutation(len(chosen)).tolist()
        return [chosen[i][0] for i in order], [chosen[i][1] for i in order]

    return draw(3_000), draw(FRESH)


def fixed_motifs(
    rows: int, *, length: int, noise: float = 0.1, seed: int
) -> tuple[list[str], list[str]]:
    """Sequences and their classes: donor, acceptor or neither; motif letters are noisy."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    size, middle = len(MOTIFS["donor"]), length // 2
    for _ in range(rows):
        label = ("donor", "acceptor", "neither")[random.integers(3)]
        letters = random.choice(list("ACGT"), length)
        place = middle
        while label == "neither" and abs(place - middle) < 3:
            place = int(random.integers(0, length - size))
        motif = MOTIFS[label] if label in MOTIFS else MOTIFS[str(random.choice(list(MOTIFS)))]
        kept = random.random(size) >= noise
        letters[place : place + size] = np.where(kept, list(motif), letters[place : place + size])
        texts.append("".join(letters))
        labels.append(label)
    return texts, labels


def motif_in_place(seed: int) -> tuple[Rows, Rows]:
    words, labels = fixed_motifs(2_500 + FRESH, length=40, seed=1_000 + seed)
    split = [tuple(word) for word in words]
    return (split[:2_500], labels[:2_500]), (split[2_500:], labels[2_500:])


def motif_anywhere(seed: int) -> tuple[Rows, Rows]:
    random = np.random.default_rng([seed, 40])

    def draw(count: int) -> Rows:
        words, labels = [], random.integers(0, 2, count).astype(bool).tolist()
        for label in labels:
            letters = random.choice(list("ACGT"), 40)
            if label:
                kept, place = random.random(8) >= 0.1, int(random.integers(0, 33))
                letters[place : place + 8] = np.where(
                    kept, list("CAGGTAAG"), letters[place : place + 8]
                )
            words.append(tuple(letters.tolist()))
        return words, labels

    return draw(2_500), draw(FRESH)


def lexicon(seed: int, *, negation: bool) -> tuple[Rows, Rows]:
    """Words w0 to w999; w0-w59 speak for a label, w60-w119 against it; "not" turns the next."""
    random = np.random.default_rng([seed, 1_000])
    shares = 1 / np.arange(10, 1_010)
    order = random.permutation(1_000)
    weight = np.zeros(1_000)
    weight[order[:60]], weight[order[60:120]] = 1, -1
    shares[order[:120]] *= 3

    def draw(count: int) -> Rows:
        words: list[Word] = []
        labels: list[bool] = []
        while len(words) < count:
            ids = random.choice(1_000, random.integers(10, 31), p=shares / shares.sum())
            signs = np.ones(len(ids))
            word = [f"w{i}" for i in ids.tolist()]
            if negation:
                turned = random.random(len(ids)) < 0.3
                signs[turned] = -1
                pairs = zip(word, turned.tolist(), strict=True)
                word = [
                    token for one, turn in pairs for token in (("not", one) if turn else (one,))
                ]
            total = float((weight[ids] * signs).sum())
            if total:
                words.append(tuple(word))
                labels.append(total > 0)
        return words, labels

    return draw(4_000), draw(FRESH)


TASKS: dict[str, Task] = {
    "random 30": partial(automaton, 30),
    "random 60": partial(automaton, 60, rows=4_000),
    "random 100": partial(automaton, 100, rows=4_000),
    "symbol noise 2": partial(automaton, 10, symbol_noise=0.05),
    "symbol noise 4": partial(automaton, 10, symbols=4, symbol_noise=0.05),
    "label noise": partial(automaton, 10, label_noise=0.1),
    "modulo 13": partial(counted, lambda word: word.count("a") % 13 < 2),
    "majority": partial(counted, lambda word: word.count("a") > word.count("b")),
    "motif in place": motif_in_place,
    "motif anywhere": motif_anywhere,
    "lexicon": partial(lexicon, negation=False),
    "negation": partial(lexicon, negation=True),
}

if __name__ == "__main__":
    main()

"""Languages of MLRegTest, defaults only, beside plain networks and state merging.

Kleene was developed with the ten languages of the archive dev10; the twenty of dev20 were kept
apart until the training words of four of them were looked at (LTT.4.3, TLTT.4.3, TLTT.6.2 and
PLT.6.3; never their tests). Train and Dev are the training words (length 20-29). Columns: accuracy
of `predict` on the four tests, whether the automaton is exactly the true language where that is
known, CPU seconds.

Run: KLEENE_DATA=... python experiments/mlregtest.py [--archive dev20] [--methods kleene,gru]
"""

from __future__ import annotations

import argparse
import io
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from merging import merge_states
from transformer import TransformerClassifier

import kleene as kl
from kleene.automata import DFA

TESTS = ("TestSR", "TestSA", "TestLR", "TestLA")
Words = tuple[list[str], list[bool]]
RECIPE = {
    "fit": "defaults",
    "taught": "tables",
    "search": "merges, patterns",
}
"""What the rows of Kleene were made by; older ones are run again."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA", "data"))
    parser.add_argument("--archive", choices=("dev10", "dev20"), default="dev10")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.0, help="share of labels to flip")
    parser.add_argument("--methods", default=",".join(METHODS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("mlregtest" if not options.noise else "mlregtest_noise")
    archive = Archive(Path(options.data) / "mlregtest" / f"mlregtest_{options.archive}.tar.gz")
    for name in archive.languages:
        for method in options.methods.split(","):
            key = {"language": name, "method": method, "seed": options.seed}
            if options.noise:
                key["noise"] = options.noise
            recipe = {"kleene": RECIPE, "network": {"learn": "network"}}.get(method)
            row = ledger.run(
                lambda n=name, m=method: run(archive, n, m, options), recipe=recipe, **key
            )
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


class Archive:
    """The languages in the archive, read without unpacking."""

    def __init__(self, path: Path) -> None:
        self.files: dict[str, bytes] = {}
        with tarfile.open(path) as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is not None:
                    self.files[member.name.split("/")[-1]] = content.read()

    @property
    def languages(self) -> list[str]:
        """The names of all languages."""
        return sorted(name[:-10] for name in self.files if name.endswith("_Train.txt"))

    def words(self, language: str, part: str) -> Words:
        """Words and labels of one part."""
        lines = io.StringIO(self.files[f"{language}_{part}.txt"].decode()).read().splitlines()
        pairs = [line.split("\t") for line in lines]
        return [word for word, _ in pairs], [label == "TRUE" for _, label in pairs]

    def truth(self, language: str) -> DFA | None:
        """The true automaton, where the archive has it; coSL is the complement of SL."""
        complement = "coSL" in language
        content = self.files.get(language.replace("coSL", "SL") + ".att")
        if content is None:
            return None
        dfa = from_att(content.decode(), alphabet=tuple("abcd"))
        return dfa.complement() if complement else dfa


def from_att(text: str, alphabet: Sequence[str]) -> DFA:
    """Read the AT&T format of finite-state toolkits: `source target input output`, `accepting`.

    The source of the first line is the start; a missing move rejects.
    """
    table: dict[str, dict[str, str]] = {}
    accept = set()
    for source, *move in filter(None, map(str.split, text.splitlines())):
        table.setdefault(source, {})
        if len(move) < 2:  # perhaps a weight
            accept.add(source)
            continue
        target, symbol = move[:2]
        table[source][symbol] = target
        table.setdefault(target, {})
    return DFA.from_table(table, start=next(iter(table)), accept=accept, alphabet=alphabet)


def run(
    archive: Archive, language: str, method: str, options: argparse.Namespace
) -> dict[str, Any]:
    """Learn one language by one method and test it on all four tests."""
    train, dev = archive.words(language, "Train"), archive.words(language, "Dev")
    words, labels = train[0] + dev[0], train[1] + dev[1]
    if options.noise:
        random = np.random.default_rng(options.seed)
        flipped = random.random(len(labels)) < options.noise
        labels = [label != bool(flip) for label, flip in zip(labels, flipped, strict=True)]
    predict, dfa, notes = METHODS[method](words, labels, options.seed)
    tests = {test: archive.words(language, test) for test in TESTS}
    accuracy = {
        test: float((np.asarray(predict(given)) == np.array(right)).mean())
        for test, (given, right) in tests.items()
    }
    if method == "network" and dfa is not None:
        same = [np.asarray(predict(given)) == dfa.run_many(given) for given, _ in tests.values()]
        notes["automaton_as_network"] = float(np.concatenate(same).mean())
    truth = archive.truth(language)
    exact = None if dfa is None or truth is None else bool(dfa == truth)
    states = None if dfa is None else dfa.minimize().num_states
    archive_name = {"archive": options.archive}
    return {**accuracy, "exact": exact, "states": states, **notes, **archive_name}


Learned = tuple[Callable[[list[str]], Any], DFA | None, dict[str, Any]]


def by_kleene(learn: str) -> Callable[[list[str], list[bool], int], Learned]:
    def fit(words: list[str], labels: list[bool], seed: int) -> Learned:
        classifier = kl.SequenceClassifier(learn=learn, random_state=seed).fit(words, labels)
        extraction = classifier.extract(words)
        notes = {"fit_log": list(classifier.fit_log_), "fidelity": extraction.fidelity.overall}
        notes["certified"] = extraction.certificate is not None
        return classifier.predict, extraction.dfa, notes

    return fit


def by_network(cell: str) -> Callable[[list[str], list[bool], int], Learned]:
    def learn(words: list[str], labels: list[bool], seed: int) -> Learned:
        classifier = kl.SequenceClassifier(
            cell=cell, states=0, training={"epochs": 400, "patience": 5}, random_state=seed
        )
        classifier.fit(words, labels)
        return classifier.predict, None, {"epochs": len(classifier.history_)}

    return learn


def by_merging(algorithm: str) -> Callable[[list[str], list[bool], int], Learned]:
    def learn(words: list[str], labels: list[bool], seed: int) -> Learned:
        dfa = merge_states(words, labels, algorithm, alphabet="abcd")
        return dfa.run_many, dfa, {}

    return learn


def by_transformer(words: list[str], labels: list[bool], seed: int) -> Learned:
    classifier = TransformerClassifier(seed).fit(words, labels)
    return classifier.predict, None, {"epochs": classifier.epochs}


METHODS: dict[str, Callable[[list[str], list[bool], int], Learned]] = {
    "kleene": by_kleene("auto"),
    "network": by_kleene("network"),
    "gru": by_network("gru"),
    "lstm": by_network("lstm"),
    "transformer": by_transformer,
    "rpni": by_merging("rpni"),
    "edsm": by_merging("edsm"),
}

if __name__ == "__main__":
    main()

"""Ways to a machine, side by side on Tomita 1-7: read off one network, or merged from the words.

`table`, `counts`, `mean` and `lstar` read the same network, trained with
default settings but 20 states and no consolidation, so that there is something left to minimise;
RPNI and EDSM see only the 2,000 words.

Run: python experiments/peers.py [--seeds 3]
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from ledger import Ledger
from merging import merge_states

import kleene as kl
from kleene.extraction.extract import extract

LENGTHS = [*range(16), 20, 25, 30]
READERS = ("table", "counts", "mean", "lstar")
MERGERS = ("rpni", "edsm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("peers")
    for seed in range(options.seeds):
        for grammar in range(1, 8):
            row = ledger.run(lambda g=grammar, s=seed: compare(g, s), grammar=grammar, seed=seed)
            print(row["key"], row["result"], flush=True)


def compare(grammar: int, seed: int) -> dict[str, Any]:
    """Every way, on one sample of one language."""
    language = kl.languages.tomita(grammar)
    words, labels = language.sample(2000, lengths=LENGTHS, seed=seed)
    classifier = kl.SequenceClassifier(states=20, random_state=seed)
    classifier.fit(words, labels)
    found: dict[str, Any] = {"network_accuracy": classifier.score(words, labels)}
    for method in READERS:
        started = time.process_time()
        reading = extract(classifier.model, words, method=method, seconds=10)
        found[method] = {
            "exact": bool(reading.dfa == language.dfa),
            "fidelity": reading.fidelity.overall,
            "states": reading.raw.num_states,
            "queries": reading.queries,
            "cpu_seconds": round(time.process_time() - started, 2),
        }
    for method in MERGERS:
        started = time.process_time()
        dfa = merge_states(words, labels, method, alphabet="01")
        found[method] = {
            "exact": bool(dfa == language.dfa),
            "states": dfa.num_states,
            "cpu_seconds": round(time.process_time() - started, 2),
        }
    return found


if __name__ == "__main__":
    main()

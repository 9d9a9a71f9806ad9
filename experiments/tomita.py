"""Tomita 1-7 with nothing but defaults: language, machine and proof, ten seeds each.

Run: python experiments/tomita.py [--seeds 10] [--grammars 1234567]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from ledger import Ledger

import kleene as kl
from kleene.data.examples import Examples
from kleene.read.candidates import cluster, with_centroids
from kleene.read.certify import Certificate, certify
from kleene.read.table import read_table
from kleene.train.fit import fit
from kleene.train.recipe import Settings, cell_stage, hidden_vectors

LENGTHS = [*range(16), 20, 25, 30]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--grammars", default="1234567")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("tomita")
    for seed in range(options.seeds):
        for grammar in map(int, options.grammars):
            row = ledger.run(lambda g=grammar, s=seed: learn(g, s), grammar=grammar, seed=seed)
            print(row["key"], row["result"], flush=True)


def learn(grammar: int, seed: int) -> dict[str, Any]:
    """Fit, predict, read, prove; and the control, k-means on the plain cell."""
    language = kl.languages.tomita(grammar)
    words, labels = language.sample(2000, lengths=LENGTHS, seed=seed)
    started = time.process_time()
    classifier = kl.SequenceClassifier(cell="gru", random_state=seed).fit(words, labels)
    fitted = time.process_time()
    fresh, truth = language.sample(2000, lengths=range(41), seed=1000 + seed)
    accuracy = float((classifier.predict(fresh) == np.array(truth)).mean())
    reading_started = time.process_time()
    reading = classifier.extract(words)
    read = time.process_time()
    proof = certify(classifier.model, reading.dfa)
    proved = time.process_time()
    certified = isinstance(proof, Certificate) and proof.at_running_temperature
    return {
        "fit_seconds": round(fitted - started, 2),
        "fresh_accuracy": accuracy,
        "exact": bool(reading.dfa == language.dfa),
        "states": classifier.network_.rnn.num_states,
        "minimal_states": reading.dfa.num_states,
        "fidelity": reading.fidelity.overall,
        "disagreement": reading.disagreement,
        "method": reading.method,
        "extract_seconds": round(read - reading_started, 3),
        "certified": certified,
        "temperature": classifier.network_.rnn.temperature,
        "certify_seconds": round(proved - read, 3),
        "settled": list(classifier.reading_),
        "control_exact": control(classifier, words, labels, seed, language.dfa),
    }


def control(
    classifier: kl.SequenceClassifier, words: list[str], labels: list[bool], seed: int, dfa: kl.DFA
) -> bool:
    """GRU, then k-means with 20 clusters, then the table: no state-regularised training at all."""
    alphabet = classifier.alphabet_
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(seed)
    network = type(classifier.network_)(classifier._config(len(alphabet), 2))
    training, held = examples.split(0.1, seed)
    fit(network, training, validation=held, stages=[cell_stage(Settings())], seed=seed)
    centres = cluster(hidden_vectors(network, examples, seed=seed), 20, seed)
    model = replace(classifier.model, network=with_centroids(network, centres))
    return bool(read_table(model).dfa == dfa)


if __name__ == "__main__":
    main()

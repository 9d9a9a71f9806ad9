"""Tomita 1-7 with nothing but defaults: language, machine and proof, and a control."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from kleene.automata import DFA
from kleene.config import TrainConfig
from kleene.data.examples import Examples
from kleene.estimator import SequenceClassifier
from kleene.induction.teach import with_centroids
from kleene.languages.tomita import tomita
from kleene.machine import Label, Word
from kleene.nn.classifier import Classifier
from kleene.passes.table import transition_table
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.settings import Settings, network_config
from kleene.training.centroids import cluster_centres, hidden_vectors
from kleene.training.loop import fit
from kleene.training.progress import Reporter
from kleene.training.recipes import cell_stage
from kleene.training.run import Run
from paper.experiment import Experiment, Request, Table, chosen
from paper.ledger import Row

LENGTHS = [*range(16), 20, 25, 30]
WORDS = 2000
GRAMMARS = {f"tomita{number}": number for number in range(1, 8)}


def _work(row: str, seed: int, request: Request) -> dict[str, Any]:
    return learn(GRAMMARS[row], seed, request.reporter)


def learn(grammar: int, seed: int, reporter: Reporter) -> dict[str, Any]:
    """Fit, predict, read, prove; and the control, k-means on the plain cell."""
    language = tomita(grammar)
    words, labels = language.sample(WORDS, lengths=LENGTHS, seed=seed)
    started = time.process_time()
    classifier = SequenceClassifier(cell="gru", random_state=seed).fit(
        words, labels, reporter=reporter
    )
    fitted = time.process_time()
    fresh, truth = language.sample(2000, lengths=range(41), seed=1000 + seed)
    accuracy = float((classifier.predict(fresh) == np.array(truth)).mean())
    reading_started = time.process_time()
    reading = classifier.extract(words)
    read = time.process_time()
    proof = certify(classifier.model, reading.dfa)
    proved = time.process_time()
    certified = isinstance(proof, Certificate)
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
        "fit_log": list(classifier.fit_log_),
        "control_exact": control(classifier, words, labels, seed, language.dfa),
    }


def control(
    classifier: SequenceClassifier,
    words: Sequence[Word],
    labels: Sequence[Label],
    seed: int,
    dfa: DFA | None,
) -> bool:
    """GRU, then k-means with 20 clusters, then the table: no state-regularised training at all."""
    alphabet = classifier.alphabet_
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    torch.manual_seed(seed)
    config = network_config(
        Settings.of(classifier.get_params(deep=False)), len(alphabet.symbols), 2
    )
    network = Classifier(config)
    training, held = examples.split(0.1, seed)
    fit(network, training, validation=held, stages=[cell_stage(TrainConfig())], run=Run(seed=seed))
    centres = cluster_centres(hidden_vectors(network, examples, seed=seed), 20, seed)
    model = replace(classifier.model, network=with_centroids(network, centres))
    return bool(transition_table(model).dfa == dfa)


def _table(rows: Sequence[Row]) -> Table:
    lines = []
    for name, number in GRAMMARS.items():
        theirs = "did not converge" if number in (5, 6) else "exact"
        found = chosen(rows, grammar=number)
        results = [row["result"] for row in found]
        if not results:
            lines.append([name, theirs, "not run yet", *[""] * 4])
            continue
        shares = (
            sum(result[what] for result in results)
            for what in ("exact", "certified", "control_exact")
        )
        seconds = [result["fit_seconds"] for result in results]
        lines.append(
            [
                *(name, theirs),
                *(f"{share} of {len(results)}" for share in shares),
                f"{np.mean(seconds):.0f}",
                f"{max(seconds):.0f}",
            ]
        )
    header = ("language", "paper", "ours, exact", "proved", "control: GRU + k-means")
    return Table((*header, "CPU s of a fit", "at most"), lines)


def _headline(result: dict[str, Any]) -> str:
    exact = "exact" if result["exact"] else "not the language"
    proved = "proved" if result["certified"] else "not proved"
    return f"{exact}, {proved}, {result['minimal_states']} states, {result['fit_seconds']} s"


TOMITA = Experiment(
    ledger="tomita",
    rows=tuple(GRAMMARS),
    seeds=lambda row, scale: 3 if scale == "small" else 10,
    key=lambda row, seed, scale: {"grammar": GRAMMARS[row], "seed": seed},
    recipe=lambda row, scale: {
        "lengths": LENGTHS,
        "words": WORDS,
        "settings": SequenceClassifier(cell="gru").get_params(),
    },
    work=_work,
    headline=_headline,
    table=_table,
)

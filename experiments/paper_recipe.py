"""The paper's own recipe on Tomita 1-4 and 7: random centroids, cell and states trained together.

A GRU of width 100 with 10 or 50 centroids, the mixture at temperature 1 (cosine: 0.1, Euclidean:
0.3, since their scores are small), Adadelta as in the paper or RMSprop with momentum 0.9, no
dropout, start and end tokens, an embedding that is learned. The paper does not give batch size,
initial centroids or the order of the words. Here batches have 8 words, and short words come first:
the limit on the length grows by 1 when more than 99 % of the words below it are right, or 95 %
after 1,000 steps. Where 4,000 steps at one length do not suffice, training begins again with other
random weights. It ends when all words were right in an epoch, or after so many CPU-minutes in all.

What was tried, on Tomita 3 and 7 and seeds 0 and 1: with a curriculum that goes on at 80 %, or with
none, Tomita 3 stays at 86 %, three or four states in use, whatever the optimiser, its rate, the
batch, the clipping, the scale of the centroids or of the recurrent weights. A plain GRU learns it
in one to three CPU-seconds. A curriculum that goes on at 99 % only is stuck on Tomita 7 at length
4, where one word of 31 is no member.

The network is then read by counts (the paper's Algorithm 1), by mean transition probability (the
paper's other way), by soft counts, and by `auto`.

Run: python experiments/paper_recipe.py [--seeds 10] [--only dot] [--minutes 10]
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections import Counter
from dataclasses import asdict
from itertools import count, product
from math import ceil
from typing import Any

import numpy as np
import torch
from ledger import Ledger

import kleene as kl
from kleene.data.alphabet import Alphabet
from kleene.data.examples import Examples
from kleene.evaluation.metrics import evaluate
from kleene.extraction.extract import extract
from kleene.model import Model
from kleene.nn.classifier import Classifier
from kleene.nn.config import NetworkConfig
from kleene.nn.fused import load_kernels
from kleene.training.history import Epoch
from kleene.training.loop import fit
from kleene.training.run import Run
from kleene.training.stages import Curriculum, Stage

LENGTHS = [*range(16), 20, 25, 30]
GRAMMARS = (1, 2, 3, 4, 7)
TEMPERATURES = {"dot": 1.0, "cosine": 0.1, "euclidean": 0.3}
RATES = {"adadelta": 0.3, "rmsprop": 3e-4}
"""Chosen with seeds 0, 1 and 100; the paper's 0.01 for RMSprop is too large."""
BATCH_SIZE = 8
NEVER = 10**9
CURRICULUM = Curriculum(
    start=2, step=1, threshold=0.99, steps=NEVER, fair=0.95, fair_steps=1_000, levels=30
)
LENGTH_STEPS = 4_000
"""Steps at one length after which training begins again."""
STATES = (50, 10)
SEEDS_APART = 1_000_000
METHODS = ("counts", "mean", "soft-counts", "auto")
MINUTES = 1.0


class OutOfTimeError(Exception):
    """The training budget is spent."""


class StuckError(Exception):
    """One length has taken too many steps."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only", default="", help="only runs whose key holds this text")
    parser.add_argument("--minutes", type=float, default=MINUTES, help="CPU minutes of training")
    options = parser.parse_args()
    torch.set_num_threads(1)
    load_kernels()
    ledger = Ledger("paper_recipe")
    settings = product(range(options.seeds), TEMPERATURES, RATES, STATES, GRAMMARS)
    for seed, similarity, optimizer, states, grammar in settings:
        key = {"similarity": similarity, "optimizer": optimizer, "states": states}
        key |= {"grammar": grammar, "seed": seed}
        if options.only in str(key):
            recipe = {
                "minutes": options.minutes,
                "rate": RATES[optimizer],
                "batch_size": BATCH_SIZE,
                "curriculum": asdict(CURRICULUM),
                "length_steps": LENGTH_STEPS,
            }
            found = ledger.find(**key)
            if found and found["result"]["learned"] and "rate" in found["recipe"]:
                recipe["minutes"] = found["recipe"]["minutes"]  # more time changes nothing
            row = ledger.run(
                lambda k=key, m=recipe["minutes"]: learn(**k, minutes=m), recipe=recipe, **key
            )
            print(row["key"], row["result"], flush=True)


def learn(
    similarity: str, optimizer: str, states: int, grammar: int, seed: int, minutes: float
) -> dict[str, Any]:
    """Train cell and states together, and read the machine in three ways."""
    language = kl.languages.tomita(grammar)
    words, labels = language.sample(2000, lengths=LENGTHS, seed=seed)
    alphabet = Alphabet(language.alphabet)
    examples = Examples(words=alphabet.encode_many(words), labels=np.array(labels, dtype=np.int64))
    config = NetworkConfig(
        num_symbols=len(alphabet),
        num_classes=2,
        hidden_size=100,
        input_size=100,
        similarity=similarity,
        temperature=TEMPERATURES[similarity],
        num_states=states,
    )
    started = time.process_time()
    over = started + 60 * minutes
    for attempt in count():
        torch.manual_seed(seed + attempt * SEEDS_APART)
        network = Classifier(config)
        with contextlib.suppress(StuckError):
            train(network, examples, optimizer, seed=seed + attempt * SEEDS_APART, over=over)
            break
    model = Model(network=network, alphabet=alphabet, classes=(False, True), longest=30)
    seconds = time.process_time() - started
    accuracy = evaluate(network, examples).accuracy
    fresh, truth = language.sample(2000, lengths=range(41), seed=1000 + seed)
    unseen = Examples(words=alphabet.encode_many(fresh), labels=np.array(truth, dtype=np.int64))
    readings = {method: extract(model, words, method=method, seconds=5) for method in METHODS}
    return {
        "learned": accuracy == 1,
        "accuracy": accuracy,
        "fresh_accuracy": evaluate(network, unseen).accuracy,
        "train_seconds": round(seconds, 1),
        "attempts": attempt + 1,
        **{f"{name}_exact": bool(found.dfa == language.dfa) for name, found in readings.items()},
        **{f"{name}_fidelity": found.fidelity.overall for name, found in readings.items()},
        "states_used": readings["counts"].raw.num_states,
        "minimal_states": language.dfa.num_states,
    }


def train(
    network: Classifier, examples: Examples, optimizer: str, *, seed: int, over: float
) -> None:
    """Train until all words are right or the CPU clock shows `over`; raises StuckError."""
    steps: Counter[float | None] = Counter()

    def watch(network: Classifier, epoch: Epoch) -> None:
        if time.process_time() > over:
            raise OutOfTimeError
        steps[epoch.limit] += ceil(epoch.words / BATCH_SIZE)
        if steps[epoch.limit] > LENGTH_STEPS and epoch.accuracy < CURRICULUM.fair:
            raise StuckError

    stage = Stage(
        epochs=NEVER,
        optimizer=optimizer,
        learning_rate=RATES[optimizer],
        batch_size=BATCH_SIZE,
        curriculum=CURRICULUM,
        target=1.0,
    )
    with contextlib.suppress(OutOfTimeError):
        fit(network, examples, stages=[stage], run=Run(seed=seed, hook=watch))


if __name__ == "__main__":
    main()

"""How good explanations are, and what they cost: on test reviews, with the trained IMDB network.

Deletion and insertion areas of our three ways of weighing words beside Integrated Gradients (our
own, in batches, and captum's, a review at a time), occlusion and chance; the time of explaining
reviews against that of predicting them; and how a linear classifier does on transition features,
beside the network itself and a bag of words.

Run: KLEENE_DATA=... python experiments/explanations.py MODEL [--reviews 500] [--costly 100]
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from attributions import (
    Attribution,
    ByStates,
    CaptumGradients,
    IntegratedGradients,
    Occlusion,
    faithfulness,
)
from ledger import Ledger
from paper.texts import cut, encode

from kleene.datasets.corpora import Splits, imdb
from kleene.evaluation.metrics import evaluate, logits
from kleene.explain.explain import explain_many
from kleene.explain.features import STATISTICS, features
from kleene.explain.methods import METHODS
from kleene.model import Model

TOKENS = 400
TIMED = 1_000
REPEATS = 5
OURS: dict[str, Attribution] = {name: ByStates(name) for name in METHODS}
PEERS: dict[str, Attribution] = {
    "integrated gradients, 32 steps": IntegratedGradients(),
    "captum's integrated gradients, 32 steps": CaptumGradients(),
    "occlusion": Occlusion(),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--reviews", type=int, default=500)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, splits = Model.load(options.model), imdb(options.data)
    ledger, name = Ledger("explanations"), options.model.name
    for part, work in PARTS.items():
        row = ledger.run(
            lambda work=work: work(model, splits, options.reviews), part=part, model=name
        )
        print(row["key"], row["result"], flush=True)


def quality(model: Model, splits: Splits, reviews: int) -> dict[str, Any]:
    """Deletion and insertion areas, and milliseconds a review, on the same random reviews."""
    chosen = np.random.default_rng(0).permutation(len(splits.test))[:reviews]
    words = encode(splits.test.select(chosen), model.alphabet, _classes(model), TOKENS).words
    measured = faithfulness(model.network, list(words), {**OURS, **PEERS})
    print(measured, flush=True)
    return measured.to_dict()


def cost(model: Model, splits: Splits, reviews: int) -> dict[str, Any]:
    """Processor time of explaining reviews over that of predicting them, interleaved."""
    texts = [cut(word, TOKENS) for word in splits.test.select(range(0, 25_000, 25)).words[:TIMED]]
    encoded = model.alphabet.encode_many(texts)
    ways: dict[str, Callable[[], object]] = {
        "predict": lambda: logits(model.network, model.alphabet.encode_many(texts))
    }
    for name in METHODS:
        ways[name] = lambda name=name: explain_many(model, texts, method=name)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, work in ways.items():
            started = time.process_time()
            work()
            seconds[name].append(time.process_time() - started)
    predicting = median(seconds["predict"])
    return {
        "reviews": len(encoded),
        "seconds": {name: round(median(found), 3) for name, found in seconds.items()},
        "ratio": {name: round(median(seconds[name]) / predicting, 2) for name in METHODS},
    }


def reduction(model: Model, splits: Splits, reviews: int) -> dict[str, Any]:
    """Accuracy of a linear classifier on k numbers a review, and of its peers."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    classes = _classes(model)
    train, test = (encode(part, model.alphabet, classes, TOKENS) for part in splits)

    def linear(inside: Any, outside: Any) -> float:
        fitted = LogisticRegression(max_iter=1000).fit(inside, train.labels)
        return round(float(fitted.score(outside, test.labels)), 4)

    found: dict[str, Any] = {"network": round(evaluate(model.network, test).accuracy, 4)}
    for statistics in (("mean",), STATISTICS):
        both = [
            features(model.network, part.words, statistics=statistics) for part in (train, test)
        ]
        scaler = StandardScaler().fit(both[0])
        name = f"{both[0].shape[1]} transition features ({', '.join(statistics)})"
        found[name] = linear(*map(scaler.transform, both))
    bags = CountVectorizer(analyzer=lambda word: word, binary=True, max_features=20_000)
    inside = bags.fit_transform([cut(word, TOKENS) for word in splits.train.words])
    outside = bags.transform([cut(word, TOKENS) for word in splits.test.words])
    found[f"bag of {inside.shape[1]:,} words"] = linear(inside, outside)
    return found


def _classes(model: Model) -> tuple[str, ...]:
    return tuple(map(str, model.classes))


PARTS = {"cost": cost, "reduction": reduction, "quality": quality}


if __name__ == "__main__":
    main()

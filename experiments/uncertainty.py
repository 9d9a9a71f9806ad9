"""How far probabilities can be believed, and whether a network knows what is not its own.

Trained on IMDB reviews, tested on others: accuracy, expected calibration error. Then messages of
20 Newsgroups (bodies only) are out of domain: how well do the network's doubts tell them from
reviews (area under the ROC curve)? Sources of doubt: the plain softmax; states drawn from their
transition probabilities, or with Gumbel noise and a learned temperature; dropout left on.

At the quick scale the networks are trained here: 5,000 reviews, 200 tokens, width 64, four epochs.
`--scale small` takes the models that `experiments/reproduce.py imdb --models DIR` left in DIR.

Run: KLEENE_DATA=... python experiments/uncertainty.py [--scale small --models DIR] [--seeds 2]
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from numpy.typing import NDArray
from page import ROOT
from paper.texts import cut, smaller_embeddings, text_task
from paper.training import falling_rate, train_and_test
from sklearn.metrics import roc_auc_score

from kleene.datasets.corpora import LabelledTexts, Splits, imdb, newsgroups
from kleene.evaluation.calibration import Reliability, reliability
from kleene.evaluation.metrics import predict
from kleene.evaluation.uncertainty import (
    Distribution,
    draw_predictions,
    drawn_states,
    dropped_units,
)
from kleene.model import Model
from kleene.training.progress import Quiet

NETWORKS: dict[str, dict[str, Any]] = {
    "LSTM": {"cell": "lstm", "num_states": 0},
    "SR-LSTM-P": {"cell": "lstm-p", "num_states": 10},
    "SR-LSTM-P gumbel": {
        "cell": "lstm-p",
        "num_states": 10,
        "transition": "gumbel",
        "learn_temperature": True,
    },
}
SCALES = {
    "quick": {"tokens": 200, "texts": 1_000, "samples": 10},
    "small": {"tokens": 400, "texts": 1_000, "samples": 10},
}
TRAINING_REVIEWS, VOCABULARY = 5_000, 20_000
NOISES = {"softmax": None, "states": drawn_states, "dropout": dropped_units}

MIN_ROWS = 10
"""Bins with fewer words are not drawn."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--models", type=Path, default=Path("models"))
    parser.add_argument("--scale", choices=SCALES, default="quick")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger, scale = Ledger("uncertainty"), SCALES[options.scale]
    reviews, others = imdb(options.data), newsgroups(options.data, cleaned=True).test
    known = chosen(reviews.test, scale["texts"])
    foreign = chosen(spoken(others), scale["texts"])
    for seed in range(options.seeds):
        for row, settings in NETWORKS.items():
            folder = options.models / "imdb" / options.scale / f"{row}-{seed}".replace(" ", "-")
            if options.scale == "quick":
                train(reviews, settings, seed, folder)
            if not (folder / "config.json").exists():
                print(f"no model in {folder} yet", flush=True)
                continue
            model = Model.load(folder)
            for noise in NOISES:
                if noise == "states" and not model.network.rnn.num_states:
                    continue

                def work(
                    model: Model = model, noise: str = noise, seed: int = seed
                ) -> dict[str, Any]:
                    return measure(model, known, foreign, noise, seed, scale)

                key = {"row": row, "noise": noise, "seed": seed, "scale": options.scale}
                found = ledger.run(work, **key)
                shown = {k: v for k, v in found["result"].items() if k != "reliability"}
                print(found["key"], shown, found["cpu_seconds"], flush=True)
    draw(ledger)


def chosen(corpus: LabelledTexts, count: int) -> LabelledTexts:
    """Some texts, always the same."""
    order = np.random.default_rng(0).permutation(len(corpus))[:count]
    return corpus.select(np.sort(order))


def spoken(corpus: LabelledTexts) -> LabelledTexts:
    """The texts that are not empty."""
    return corpus.select(i for i, text in enumerate(corpus.texts) if text.split())


def train(reviews: Splits, settings: dict[str, Any], seed: int, folder: Path) -> None:
    """A network of the quick scale, unless it is there already."""
    if (folder / "config.json").exists():
        return
    few = Splits(chosen(reviews.train, TRAINING_REVIEWS), chosen(reviews.test, 10))
    task = text_task(few, vocabulary=VOCABULARY, tokens=SCALES["quick"]["tokens"])
    shape = {"input_size": 64, "hidden_size": 64, "pooling": "max", "dropout": 0.3}
    result = train_and_test(
        task,
        network={"num_symbols": len(task.alphabet), **shape, **settings},
        stages=falling_rate((3, 2e-3), (1, 5e-4), batch_size=32),
        seed=seed,
        folder=folder,
        checkpoint="checkpoint.safetensors",
        reporter=Quiet(),
        prepare=smaller_embeddings,
    )
    print(folder, result, flush=True)


def measure(
    model: Model,
    known: LabelledTexts,
    foreign: LabelledTexts,
    noise: str,
    seed: int,
    scale: dict[str, int],
) -> dict[str, Any]:
    """Accuracy and calibration on known texts, and how well doubt tells the foreign ones."""
    numbers = {label: i for i, label in enumerate(model.classes)}
    labels = np.array([numbers[label] for label in known.labels])
    own = answers(model, known, noise, seed, scale)
    other = answers(model, foreign, noise, seed + 1, scale)
    found = reliability(own.mean, labels)
    right = own.mean.argmax(1) == labels
    result = {
        "accuracy": round(float(right.mean()), 4),
        "loss": round(float(-np.log(own.mean[np.arange(len(labels)), labels]).mean()), 4),
        "calibration_error": round(found.error, 4),
        "auroc_entropy": auroc(own.entropy, other.entropy),
        "auroc_mutual_information": None,
        "auroc_own_mistakes": auroc(own.entropy[right], own.entropy[~right]),
        "samples": len(own.draws),
        "texts": [len(known), len(foreign)],
        "temperature": model.network.rnn.temperature if model.network.rnn.num_states else None,
        "reliability": found.to_dict(),
    }
    if noise != "softmax":
        result["auroc_mutual_information"] = auroc(own.mutual_information, other.mutual_information)
        result["mean_spread"] = round(float(own.spread.mean()), 4)
    return result


def answers(
    model: Model,
    corpus: LabelledTexts,
    noise: str,
    seed: int,
    scale: dict[str, int],
) -> Distribution:
    """The network's answers: one, or as many as are drawn."""
    texts = [cut(word, scale["tokens"]) for word in corpus.words]
    words = model.alphabet.encode_many(texts)
    if NOISES[noise] is None:
        return Distribution(draws=predict(model.network, words).probabilities[None])
    samples = scale["samples"]
    return draw_predictions(model.network, words, samples=samples, noise=NOISES[noise], seed=seed)


def auroc(inside: NDArray[Any], outside: NDArray[Any]) -> float:
    """The chance that one from outside has more of a value than one from inside."""
    truth = np.r_[np.zeros(len(inside)), np.ones(len(outside))]
    return round(float(roc_auc_score(truth, np.r_[inside, outside])), 4)


def draw(ledger: Any) -> None:
    """One reliability diagram of the first seed at the quick scale, or of what there is."""
    from kleene.report.plots import save

    rows = [row for row in ledger.rows if row["key"]["seed"] == 0]
    scales = [row["key"]["scale"] for row in rows]
    best = "small" if scales.count("small") >= 8 else "quick"
    curves = {
        f"{row['key']['row']}, {row['key']['noise']}": Reliability.from_dict(
            row["result"]["reliability"]
        )
        for row in rows
        if row["key"]["scale"] == best
    }
    save(reliability_diagram(curves), ROOT / "docs" / "img" / "reliability.png")


def reliability_diagram(curves: Mapping[str, Reliability]) -> Any:
    """Accuracy against confidence, one line each, with its calibration error; ideal is dashed.

    `curves` are found by the names that the figure shows.
    """
    from matplotlib.figure import Figure

    from kleene.report.plots import COLORS

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    lowest = 1.0
    for i, (name, curve) in enumerate(curves.items()):
        drawn = curve.counts >= min(MIN_ROWS, curve.counts.max(initial=0))
        drawn &= curve.counts > 0
        lowest = min(lowest, *curve.confidence[drawn], *curve.accuracy[drawn])
        axes.plot(
            curve.confidence[drawn],
            curve.accuracy[drawn],
            label=f"{name}: {100 * curve.error:.1f} %",
            color=COLORS[i % len(COLORS)],
            marker="os^Dv"[i // 3 % 5],
            markersize=4,
        )
    ends = np.array([max(0.0, lowest - 0.03), 1.0])
    axes.plot(ends, ends, "--", color="#777777", linewidth=1)
    axes.set_xlabel("probability of the answer")
    axes.set_ylabel("share of such answers that is right")
    axes.legend(title="calibration error", fontsize=8)
    return figure


if __name__ == "__main__":
    main()

"""What the states of trained networks mean: tables to results/states.json, pictures to docs/img.

Run: KLEENE_DATA=... python experiments/states.py MODELS [--parts imdb,newsgroups,mnist], where
MODELS is the folder in which `kleene reproduce` left its models.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger

from kleene.datasets.corpora import LabelledTexts, imdb, newsgroups
from kleene.datasets.mnist import mnist
from kleene.explain.batched_traces import scores_of
from kleene.explain.explain import explain, explain_many
from kleene.explain.features import features, telling_states, transition_maps
from kleene.explain.methods import METHODS
from kleene.explain.phrases import phrases
from kleene.explain.prototypes import prototypes
from kleene.explain.summary import summarize
from kleene.files import write_atomically
from kleene.machine import Label
from kleene.model import Model
from kleene.report.plots import image_explanations, save, tsne
from kleene.report.plots import transition_maps as draw_maps
from kleene.reproduce.texts import cut

IMAGES = Path(__file__).parents[1] / "docs" / "img"
TOKENS = 400
SHOWN = 90  # words of a text that is shown
DRAWN = 2_000  # points of a t-SNE
STATES = 10  # columns of a picture
MODELS = {
    "imdb": "imdb/small/SR-LSTM-P-0",
    "newsgroups": "newsgroups/small/SR-LSTM-P-cleaned-0",  # headers would show addresses
    "mnist": "mnist/small/SR-LSTM-P-0",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", type=Path)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    ledger = Ledger("states")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in options.parts.split(","):
        ledger.rows = [row for row in ledger.rows if row["key"] != {"part": name}]
        model = Model.load(options.models / MODELS[name])
        ledger.run(lambda name=name, model=model: PARTS[name](model, options.data), part=name)


def reviews(model: Model, data: str | None) -> dict[str, Any]:
    """Prototypes, phrases, moves and two explained reviews."""
    corpus = imdb(data).test
    words = _words(corpus)
    found = prototypes(model, words, labels=corpus.labels, top=8, min_count=50)
    summary = summarize(model, words)
    summary.draw(IMAGES / "imdb-moves.svg", min_share=0.15)
    _explained("imdb", model, corpus)
    listed: dict[str, Any] = {}
    for n in (2, 3):
        listed[f"level {n}"] = phrases(model, words[::5], n=n, top=8, min_count=5).to_dict()
    for method in ("change", "evidence"):
        spoken = phrases(model, words[::5], n=3, top=8, min_count=5, method=method)
        listed[method] = spoken.to_dict()
    return {"prototypes": found.to_dict(), "phrases": listed}


def messages(model: Model, data: str | None) -> dict[str, Any]:
    """Prototypes of the groups, two explained messages, and t-SNE of transition features."""
    corpus = newsgroups(data, cleaned=True).shuffled(0).test
    words = _words(corpus)
    found = prototypes(model, words, labels=corpus.labels, top=6, min_count=20)
    _explained("newsgroups", model, corpus)
    encoded = model.alphabet.encode_many(words[:DRAWN])
    found_features = features(model.network, encoded, statistics=("mean", "max"))
    figure = tsne(found_features, corpus.labels[:DRAWN])
    save(figure, IMAGES / "newsgroups-tsne.png", dpi=110)
    spoken = phrases(model, words, n=1, top=6, min_count=20, method="evidence")
    return {"prototypes": found.to_dict(), "evidence": spoken.to_dict()}


def digits(model: Model, data: str | None) -> dict[str, Any]:
    """Maps of the classes, maps of single digits, and t-SNE of transition features."""
    images = mnist(data).test.pooled()
    encoded, (rows, columns) = images.vectors(), images.shape
    maps = transition_maps(model.network, encoded, images.labels)
    telling = telling_states(maps)
    chosen = np.sort(telling[:STATES])
    shaped = maps[:, chosen].reshape(len(maps), len(chosen), rows, columns)
    save(
        draw_maps(shaped, model.classes, names=chosen.tolist()), IMAGES / "mnist-maps.png", dpi=110
    )
    right = scores_of(model.network, encoded).argmax(-1).numpy() == images.labels
    first = [int(np.flatnonzero(right & (images.labels == label))[0]) for label in range(10)]
    explained = explain_many(model, [encoded[i] for i in first])
    best = telling[:4].tolist()
    picture = image_explanations(images.pixels[first], explained, best)
    save(picture, IMAGES / "mnist-explained.png", dpi=110)
    figure = tsne(features(model.network, encoded[:DRAWN]), images.labels[:DRAWN].tolist())
    save(figure, IMAGES / "mnist-tsne.png", dpi=110)
    return {"states_drawn": chosen.tolist(), "states_explained": best}


def _words(corpus: LabelledTexts) -> list[tuple[str, ...]]:
    return [cut(word, TOKENS) for word in corpus.words]


def _explained(name: str, model: Model, corpus: LabelledTexts) -> None:
    """Pictures of two short texts, predicted right, for whose class there is a state."""
    short = [i for i, word in enumerate(corpus.words) if 40 <= len(word) <= SHOWN][:400]
    chosen: dict[Label, int] = {}
    for one, i in zip(explain_many(model, [corpus.words[i] for i in short]), short, strict=True):
        certain = one.prediction == corpus.labels[i] and one.probability > 0.9
        if certain and one.state_labels[one.predicting_state] == one.prediction:
            chosen.setdefault(one.prediction, i)
    for number, i in enumerate(list(chosen.values())[:2], start=1):
        for method in METHODS:
            path = IMAGES / f"{name}-explained-{method}-{number}.svg"
            write_atomically(path, explain(model, corpus.words[i], method=method).to_svg())


PARTS = {"imdb": reviews, "newsgroups": messages, "mnist": digits}


if __name__ == "__main__":
    main()

"""Pictures of the states of trained networks, to docs/img; `readable_texts.py` has the tables.

Run: KLEENE_DATA=... python experiments/states.py MODELS [--parts newsgroups,mnist,pooled-mnist],
where MODELS is the folder in which `experiments/reproduce.py` left its models.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from numpy.typing import ArrayLike
from paper.texts import cut

from kleene.data.batch import Encoded
from kleene.datasets.corpora import newsgroups
from kleene.datasets.mnist import mnist
from kleene.evaluation.metrics import logits
from kleene.explain.batched_traces import batched_traces
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.features import features, states_picture, telling_states, transition_maps
from kleene.explain.markup import as_text
from kleene.model import Model
from kleene.report.plots import picture_grid, save, tsne
from kleene.report.plots import transition_maps as draw_maps

IMAGES = Path(__file__).parents[1] / "docs" / "img"
TOKENS = 400
SHOWN = 90  # words of a text that is shown
DRAWN = 2_000  # points of a t-SNE, and test digits
STATES = 10  # columns of a picture
MODELS = {
    "newsgroups": "newsgroups/small/SR-LSTM-P-cleaned-0",  # headers would show addresses
    "mnist": "mnist/small/SR-LSTM-P-784-steps-0",
    "pooled-mnist": "mnist/small/SR-LSTM-P-0",
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


def messages(model: Model, data: str | None) -> dict[str, Any]:
    """t-SNE of the transition features of messages."""
    corpus = newsgroups(data, cleaned=True).shuffled(0).test
    words = [cut(word, TOKENS) for word in corpus.words[:DRAWN]]
    encoded = model.alphabet.encode_many(words)
    found = features(model.network, encoded, statistics=("mean", "max"))
    save(tsne(found, corpus.labels[:DRAWN]), IMAGES / "newsgroups-tsne.png", dpi=110)
    return {"messages": len(words)}


def digits(model: Model, data: str | None) -> dict[str, Any]:
    """Maps of the classes, maps of single digits, and t-SNE of transition features."""
    images = mnist(data).test.select(np.arange(DRAWN))
    encoded, (rows, columns) = images.vectors(), images.shape
    maps = transition_maps(model.network, encoded, images.labels)
    telling = telling_states(maps)
    chosen = np.sort(telling[:STATES])
    picture = states_picture(model.network, encoded, maps)
    shaped = np.concatenate([picture[:, None], maps[:, chosen]], 1).reshape(10, -1, rows, columns)
    drawn = draw_maps(shaped, model.classes, names=["all", *chosen.tolist()])
    save(drawn, IMAGES / "mnist-maps.png", dpi=110)
    right = logits(model.network, encoded).argmax(-1).numpy() == images.labels
    first = [int(np.flatnonzero(right & (images.labels == label))[0]) for label in range(10)]
    explained = explain_many(model, [encoded[i] for i in first])
    best = telling[:4].tolist()
    shown = image_explanations(images.pixels[first], explained, best)
    save(shown, IMAGES / "mnist-explained.png", dpi=110)
    figure = tsne(features(model.network, encoded), images.labels.tolist())
    save(figure, IMAGES / "mnist-tsne.png", dpi=110)
    return {"states_drawn": chosen.tolist(), "states_explained": best, **softness(model, encoded)}


def image_explanations(
    images: ArrayLike, explanations: Sequence[Explanation], states: Sequence[int]
) -> Any:
    """Images (image, row, column) on top, and below each its maps for some states.

    Each state has its own scale, from 0 to its highest probability.
    """
    pictures = np.asarray(images)
    figure, axes = picture_grid(1 + len(states), len(pictures))
    size = (pictures.shape[1], pictures.shape[2])
    maps = np.stack([one.probs.T.reshape(-1, *size)[list(states)] for one in explanations])
    highest = maps.max((0, 2, 3))
    for c, (picture, explanation) in enumerate(zip(pictures, explanations, strict=True)):
        axes[0, c].imshow(picture, cmap="gray_r")
        axes[0, c].set_title(as_text(explanation.prediction), fontsize=9, pad=2)
        for r, state in enumerate(states, start=1):
            axes[r, c].imshow(maps[c, r - 1], cmap="magma", vmin=0, vmax=highest[r - 1])
            axes[r, 0].set_ylabel(f"state {state}", rotation=0, ha="right", va="center", fontsize=8)
    return figure


def pooled_digits(model: Model, data: str | None) -> dict[str, Any]:
    """How soft the states of a network are that reads pooled digits."""
    return softness(model, mnist(data).test.select(np.arange(DRAWN)).pooled().vectors())


def softness(model: Model, encoded: Sequence[Encoded]) -> dict[str, float]:
    """Over all steps, the mean perplexity of the state probabilities and their mean maximum."""
    perplexity, highest = [], []
    for traced in batched_traces(model.network, encoded):
        probs = traced.probs[:, 1:][traced.mask]
        entropy = -(probs * np.log(np.maximum(probs, 1e-12))).sum(1)
        perplexity.append(np.exp(entropy))
        highest.append(probs.max(1))
    return {
        "perplexity": round(float(np.concatenate(perplexity).mean()), 1),
        "highest_probability": round(float(np.concatenate(highest).mean()), 3),
    }


PARTS = {"newsgroups": messages, "mnist": digits, "pooled-mnist": pooled_digits}


if __name__ == "__main__":
    main()

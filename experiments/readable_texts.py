"""Do the states of a text classifier mean what their weights say? Measured on test texts.

For models with `pooling="states"` (`reproduce.py imdb --rows "SR-LSTM-P states"`), and purity
and tables for any other:

- purity: the share of each class state's top 20 words (at least 50 occurrences) whose weight in a
  bag-of-words logistic regression speaks for the state's class;
- phrases: the same for the words of the strongest 2- and 3-grams, added up;
- quality: deletion and insertion of highlighting by the states' weights, and CPU milliseconds;
- peers: the same on a tenth of the texts, beside Integrated Gradients on the same network;
- tables, pictures: prototypes, phrases and two explained texts for docs/results/states.md.

Run: KLEENE_DATA=... python experiments/readable_texts.py imdb MODEL [--texts 500] [--parts ...]
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
from attributions import Attribution, ByStates, IntegratedGradients, faithfulness
from ledger import Ledger
from numpy.typing import NDArray

from kleene.datasets.corpora import Splits, imdb, newsgroups
from kleene.explain.explain import Explanation, explain_many
from kleene.explain.markup import AGAINST, FOR, MAX_OPACITY, as_text, display_width
from kleene.explain.phrases import Phrases, phrases
from kleene.explain.prototypes import Prototypes, prototypes
from kleene.files import write_atomically
from kleene.machine import Label, Symbol
from kleene.model import Model

IMAGES = Path(__file__).parents[1] / "docs" / "img"
OFTEN = {"imdb": 50, "newsgroups": 20, "newsgroups cleaned": 20}
"""Occurrences of a word in the test texts from which on it counts as a prototype."""
TOP = 20
CUT = {"imdb": 2_500, "newsgroups": 400, "newsgroups cleaned": 400}
"""Tokens of a text, as in training."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", choices=list(OFTEN))
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--seed", type=int, default=0, help="of the split of 20 Newsgroups")
    options = parser.parse_args()
    torch.set_num_threads(1)
    splits = _splits(options.corpus, options.data, options.seed)
    study = Study(options.corpus, Model.load(options.model), splits, options.texts)
    ledger = Ledger("readable_texts")
    weights = hashlib.sha256((options.model / "model.safetensors").read_bytes()).hexdigest()[:16]
    for part in options.parts.split(","):
        key = {"part": part, "corpus": options.corpus, "model": options.model.name}
        recipe = {"texts": options.texts, "sha256": weights}
        row = ledger.run(lambda part=part: PARTS[part](study), recipe=recipe, **key)
        print(row["key"], row["result"], flush=True)


def _splits(corpus: str, data: str | None, seed: int) -> Splits:
    if corpus == "imdb":
        return imdb(data)
    return newsgroups(data, cleaned=corpus.endswith("cleaned")).shuffled(seed)


_CHAR, _LINE, _PAD, _MARGIN = 8.4, 27, 3, 12  # pixels, for a monospaced font of 14


@dataclass(frozen=True)
class Study:
    """A model, its texts, and a bag-of-words classifier of them to compare with."""

    corpus: str
    model: Model
    splits: Splits
    texts: int

    @cached_property
    def test(self) -> list[tuple[str, ...]]:
        """The test texts, cut as in training."""
        from paper.texts import cut

        return [cut(word, CUT[self.corpus]) for word in self.splits.test.words]

    @cached_property
    def weights(self) -> dict[Symbol, NDArray[np.float64]]:
        """The weight of each word for each class in a bag-of-words logistic regression."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        bags = CountVectorizer(
            analyzer=lambda word: word, binary=True, vocabulary=list(self.model.alphabet.symbols)
        )
        train = self.splits.train
        fitted = LogisticRegression(max_iter=1000).fit(
            bags.transform(train.words), [self.model.class_ids[label] for label in train.labels]
        )
        rows = (
            fitted.coef_
            if len(self.model.classes) > 2
            else np.vstack([-fitted.coef_, fitted.coef_])
        )
        rows = rows - rows.mean(0)
        return dict(zip(self.model.alphabet.symbols, rows.T, strict=True))

    @cached_property
    def prototypes(self) -> Prototypes:
        """The words of every state."""
        return prototypes(self.model, self.test, top=TOP, min_count=OFTEN[self.corpus])

    @cached_property
    def phrases(self) -> dict[int, Phrases]:
        """The strongest phrases of every class, by their length, in a fifth of the texts."""
        return {n: phrases(self.model, self.test[::5], n=n, top=TOP, min_count=5) for n in (2, 3)}

    def speaks_for(self, label: Label, *words: Symbol) -> bool:
        """Whether the words' weights add up to something for the class."""
        return bool(sum(self.weights[word][self.model.class_ids[label]] for word in words) > 0)


def purity(study: Study) -> dict[str, Any]:
    """Agreement of the states' words with a bag of words, by state and over all."""
    found, states = study.prototypes, {}
    for i, (label, words) in enumerate(zip(found.state_labels, found.states, strict=True)):
        if label is not None:
            agree = [study.speaks_for(label, word.symbol) for word in words]
            states[i] = {
                "class": str(label),
                "visits": round(found.visits[i], 4),
                "agree": sum(agree),
            }
    shares = [one["agree"] / TOP for one in states.values()]
    mean = round(float(np.mean(shares)), 4) if shares else None
    return {"purity": mean, "states": states, "top": TOP}


def label_purity(study: Study) -> dict[str, Any]:
    """Agreement of the states' words with the labels of test texts, which taught nothing.

    The words come from every second test text; the labels are those of the other texts. A word
    agrees if its texts have the class of its state more often than all of these texts have it.
    """
    found = prototypes(study.model, study.test[::2], top=TOP, min_count=OFTEN[study.corpus])
    judges = list(zip(study.test[1::2], study.splits.test.labels[1::2], strict=True))
    labels_of: dict[Symbol, list[Label]] = {}
    for text, label in judges:
        for word in set(text):
            labels_of.setdefault(word, []).append(label)
    states = {}
    for i, (label, words) in enumerate(zip(found.state_labels, found.states, strict=True)):
        if label is not None:
            usual = np.mean([one == label for _, one in judges])
            seen = [labels_of[word.symbol] for word in words if word.symbol in labels_of]
            agree = sum(bool(np.mean([one == label for one in own]) > usual) for own in seen)
            states[i] = {"class": str(label), "agree": agree, "judged": len(seen)}
    shares = [one["agree"] / one["judged"] for one in states.values() if one["judged"]]
    mean = round(float(np.mean(shares)), 4) if shares else None
    return {"purity": mean, "states": states, "top": TOP}


def phrase_agreement(study: Study) -> dict[str, Any]:
    """Agreement of the strongest phrases of every class."""
    result = {}
    for n, found in study.phrases.items():
        agree = [
            study.speaks_for(label, *phrase.symbols)
            for label, listed in found.classes.items()
            for phrase in listed
        ]
        result[str(n)] = {"agree": sum(agree), "phrases": len(agree)}
    return result


def quality(study: Study) -> dict[str, Any]:
    """Deletion and insertion areas, and CPU milliseconds a text, on the same random texts."""
    return _measured(study, study.texts, {})


def peers(study: Study) -> dict[str, Any]:
    """The same beside Integrated Gradients, which cost much more, on fewer texts."""
    return _measured(study, study.texts // 10, {"integrated gradients": IntegratedGradients()})


def _measured(study: Study, texts: int, others: dict[str, Attribution]) -> dict[str, Any]:
    chosen = np.random.default_rng(0).permutation(len(study.test))[:texts]
    encoded = study.model.alphabet.encode_many([study.test[i] for i in chosen if study.test[i]])
    ours = {name: ByStates(name) for name in ("level", "contribution", "evidence")}
    return faithfulness(study.model.network, list(encoded), {**ours, **others})


def tables(study: Study) -> dict[str, Any]:
    """What docs/results/states.md shows."""
    return {
        "prototypes": study.prototypes.to_dict(),
        "phrases": {str(n): one.to_dict() for n, one in study.phrases.items()},
    }


def text_svg(explanation: Explanation, width: int = 760) -> str:
    """A picture of an explained text, lines broken to fit the width."""
    gap = _CHAR * len(explanation.between)
    x, y, body = float(_MARGIN), _MARGIN + 2 * _LINE, []
    for symbol, strength in zip(explanation.word, explanation.strengths, strict=True):
        text = as_text(symbol)
        size = _CHAR * display_width(text)
        if x + size > width - _MARGIN and x > _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        box = f'x="{x - _PAD / 2:.1f}" y="{y - 17}" width="{size + _PAD:.1f}" height="23" rx="3"'
        if abs(strength) >= 0.02:
            body.append(
                f'<rect {box} fill="rgb{FOR if strength >= 0 else AGAINST}" '
                f'fill-opacity="{abs(strength) * MAX_OPACITY:.2f}"/>'
            )
        fit = f'textLength="{size:.1f}" lengthAdjust="spacingAndGlyphs"'
        if text.strip():
            body.append(f'<text x="{x:.1f}" y="{y}" {fit}>{escape(text)}</text>')
        x += size + gap
    title = escape(str(explanation).splitlines()[0])
    head = f'<text x="{_MARGIN}" y="{_MARGIN + 14}" class="t">{title}</text>'
    height = y + _MARGIN + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">'
        "<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#222}"
        ".t{font-weight:bold}</style>"
        f'<rect width="100%" height="100%" fill="white"/>'
        f"{head}{''.join(body)}</svg>"
    )


def pictures(study: Study) -> dict[str, Any]:
    """A short review of each class, predicted right and surely, highlighted by its shares."""
    short = [i for i, word in enumerate(study.test) if 40 <= len(word) <= 90][::5]
    shown: dict[Label, int] = {}
    explained = explain_many(study.model, [study.test[i] for i in short])
    for one, i in zip(explained, short, strict=True):
        right = one.prediction == study.splits.test.labels[i] and one.probability > 0.9
        if right and one.prediction not in shown:
            shown[one.prediction] = i
            name = f"{study.corpus}-{one.prediction}.svg".replace(" ", "-")
            write_atomically(IMAGES / name, text_svg(one))
    return {"texts": {str(label): i for label, i in shown.items()}}


PARTS: dict[str, Callable[[Study], dict[str, Any]]] = {
    "purity": purity,
    "label-purity": label_purity,
    "phrases": phrase_agreement,
    "tables": tables,
    "quality": quality,
    "peers": peers,
    "pictures": pictures,
}


if __name__ == "__main__":
    main()

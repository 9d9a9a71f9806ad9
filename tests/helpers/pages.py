"""Small untrained models for reports and pages, and words of theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from random_models import random_model

from kleene.data.alphabet import Alphabet
from kleene.machine import Label, Symbol, Word
from kleene.model import Model

HOSTILE = ("<script>alert(1)</script>", "</script>", "<img", "src=x", "onerror=alert(1)>", "&amp;")


def page_model(
    symbols: tuple[Symbol, ...] = ("0", "1"),
    *,
    classes: tuple[Label, ...] = (0, 1),
    seed: int = 0,
    **settings: Any,
) -> Model:
    """A network with random weights, large enough that its table has several states."""
    texts = [str(symbol) for symbol in symbols]
    model = random_model(seed, symbols=texts, classes=classes, **settings)
    tokens = "chars" if all(len(text) == 1 for text in texts) else "words"
    return replace(model, alphabet=Alphabet(symbols), tokens=tokens, longest=12)


def random_words(model: Model, count: int, *, longest: int = 12, seed: int = 0) -> list[Word]:
    """Words over the alphabet of a model, the empty one among them."""
    generator = torch.Generator().manual_seed(seed)
    symbols = model.alphabet.symbols
    words: list[Word] = []
    for i in range(count):
        length = i % (longest + 1)
        picks = torch.randint(len(symbols), (length,), generator=generator).tolist()
        word = tuple(symbols[p] for p in picks)
        words.append("".join(map(str, word)) if model.tokens == "chars" else word)
    return words

"""A text classifier that is a finite automaton over words: its certificate, and what it stands.

For a model of `experiments/reproduce.py imdb --rows "SR-GRU states"`:

- certificate: words whose next state is a close call get the vector of a word with the same
  transitions; then the state after every prefix of every text over the alphabet is proved to be the
  automaton's, and the verifier checks it;
- error: of the certified network on the test reviews, beside the network before;
- words: how many words lead to the same state from everywhere, or leave a state as it is;
- substitutions: the share of test reviews whose label no replacement of one word by any other of
  the alphabet changes, exactly. Words outside the alphabet are left out of the reviews.

Run: KLEENE_DATA=... python experiments/text_automaton.py MODEL [--parts ...] [--texts 2500]
"""

from __future__ import annotations

import argparse
import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ledger import Ledger
from paper.texts import encode
from state_model import clear_transitions, state_model
from word_substitutions import substitutions

from kleene.data.alphabet import FIRST_SYMBOL
from kleene.data.examples import Examples
from kleene.datasets.corpora import imdb
from kleene.evaluation.metrics import evaluate
from kleene.extraction.table import NetworkTable, transition_table
from kleene.model import Model
from kleene.proof.certify import certify


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--data", default=os.environ.get("KLEENE_DATA"))
    parser.add_argument("--texts", type=int, default=2_500)
    parser.add_argument("--parts", default=",".join(PARTS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    study = Study(Model.load(options.model), options.data, options.texts)
    ledger = Ledger("text_automaton")
    weights = hashlib.sha256((options.model / "model.safetensors").read_bytes()).hexdigest()[:16]
    recipe = {"texts": options.texts, "sha256": weights}
    for part in options.parts.split(","):
        key = {"part": part, "model": options.model.name}
        row = ledger.run(lambda part=part: PARTS[part](study), recipe=recipe, **key)
        print(row["key"], row["result"], flush=True)


@dataclass(frozen=True)
class Study:
    """A model, and test reviews."""

    model: Model
    data: str | None
    texts: int

    @cached_property
    def test(self) -> Examples:
        """Random test reviews, whole."""
        part = imdb(self.data).test
        chosen = np.random.default_rng(0).permutation(len(part))[: self.texts]
        return encode(part.select(chosen), self.model.alphabet, self.model.classes, 2_500)

    @cached_property
    def cleared(self) -> tuple[Model, int, list[int]]:
        """The model without close calls, how many words were changed, and predictions before."""
        before = evaluate(self.model.network, self.test, 64).predicted.tolist()
        return self.model, clear_transitions(self.model), before

    @cached_property
    def table(self) -> NetworkTable:
        """The automaton of the model without close calls."""
        return transition_table(state_model(self.cleared[0]))


def certificate(study: Study) -> dict[str, Any]:
    """Whether the state after every prefix is proved, and what that costs."""
    model, changed, _ = study.cleared
    started = time.process_time()
    found = certify(state_model(model))
    seconds = time.process_time() - started
    return {
        "holds": found.holds,
        "states": study.table.dfa.num_states,
        "words": len(model.alphabet.symbols),
        "words_changed": changed,
        "steps_checked": getattr(found, "checked_pairs", 0),
        "seconds": round(seconds, 1),
        "says": str(found)[:300],
    }


def error(study: Study) -> dict[str, Any]:
    """Test error of the certified network, and how many predictions differ from before."""
    model, _, before = study.cleared
    found = evaluate(model.network, study.test, 64)
    return {
        "test_error": round(100 * (1 - found.accuracy), 2),
        "reviews": len(study.test),
        "predictions_changed": int((found.predicted != np.array(before)).sum()),
    }


def words(study: Study) -> dict[str, Any]:
    """What words do to the states."""
    moves = study.table.dfa.transitions  # state symbol
    return {
        "words_that_lead_to_one_state": int((moves == moves[:1]).all(0).sum()),
        "words_that_leave_a_state": {
            study.table.dfa.names[q]: int((row == q).sum()) for q, row in enumerate(moves)
        },
    }


def word_substitutions(study: Study) -> dict[str, Any]:
    """The share of reviews that no single replacement gives another label."""
    model, _, _ = study.cleared
    known = [ids[ids >= FIRST_SYMBOL] for ids in study.test.words]
    started = time.process_time()
    found = substitutions(model, [model.alphabet.decode(ids) for ids in known])
    seconds = time.process_time() - started
    sure = np.array([one.certified for one in found])
    right = np.array([one.log_odds > 0 for one in found]) == study.test.labels.astype(bool)
    return {
        "certified": round(float(sure.mean()), 4),
        "certified_and_right": round(float((sure & right).mean()), 4),
        "right": round(float(right.mean()), 4),
        "reviews": len(found),
        "milliseconds": round(1000 * seconds / len(found), 1),
    }


PARTS: dict[str, Callable[[Study], dict[str, Any]]] = {
    "certificate": certificate,
    "error": error,
    "words": words,
    "substitutions": word_substitutions,
}


if __name__ == "__main__":
    main()

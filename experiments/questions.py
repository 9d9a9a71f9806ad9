"""Questions: how much the labels of a few chosen words help, against as many random words.

Languages of `own_languages.py` over 16 symbols, 2,000 training rows each. Where the automaton is
already right on all adversarial words, nothing is asked. Otherwise induce an automaton, ask
for the labels of its questions, add them to the rows, and induce again: 5 questions, then 15, then
30. If there are fewer questions than that, random words take their place. The other column adds
random words from the start, drawn like the training rows. Accuracy is that on
adversarial words (pairs at edit distance one, lengths 20-50), the mean over SA and LA.

Run: python experiments/questions.py [--seed 47] [--only LTT]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from ledger import Ledger
from own_languages import CLASSES, language, rows_of, sample

import kleene as kl
from kleene.automata import DFA
from kleene.induction import Induction
from kleene.induction.learner import compile_kernels

WIDTH = 16
BATCHES = (5, 15, 30)
RECIPE = {"rows": 2_000, "induce": "defaults", "batches": list(BATCHES)}


def run(kind: str, k: int, t: int, seed: int) -> dict[str, Any]:
    """Accuracy on adversarial words after so many questions, and after as many random words."""
    truth = language(kind, k, t, WIDTH, seed)
    if truth is None:  # words of one label are too rare
        return {}
    rows = rows_of(truth, seed)
    random = np.random.default_rng([seed, 1])
    extra = sample(truth, range(20, 30), sum(BATCHES), random)[0]
    order = random.permutation(len(extra)).tolist()
    drawn = [extra[i] for i in order]
    asked: list[Any] = []
    found = induced(truth, rows, asked)
    accuracy = {"0": adversarial_accuracy(found.dfa, rows)}
    states, alternatives, questions = {"0": found.dfa.num_states}, {}, 0
    if accuracy["0"] == 1:
        return {"true_states": truth.num_states, "asked": accuracy, "states": states}
    for batch in BATCHES:
        words = found.questions(batch)
        alternatives[str(len(asked))] = len(found.alternatives)
        questions += len(words)
        asked += [*words, *drawn[len(asked) + len(words) : len(asked) + batch]]
        found = induced(truth, rows, asked)
        accuracy[str(len(asked))] = adversarial_accuracy(found.dfa, rows)
        states[str(len(asked))] = found.dfa.num_states
    by_chance = {
        str(n): adversarial_accuracy(induced(truth, rows, drawn[:n]).dfa, rows)
        for n in np.cumsum(BATCHES).tolist()
    }
    return {
        "true_states": truth.num_states,
        "asked": accuracy,
        "random": {"0": accuracy["0"], **by_chance},
        "states": states,
        "alternatives": alternatives,
        "questions": questions,
        "exact": set(found.dfa.alphabet) == set(truth.alphabet) and bool(found.dfa == truth),
    }


def induced(truth: DFA, rows: dict[str, Any], more: list[Any]) -> Induction:
    """The automaton of the training rows and some more words."""
    words, labels = rows["train"]
    return kl.induce([*words, *more], [*labels, *truth.run_many(more).tolist()])


def adversarial_accuracy(dfa: DFA, rows: dict[str, Any]) -> float:
    """The mean accuracy on the two sets of adversarial words."""
    shares = [(dfa.run_many(rows[test][0]) == rows[test][1]).mean() for test in ("SA", "LA")]
    return round(float(np.mean(shares)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=47, help="of the languages and their rows")
    parser.add_argument("--only", default="", help="only classes that hold this text")
    options = parser.parse_args()
    compile_kernels()
    ledger = Ledger("questions")
    for kind, k, t in CLASSES:
        name = f"{kind}.{k}.{t}"
        if options.only in name:
            row = ledger.run(
                lambda given=(kind, k, t): run(*given, options.seed),
                recipe=RECIPE,
                language=name,
                symbols=WIDTH,
                seed=options.seed,
            )
            print(row["key"], row["result"], row["cpu_seconds"], flush=True)


if __name__ == "__main__":
    main()

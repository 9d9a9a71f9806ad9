"""Tables of text classifiers whose states have weights: what they mean, beside the paper's."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from page import load, markdown
from paper.experiment import chosen, middle

from kleene.explain.scoring import NEUTRAL

MISSING = "_No results yet: `python experiments/readable_texts.py`._"
ERRORS = (  # what it is, the ledger, readable row, opaque row, the paper's error in per cent
    ("IMDB", "imdb", "SR-LSTM-P states", "SR-LSTM-P", "9.2"),
    ("IMDB, finite automaton (SR-GRU)", "imdb", "SR-GRU states", "SR-LSTM-P", "9.2"),
    ("20 Newsgroups", "newsgroups", "SR-LSTM-P states", "SR-LSTM-P", "14.4"),
    (
        "20 Newsgroups, bodies only",
        "newsgroups",
        "SR-LSTM-P states cleaned",
        "SR-LSTM-P cleaned",
        "34.3",
    ),
)
LAST_STEP = {"5": "SR-LSTM-P last step k=5", "10": "SR-LSTM-P last step"}
SELDOM = 0.0005
"""The share of all steps below which a state is not shown."""
PAPER = {  # Table of IMDB prototypes, k = 5: the two centroids that the paper names
    "positive": "loved (1.0), definitely (1.0), 8 (0.99), realistic (0.99)",
    "negative": "no (1.0), worst (1.0), terrible (1.0), poorly (1.0)",
}
PAPER_GROUPS = {  # Table of 20 Newsgroups, k = 20
    "talk.politics.misc": "comment (0.58), damage (0.53), right (0.51), drug (0.50)",
    "talk.politics.mideast": "state (0.55), expansion (0.49), woman (0.43), escape (0.35)",
    "comp.graphics": "interrupt (0.83), driver (0.80), version (0.75), video (0.55)",
    "comp.windows.x": "domain (0.48), information (0.39), source (0.34), core (0.31)",
}


def errors() -> str:
    """Test errors of readable and opaque networks."""
    lines = []
    for name, ledger, readable, opaque, paper in ERRORS:
        rows = load(ledger)
        found = [
            [run["result"]["test_error"] for run in chosen(rows, row=row)]
            for row in (readable, opaque)
        ]
        lines.append([name, *(middle(one, 2) or "not run yet" for one in found), paper])
    header = ["test error, %", "readable", "opaque (maximum of hidden vector and memory)", "paper"]
    return markdown(header, lines)


def prototypes() -> str:
    """States by their use, with their weights, and the words that lead to each."""
    result = _part("tables", "imdb")
    if result is None:
        return MISSING
    states = sorted(result["prototypes"]["states"], key=lambda one: -one["visits"])
    most, lines = max(max(one["weights"].values()) for one in states), []
    for state in states:
        label, strongest = state["label"], max(state["weights"].values())
        words = ", ".join(f"{_text(p['symbol'])} ({p['mean']:.2f})" for p in state["symbols"][:8])
        if state["visits"] >= SELDOM:
            other = "neutral" if strongest < NEUTRAL * most else "mixed"
            name = other if label is None else str(label)
            lines.append([name, f"{strongest:+.1f}", f"{state['visits']:.1%}", words])
    return markdown(["class", "weight", "of all steps", "words that lead there"], lines)


def beside_the_paper() -> str:
    """The strongest state of each class, and the paper's centroid of that class."""
    result = _part("tables", "imdb")
    if result is None:
        return MISSING
    lines = []
    for label, theirs in PAPER.items():
        states = [one for one in result["prototypes"]["states"] if one["label"] == label]
        best = max(states, key=lambda one: one["weights"][label] * (one["visits"] >= SELDOM))
        ours = ", ".join(f"{_text(p['symbol'])} ({p['mean']:.2f})" for p in best["symbols"][:4])
        lines.append([label, theirs, ours])
    return markdown(["class", "the paper's centroid", "ours"], lines)


def groups_beside_the_paper() -> str:
    """Words that speak most for a newsgroup by the weights of their states, and the paper's."""
    result = _part("tables", "newsgroups")
    if result is None:
        return MISSING
    lines = []
    for group, theirs in PAPER_GROUPS.items():
        found = result["prototypes"]["classes"][group][:6]
        ours = ", ".join(f"{_text(word['symbol'])} ({word['mean']:+.1f})" for word in found)
        lines.append([group, theirs, ours])
    return markdown(["group", "the paper (transition probability)", "ours (weight)"], lines)


def phrases() -> str:
    """The strongest phrases of each class."""
    result = _part("tables", "imdb")
    if result is None:
        return MISSING
    lines = [
        [
            label,
            n,
            ", ".join(f"{_text(' '.join(p['symbols']))} ({p['weight']:.1f})" for p in found[:8]),
        ]
        for n, listed in result["phrases"].items()
        for label, found in listed["classes"].items()
    ]
    return markdown(["class", "n", "phrases"], lines)


def agreement() -> str:
    """How often states and phrases agree with a bag of words."""
    lines = []
    for corpus in ("imdb", "newsgroups", "newsgroups cleaned"):
        pure, grams = _part("purity", corpus), _part("phrases", corpus)
        if pure is not None and grams is not None:
            shares = [f"{grams[n]['agree'] / grams[n]['phrases']:.2f}" for n in ("2", "3")]
            lines.append([corpus, f"{pure['purity']:.2f}", str(len(pure["states"])), *shares])
    header = ["corpus", "purity", "class states", "phrases of 2", "phrases of 3"]
    return markdown(header, lines) if lines else MISSING


def quality(part: str) -> str:
    """Deletion and insertion on the IMDB reviews, and what they cost."""
    result = _part(part, "imdb")
    if result is None:
        return MISSING
    lines = [
        [
            name,
            f"{found['deletion_area']:.3f}",
            f"{found['insertion_area']:.3f}",
            f"{found['milliseconds']:.1f}",
        ]
        for name, found in result["methods"].items()
    ]
    header = [f"{result['words']} reviews", "deletion (low is good)", "insertion (high)", "CPU ms"]
    return markdown(header, lines)


def automaton() -> str:
    """What is proved of the network that is a finite automaton over words."""
    found = {row["key"]["part"]: row["result"] for row in load("text_automaton")}
    if not found:
        return "_No results yet: `python experiments/text_automaton.py MODEL`._"
    lines = []
    if one := found.get("certificate"):
        what = f"the state after every prefix, {one['states']} states, {one['words']:,} words"
        answer = f"{one['steps_checked']:,} steps, {one['seconds']:.0f} CPU s"
        lines.append([what, f"proved: {answer}" if one["holds"] else "not proved"])
        lines.append(["words changed: their next state was a close call", one["words_changed"]])
    if one := found.get("error"):
        lines.append([f"test error on {one['reviews']:,} reviews, %", one["test_error"]])
        lines.append(["predictions that the change of words changed", one["predictions_changed"]])
    if one := found.get("words"):
        lines.append(["words that lead to one state from all", one["words_that_lead_to_one_state"]])
    if one := found.get("substitutions"):
        share = f"{one['certified']:.1%} ({one['certified_and_right']:.1%} and right)"
        lines.append([f"of {one['reviews']:,} reviews, no other word anywhere changes", share])
    return markdown(["what", "found"], [[str(cell) for cell in line] for line in lines])


def defaults() -> str:
    """Texts with nothing but defaults, beside n-grams."""
    rows = load("text_defaults")
    if not rows:
        return "_No results yet: `python experiments/text_defaults.py`._"
    lines = []
    for corpus in dict.fromkeys(row["key"]["corpus"] for row in rows):
        found = [row["result"] for row in chosen(rows, corpus=corpus)]
        cells = [
            middle([100 * result[name][score] for result in found], 1)
            for name in ("ours", "n-grams")
            for score in ("accuracy", "f1")
        ]
        seconds = middle([result["train_seconds"] for result in found], 0)
        lines.append([corpus, *cells, seconds, str(len(found))])
    names = ["accuracy, %", "F1 of the rarer class, %"]
    beside = [f"n-grams: {name}" for name in names]
    return markdown(["test texts", *names, *beside, "CPU s to train", "seeds"], lines)


def last_step() -> str:
    """Networks that classify the last step, as the paper's: their errors, purity and words."""
    lines = []
    for name, row in LAST_STEP.items():
        folder = row.replace(" ", "-")
        pure, found = _part("purity", "imdb", folder), _part("tables", "imdb", folder)
        errors = [run["result"]["test_error"] for run in chosen(load("imdb"), row=row)]
        if pure is not None and found is not None and errors:
            named = [one for one in found["prototypes"]["states"] if one["label"] is not None]
            words = "; ".join(
                f"{one['label']}: "
                + ", ".join(f"{_text(p['symbol'])} ({p['mean']:.2f})" for p in one["symbols"][:4])
                for one in named
            )
            share = f"{pure['purity']:.2f}" if named else "none named"
            lines.append([name, middle(errors, 2), share, str(len(named)), words])
    header = ["states", "test error, %", "purity", "class states", "words that lead there"]
    return markdown(header, lines) if lines else MISSING


def _part(part: str, corpus: str, row: str = "SR-LSTM-P-states") -> dict[str, Any] | None:
    """The result of the first seed of a row."""
    rows = chosen(load("readable_texts"), part=part, corpus=corpus)
    named = [
        one
        for one in rows
        if re.fullmatch(rf"{re.escape(row)}(-cleaned)?-\d+", one["key"]["model"])
    ]
    return min(named, key=lambda one: one["key"]["model"])["result"] if named else None


def _text(text: Any) -> str:
    return re.sub(r"([|*_<`\\])", r"\\\1", str(text))


READABLE: dict[str, Callable[[], str]] = {
    "readable-errors": errors,
    "text-defaults": defaults,
    "text-automaton": automaton,
    "readable-paper": beside_the_paper,
    "readable-paper-groups": groups_beside_the_paper,
    "readable-last-step": last_step,
    "readable-prototypes-imdb": prototypes,
    "readable-phrases": phrases,
    "readable-agreement": agreement,
    "readable-quality": partial(quality, "quality"),
    "readable-peers": partial(quality, "peers"),
}

"""Tables of texts and images: errors, the meaning of states, and how good explanations are."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from page import (
    LEARNED_BY,
    Rows,
    Table,
    at,
    between,
    chosen,
    figures,
    learned_by,
    load,
    markdown,
    spread,
)
from paper import find

from kleene.explain.traces import NEUTRAL

MISSING = "_No results yet: `python experiments/readable_texts.py`._"
ERRORS = (  # what it is, the ledger, readable row, opaque row, the paper's error in per cent
    ("IMDB", "imdb", "SR-LSTM-P states", "SR-LSTM-P", "9.2"),
    ("IMDB, finite automaton (SR-GRU)", "imdb", "SR-GRU states", "SR-LSTM-P", "9.2"),
    ("20 Newsgroups", "newsgroups", "SR-LSTM-P states", "SR-LSTM-P", "14.4"),
    ("20 Newsgroups, bodies only", "newsgroups", "SR-LSTM-P states cleaned", "SR-LSTM-P cleaned",
     "34.3"),
)  # fmt: skip
MIN_VISITS = 0.0005
"""The share of all steps below which a state is not shown."""
PAPER_GROUPS = {  # Table of 20 Newsgroups, k = 20
    "talk.politics.misc": "comment (0.58), damage (0.53), right (0.51), drug (0.50)",
    "talk.politics.mideast": "state (0.55), expansion (0.49), woman (0.43), escape (0.35)",
    "comp.graphics": "interrupt (0.83), driver (0.80), version (0.75), video (0.55)",
    "comp.windows.x": "domain (0.48), information (0.39), source (0.34), core (0.31)",
}


def compared(name: str) -> str:
    """The paper's errors and ours, as `experiments/reproduce.py` shows them, and who learned."""
    experiment = find(name)
    rows = load(experiment.ledger)
    header, lines = experiment.table(rows)
    listed = []
    for line in lines:
        runs = chosen(rows, row=line[0], scale=line[1])
        plain = line[0].startswith("LSTM")
        learner = learned_by("plain" if plain else "trained")(runs) if runs else ""
        listed.append([line[0], learner, *line[1:]])
    return markdown([header[0], LEARNED_BY, *header[1:]], listed)


def ngram_error(corpus: str = "IMDB") -> float | None:
    """The error of n-grams alone (tf-idf and a linear support vector machine), in per cent."""
    found = figures(chosen(load("text_defaults"), corpus=corpus), "result.n-grams.accuracy")
    return 100 * (1 - found[0]) if found else None


def errors() -> str:
    """Test errors of readable and opaque networks, and of n-grams alone."""
    lines = []
    for name, ledger, readable, opaque, paper in ERRORS:
        runs = chosen(load(ledger), row=readable)
        others = chosen(load(ledger), row=opaque)
        alone = ngram_error() if ledger == "imdb" else None
        shown = [spread("result.test_error", 2)(found) for found in (runs, others)]
        grams = "" if alone is None else f"{alone:.1f}"
        lines.append([name, learned_by("trained")(runs), shown[0], grams, shown[1], paper])
    header = ["test error, %", LEARNED_BY, "readable", "n-grams alone"]
    return markdown([*header, "opaque (gradient)", "paper"], lines)


def words_of(listed: list[dict[str, Any]], most: int, figure: str = "mean") -> str:
    """Words with their transition probabilities or weights, Markdown's own signs escaped."""
    form = "{:.2f}" if figure == "mean" else "{:+.1f}"
    names = ((_escaped(one["symbol"]), form.format(one["mean"])) for one in listed[:most])
    return ", ".join(f"{name} ({value})" for name, value in names)


def prototypes() -> str:
    """States by their use, with their weights, and the words that lead to each."""
    result = _part("tables", "imdb")
    if result is None:
        return MISSING
    states = sorted(result["prototypes"]["states"], key=lambda one: -one["visits"])
    most, lines = max(max(one["weights"].values()) for one in states), []
    for state in states:
        label, strongest = state["label"], max(state["weights"].values())
        if state["visits"] >= MIN_VISITS:
            other = "neutral" if strongest < NEUTRAL * most else "mixed"
            name = other if label is None else str(label)
            words = words_of(state["symbols"], 8)
            lines.append([name, f"{strongest:+.1f}", f"{state['visits']:.1%}", words])
    return markdown(["class", "weight", "of all steps", "words that lead there"], lines)


def groups_beside_the_paper() -> str:
    """Words that speak most for a newsgroup by the weights of their states, and the paper's."""
    result = _part("tables", "newsgroups")
    if result is None:
        return MISSING
    classes = result["prototypes"]["classes"]
    lines = [
        [group, theirs, words_of(classes[group], 6, "weight")]
        for group, theirs in PAPER_GROUPS.items()
    ]
    return markdown(["group", "the paper (transition probability)", "ours (weight)"], lines)


def phrases() -> str:
    """The strongest phrases of each class."""
    result = _part("tables", "imdb")
    if result is None:
        return MISSING
    lines = [
        [label, n, ", ".join(
            f"{_escaped(' '.join(p['symbols']))} ({p['weight']:.1f})" for p in found[:8]
        )]
        for n, listed in result["phrases"].items()
        for label, found in listed["classes"].items()
    ]  # fmt: skip
    return markdown(["class", "n", "phrases"], lines)


def quality() -> str:
    """Deletion and insertion on the IMDB reviews, and their CPU time."""
    lines = []
    for part in ("quality", "peers"):
        result = _part(part, "imdb")
        methods = dict((result or {"methods": {}})["methods"])
        methods.pop("lean", None)  # measured in earlier runs, no longer a method: as contribution
        for name, found in methods.items():
            areas = [f"{found[f'{side}_area']:.3f}" for side in ("deletion", "insertion")]
            lines.append([name, str(result["words"]), *areas, f"{found['milliseconds']:.1f}"])
    header = ["method", "reviews", "deletion (low is good)", "insertion (high)", "CPU ms"]
    return markdown(header, lines) if lines else MISSING


def last_step() -> str:
    """Networks that classify the last step, as the paper's: their errors, purity and words."""
    lines = []
    for name, row in {"5": "SR-LSTM-P last step k=5", "10": "SR-LSTM-P last step"}.items():
        folder = row.replace(" ", "-")
        pure, found = _part("purity", "imdb", folder), _part("tables", "imdb", folder)
        runs = chosen(load("imdb"), row=row)
        if pure is not None and found is not None and runs:
            named = [one for one in found["prototypes"]["states"] if one["label"] is not None]
            words = "; ".join(f"{one['label']}: {words_of(one['symbols'], 4)}" for one in named)
            cells = [spread("result.test_error", 2)(runs), f"{pure['purity']:.2f}"]
            lines.append([name, learned_by("trained")(runs), *cells, str(len(named)), words])
    header = ["states", LEARNED_BY, "test error, %", "purity", "class states"]
    return markdown([*header, "words that lead there"], lines) if lines else MISSING


def percent(who: str, score: str) -> Callable[[Rows], str]:
    """An accuracy or F1 in per cent: the median of the seeds and their range."""
    return lambda rows: between([100 * x for x in figures(rows, f"result.{who}.{score}")], 1)


def _part(part: str, corpus: str, row: str = "SR-LSTM-P-states") -> dict[str, Any] | None:
    """The result of the first seed of a row."""
    name = re.compile(rf"{re.escape(row)}(-cleaned)?-\d+")
    rows = chosen(load("readable_texts"), part=part, corpus=corpus)
    named = [one for one in rows if name.fullmatch(one["key"]["model"])]
    return min(named, key=at("key.model"))["result"] if named else None


def _escaped(text: Any) -> str:
    return re.sub(r"([|*_<`\\])", r"\\\1", str(text))


TEXTS: dict[str, Table | Callable[[], str]] = {
    **{f"paper-{name}": partial(compared, name) for name in ("imdb", "newsgroups", "mnist")},
    "readable-errors": errors,
    "readable-paper-groups": groups_beside_the_paper,
    "readable-last-step": last_step,
    "readable-prototypes-imdb": prototypes,
    "readable-phrases": phrases,
    "readable-quality": quality,
    "text-defaults": Table(
        source="text_defaults",
        run="python experiments/text_defaults.py",
        lines={"test texts": at("key.corpus")},
        learned=learned_by("ngrams"),
        columns={
            "accuracy, %": percent("ours", "accuracy"),
            "F1 of the rarer class, %": percent("ours", "f1"),
            "n-grams alone: accuracy, %": percent("n-grams", "accuracy"),
            "n-grams alone: F1, %": percent("n-grams", "f1"),
            "CPU s to train": spread("result.train_seconds", 0),
            "seeds": lambda rows: str(len(rows)),
        },
    ),
}

"""Attacks on `verify`: each makes a statement that is false, or a file that says nothing.

Every attack owns all files: checksums and the digest in the certificate fit what it changed, except
for those in `KEEP_DIGEST`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from forgery import Forgery

Attack = Callable[[Forgery], Any]


def certificate(**changes: Callable[[Any], Any]) -> Attack:
    """Change fields of the certificate."""
    return lambda f: f.certificate.update(
        {k: make(f.certificate[k]) for k, make in changes.items()}
    )


def automaton(**changes: Callable[[Any], Any]) -> Attack:
    """Change fields of the automaton, in its file and in the certificate alike."""
    return lambda f: f.relabel(
        lambda dfa: dfa.update({key: make(dfa[key]) for key, make in changes.items()})
    )


def weights(name: str, change: Callable[[np.ndarray], Any]) -> Attack:
    """Change one array of the model."""

    def attack(f: Forgery) -> None:
        f.weights[name] = np.asarray(change(f.weights[name]), np.float32)

    return attack


def setting(name: str, value: object) -> Attack:
    """Change one setting of the network."""
    return lambda f: f.config["network"].update({name: value})


def at(*path: int, value: Any) -> Callable[[Any], Any]:
    """Put a value into nested lists; a function makes it from what is there."""

    def change(rows: Any) -> Any:
        inner = rows
        for i in path[:-1]:
            inner = inner[i]
        inner[path[-1]] = value(inner[path[-1]]) if callable(value) else value
        return rows

    return change


def all_of(*attacks: Attack) -> Attack:
    return lambda f: [attack(f) for attack in attacks]


def temperature(log: float) -> Attack:
    """Another temperature in network and certificate."""
    return all_of(
        weights("rnn.log_temperature_l0", lambda w: np.full_like(w, log)),
        certificate(temperatures=lambda t: [float(np.exp(log))]),
    )


def ends_moved(f: Forgery, name: str, towards: str) -> None:
    new, old = np.array(f.certificate[name]), np.array(f.certificate[towards])
    f.certificate[name] = (old + 1e-3 * (new - old)).tolist()


def one_end_halved(hi: Any) -> Any:
    ends = np.array(hi)
    return np.where(ends == ends[ends < 0.5].max(), ends / 2, ends).tolist()


def swapped_ends(f: Forgery) -> None:
    f.certificate["lo"], f.certificate["hi"] = f.certificate["hi"], f.certificate["lo"]


def no_boxes(f: Forgery) -> None:
    f.certificate |= {key: [] for key in ("lo", "hi", "centroids", "dfa_states", "transitions")}


def in_type(kind: type, factor: float = 1) -> Attack:
    def attack(f: Forgery) -> None:
        f.weights = {name: w.astype(kind) for name, w in f.weights.items()}
        f.weights["rnn.weight_hh_l0"] *= kind(factor)

    return attack


def capitals(f: Forgery) -> None:
    f.config["tokens"] = "text"
    f.alphabet["symbols"] = [symbol.upper() for symbol in f.alphabet["symbols"]]
    f.relabel(lambda dfa: dfa.update(alphabet=[symbol.upper() for symbol in dfa["alphabet"]]))


def next_of(count: int) -> Callable[[int], int]:
    return lambda value: (value + 1) % count


def other_token(row: int) -> Attack:
    return weights(
        "embedding.weight", lambda w: np.vstack([w[:row], 5 * w[row, ::-1] + 3, w[row + 1 :]])
    )


nan = float("nan")
two_layers = {key: lambda boxes: [[*b, *b] for b in boxes] for key in ("lo", "hi", "centroids")}
overflowing = [
    weights(name, lambda w: w * np.float32(1e25))
    for name in ("rnn.weight_ih_l0", "embedding.weight")
]

ATTACKS: dict[str, Attack] = {
    # the certificate
    "upper ends of all boxes lowered to just above the lower ends": lambda f: ends_moved(
        f, "hi", "lo"
    ),
    "lower ends of all boxes raised to just below the upper ends": lambda f: ends_moved(
        f, "lo", "hi"
    ),
    "one upper end of one box halved": certificate(hi=one_end_halved),
    "lower and upper ends exchanged": swapped_ends,
    "NaN as an end of a box": certificate(hi=at(0, 0, 0, value=nan)),
    "infinity as upper end of all boxes": certificate(
        hi=lambda hi: np.full_like(hi, np.inf).tolist()
    ),
    "boxes from 0 to 1": certificate(
        lo=lambda lo: np.zeros_like(lo).tolist(), hi=lambda hi: np.ones_like(hi).tolist()
    ),
    "a certificate without boxes": no_boxes,
    "the key `lo` left out": lambda f: f.certificate.pop("lo"),
    "boxes of two layers for a network of one": certificate(**two_layers),
    "one step of the certificate sent to another box": certificate(
        transitions=lambda rows: at(0, 0, value=next_of(len(rows)))(rows)
    ),
    "a step to a box that does not exist": certificate(
        transitions=lambda rows: at(0, 0, value=len(rows))(rows)
    ),
    "a centroid numbered -1": certificate(centroids=at(0, 0, value=-1)),
    "`false` where the number of a state belongs": certificate(
        dfa_states=lambda states: [False if s == 0 else s for s in states]
    ),
    "2.0 where the number of a box belongs": certificate(
        transitions=lambda rows: [[float(x) for x in row] for row in rows]
    ),
    "box 0 given another state of the automaton": lambda f: at(
        0, value=next_of(len(f.dfa["outputs"]))
    )(f.certificate["dfa_states"]),
    "the proof's temperature tripled, the network's too": all_of(
        weights("rnn.log_temperature_l0", lambda w: w + np.log(3)),
        certificate(temperatures=lambda ts: [3 * t for t in ts]),
    ),
    "a network that runs at temperature 606 with a proof for a low one": weights(
        "rnn.log_temperature_l0", lambda w: np.full_like(w, np.log(606))
    ),
    "a proof for half the temperature that the network runs with": certificate(
        temperatures=lambda ts: [t / 2 for t in ts]
    ),
    "temperature -1 in the certificate": certificate(temperatures=lambda ts: [-1.0]),
    "an empty list of temperatures": certificate(temperatures=lambda ts: []),
    "the claim reworded": certificate(
        claim=lambda text: text.replace("alphabet", "alphabet and any other")
    ),
    "another door": certificate(door=lambda text: "any text in, a label out"),
    "the digest of another model": certificate(model_sha256=lambda digest: "0" * 64),
    # the automaton, with a certificate that repeats it
    "an automaton that is not the certificate's": lambda f: at(
        0, 0, value=next_of(len(f.dfa["outputs"]))
    )(f.dfa["transitions"]),
    "a wrong transition in automaton and certificate": lambda f: automaton(
        transitions=at(0, 0, value=next_of(len(f.dfa["outputs"])))
    )(f),
    "all labels exchanged in automaton and certificate": automaton(
        outputs=lambda labels: [not label for label in labels]
    ),
    "labels that the network does not have": automaton(
        outputs=lambda labels: ["strange" for _ in labels]
    ),
    "another initial state": lambda f: automaton(start=lambda s: len(f.dfa["outputs"]) - 1)(f),
    '`"start": false`': automaton(start=lambda start: False),
    "an automaton over other symbols": automaton(alphabet=lambda symbols: ["x", "y"]),
    "two symbols of the automaton exchanged": automaton(alphabet=lambda symbols: symbols[::-1]),
    "one symbol in two columns": automaton(alphabet=lambda symbols: symbols[:1] * 2),
    "an automaton that reads one symbol more than the model": automaton(
        alphabet=lambda symbols: [*symbols, "new"],
        transitions=lambda rows: [[*row, row[0]] for row in rows],
    ),
    "other labels in the certificate's own copy of the automaton": lambda f: f.certificate[
        "dfa"
    ].update(outputs=[not label for label in f.certificate["dfa"]["outputs"]]),
    # the model folder, with checksums and digest that fit
    "one weight changed by 1e-6, the digest not": weights("rnn.weight_hh_l0", lambda w: w + 1e-6),
    "recurrent weights negated": weights("rnn.weight_hh_l0", lambda w: -w),
    "another embedding of the start token": other_token(2),
    "another embedding of the end token": other_token(3),
    "weights of the scores negated": all_of(
        weights("head.weight", lambda w: -w), weights("head.bias", lambda w: -w)
    ),
    "the same weights in float16": in_type(np.float16),
    "the same numbers stored as float64": in_type(np.float64),
    "the same weights in float64, some of them 1e200": in_type(np.float64, 1e200),
    "NaN in the embedding of a symbol": lambda f: at(4, 0, value=nan)(
        f.weights["embedding.weight"]
    ),
    "NaN in the embedding of the padding, which no sequence has": lambda f: at(0, 0, value=nan)(
        f.weights["embedding.weight"]
    ),
    "finite weights of 1e25, whose sums are inf - inf in float32": all_of(*overflowing),
    "temperature e^-200, which is 0 in float32, and a proof for it": temperature(-200.0),
    "temperature e^200, which is infinite in float32, and a proof for it": temperature(200.0),
    "the names of the classes exchanged": lambda f: f.config["classes"].reverse(),
    "two symbols of the model exchanged": lambda f: f.alphabet["symbols"].reverse(),
    "dot instead of euclidean in the settings": setting("similarity", "dot"),
    "another cell in the settings": setting("cell", "rnn-relu"),
    "states drawn at random in the settings": setting("transition", "sample"),
    "no end token in the settings": setting("end_token", False),
    "a setting that the verifier does not know": setting("residual", True),
    "a network that pools its steps": setting("pooling", "mean"),
    "a bias of one number, which NumPy would repeat": weights("rnn.bias_ih_l0", lambda w: w[:1]),
    "no recurrent bias": lambda f: f.weights.pop("rnn.bias_hh_l0"),
    "the temperature as a list of one number, which `predict` refuses to load": weights(
        "rnn.log_temperature_l0", lambda w: w.reshape(1)
    ),
    "weights of a second layer, which `predict` refuses to load": lambda f: f.weights.update(
        {"rnn.centroids_l1": f.weights["rnn.centroids_l0"]}
    ),
    "other bins for numbers, the digest not changed": lambda f: f.config.update(
        layout={"bins": {"kind": "sax", "count": 2}}
    ),
    "symbols in capitals in a model whose texts are read in lower case": capitals,
}
KEEP_DIGEST = {
    "the digest of another model",
    "one weight changed by 1e-6, the digest not",
    "other bins for numbers, the digest not changed",
}

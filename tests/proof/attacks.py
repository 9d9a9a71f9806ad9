"""Attacks on `verify`: each makes a statement that is false, or a file that says nothing.

Every attack owns all files: checksums and the digest in the certificate fit what it changed. The
docstring of an attack is its line in the table of docs/explanation/proofs.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from forgery import Forgery

ATTACKS: dict[str, Callable[[Forgery], None]] = {}
KEEP_DIGEST = {"another_digest", "touched_weights", "another_layout"}


def attack(function: Callable[[Forgery], None]) -> Callable[[Forgery], None]:
    ATTACKS[function.__name__] = function
    return function


def boxes(forged: Forgery, end: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    forged.certificate[end] = change(np.array(forged.certificate[end])).tolist()


# -- the certificate -----------------------------------------------------------------------------


@attack
def upper_ends_lowered(f: Forgery) -> None:
    """upper ends of all boxes lowered to just above the lower ends"""
    lo = np.array(f.certificate["lo"])
    boxes(f, "hi", lambda hi: lo + 1e-3 * (hi - lo))


@attack
def lower_ends_raised(f: Forgery) -> None:
    """lower ends of all boxes raised to just below the upper ends"""
    hi = np.array(f.certificate["hi"])
    boxes(f, "lo", lambda lo: hi - 1e-3 * (hi - lo))


@attack
def one_entry_tightened(f: Forgery) -> None:
    """one upper end of one box halved"""
    boxes(f, "hi", lambda hi: np.where(hi == hi[hi < 0.5].max(), hi / 2, hi))


@attack
def empty_box(f: Forgery) -> None:
    """lower and upper ends exchanged"""
    f.certificate["lo"], f.certificate["hi"] = f.certificate["hi"], f.certificate["lo"]


@attack
def not_a_number_in_a_box(f: Forgery) -> None:
    """NaN as an end of a box"""
    f.certificate["hi"][0][0][0] = float("nan")


@attack
def infinite_box(f: Forgery) -> None:
    """infinity as upper end of all boxes"""
    boxes(f, "hi", lambda hi: np.full_like(hi, np.inf))


@attack
def boxes_of_everything(f: Forgery) -> None:
    """boxes from 0 to 1"""
    boxes(f, "lo", np.zeros_like)
    boxes(f, "hi", np.ones_like)


@attack
def no_boxes(f: Forgery) -> None:
    """a certificate without boxes"""
    for key in ("lo", "hi", "centroids", "dfa_states", "transitions"):
        f.certificate[key] = []


@attack
def lower_ends_missing(f: Forgery) -> None:
    """the key `lo` left out"""
    del f.certificate["lo"]


@attack
def a_layer_too_many(f: Forgery) -> None:
    """boxes of two layers for a network of one"""
    for key in ("lo", "hi", "centroids"):
        f.certificate[key] = [[*box, *box] for box in f.certificate[key]]


@attack
def rerouted(f: Forgery) -> None:
    """one step of the certificate sent to another box"""
    row = f.certificate["transitions"][0]
    row[0] = (row[0] + 1) % len(f.certificate["transitions"])


@attack
def box_beyond_the_last(f: Forgery) -> None:
    """a step to a box that does not exist"""
    f.certificate["transitions"][0][0] = len(f.certificate["transitions"])


@attack
def negative_centroid(f: Forgery) -> None:
    """a centroid numbered -1"""
    f.certificate["centroids"][0][0] = -1


@attack
def boolean_index(f: Forgery) -> None:
    """`false` where the number of a state belongs"""
    f.certificate["dfa_states"] = [False if s == 0 else s for s in f.certificate["dfa_states"]]


@attack
def fractional_index(f: Forgery) -> None:
    """2.0 where the number of a box belongs"""
    f.certificate["transitions"] = [[float(x) for x in r] for r in f.certificate["transitions"]]


@attack
def box_0_elsewhere(f: Forgery) -> None:
    """box 0 given another state of the automaton"""
    states = f.certificate["dfa_states"]
    states[0] = (states[0] + 1) % len(f.dfa["outputs"])


@attack
def hotter(f: Forgery) -> None:
    """the proof's temperature tripled, the network's too"""
    f.certificate["temperatures"] = [3 * t for t in f.certificate["temperatures"]]
    f.weights["rnn.log_temperature_l0"] += np.float32(np.log(3))


@attack
def network_at_606(f: Forgery) -> None:
    """a network that runs at temperature 606 with a proof for a low one"""
    f.weights["rnn.log_temperature_l0"][...] = np.log(606)


@attack
def certificate_at_another_temperature(f: Forgery) -> None:
    """a proof for half the temperature that the network runs with"""
    f.certificate["temperatures"] = [t / 2 for t in f.certificate["temperatures"]]


@attack
def negative_temperature(f: Forgery) -> None:
    """temperature -1 in the certificate"""
    f.certificate["temperatures"] = [-1.0]


@attack
def no_temperatures(f: Forgery) -> None:
    """an empty list of temperatures"""
    f.certificate["temperatures"] = []


@attack
def another_claim(f: Forgery) -> None:
    """the claim reworded"""
    f.certificate["claim"] = f.certificate["claim"].replace("alphabet", "alphabet and any other")


@attack
def another_digest(f: Forgery) -> None:
    """the digest of another model"""
    f.certificate["model_sha256"] = "0" * 64


# -- the automaton, with a certificate that repeats it ---------------------------------------------


@attack
def another_automaton(f: Forgery) -> None:
    """an automaton that is not the certificate's"""
    f.dfa["transitions"][0][0] = (f.dfa["transitions"][0][0] + 1) % len(f.dfa["outputs"])


@attack
def wrong_transition(f: Forgery) -> None:
    """a wrong transition in automaton and certificate"""

    def change(dfa: dict[str, Any]) -> None:
        dfa["transitions"][0][0] = (dfa["transitions"][0][0] + 1) % len(dfa["outputs"])

    f.relabel(change)


@attack
def wrong_labels(f: Forgery) -> None:
    """all labels exchanged in automaton and certificate"""
    f.relabel(lambda dfa: dfa.update(outputs=[not label for label in dfa["outputs"]]))


@attack
def unknown_label(f: Forgery) -> None:
    """labels that the network does not have"""
    f.relabel(lambda dfa: dfa.update(outputs=["strange" for _ in dfa["outputs"]]))


@attack
def another_start(f: Forgery) -> None:
    """another initial state"""
    f.relabel(lambda dfa: dfa.update(start=len(dfa["outputs"]) - 1))


@attack
def false_as_start(f: Forgery) -> None:
    """`"start": false`"""
    f.relabel(lambda dfa: dfa.update(start=False))


@attack
def another_alphabet(f: Forgery) -> None:
    """an automaton over other symbols"""
    f.relabel(lambda dfa: dfa.update(alphabet=["x", "y"]))


@attack
def symbols_exchanged(f: Forgery) -> None:
    """two symbols of the automaton exchanged"""
    f.relabel(lambda dfa: dfa.update(alphabet=dfa["alphabet"][::-1]))


@attack
def symbol_twice(f: Forgery) -> None:
    """one symbol in two columns"""
    f.relabel(lambda dfa: dfa.update(alphabet=[dfa["alphabet"][0]] * 2))


# -- the model folder, with checksums and digest that fit -----------------------------------------


@attack
def touched_weights(f: Forgery) -> None:
    """one weight changed by 1e-6, the digest not"""
    f.weights["rnn.weight_hh_l0"][0, 0] += np.float32(1e-6)


@attack
def weights_negated(f: Forgery) -> None:
    """recurrent weights negated"""
    f.weights["rnn.weight_hh_l0"] *= -1


@attack
def another_start_token(f: Forgery) -> None:
    """another embedding of the start token"""
    f.weights["embedding.weight"][2] = 5 * f.weights["embedding.weight"][2][::-1] + 3


@attack
def another_end_token(f: Forgery) -> None:
    """another embedding of the end token"""
    f.weights["embedding.weight"][3] = 5 * f.weights["embedding.weight"][3][::-1] + 3


@attack
def head_negated(f: Forgery) -> None:
    """weights of the scores negated"""
    f.weights["head.weight"] *= -1
    f.weights["head.bias"] *= -1


@attack
def half_precision(f: Forgery) -> None:
    """the same weights in float16"""
    f.weights = {name: w.astype(np.float16) for name, w in f.weights.items()}


@attack
def double_precision(f: Forgery) -> None:
    """the same weights in float64, some of them 1e200"""
    f.weights = {name: w.astype(np.float64) for name, w in f.weights.items()}
    f.weights["rnn.weight_hh_l0"] *= 1e200


@attack
def not_a_number_in_the_weights(f: Forgery) -> None:
    """NaN in the embedding of a symbol"""
    f.weights["embedding.weight"][4, 0] = np.nan


@attack
def overflowing_weights(f: Forgery) -> None:
    """finite weights of 1e25, whose sums are inf - inf in float32"""
    f.weights["rnn.weight_ih_l0"] *= np.float32(1e25)
    f.weights["embedding.weight"] *= np.float32(1e25)


@attack
def temperature_that_underflows(f: Forgery) -> None:
    """temperature e^-200, which is 0 in float32, and a proof for it"""
    f.weights["rnn.log_temperature_l0"][...] = -200
    f.certificate["temperatures"] = [float(np.exp(-200.0))]


@attack
def temperature_that_overflows(f: Forgery) -> None:
    """temperature e^200, which is infinite in float32, and a proof for it"""
    f.weights["rnn.log_temperature_l0"][...] = 200
    f.certificate["temperatures"] = [float(np.exp(200.0))]


@attack
def classes_exchanged(f: Forgery) -> None:
    """the names of the classes exchanged"""
    f.config["classes"] = f.config["classes"][::-1]


@attack
def alphabet_exchanged(f: Forgery) -> None:
    """two symbols of the model exchanged"""
    f.alphabet["symbols"] = f.alphabet["symbols"][::-1]


@attack
def another_similarity(f: Forgery) -> None:
    """dot instead of euclidean in the settings"""
    f.config["network"]["similarity"] = "dot"


@attack
def relu_for_tanh(f: Forgery) -> None:
    """another cell in the settings"""
    f.config["network"]["cell"] = "rnn-relu"


@attack
def random_transition(f: Forgery) -> None:
    """states drawn at random in the settings"""
    f.config["network"]["transition"] = "sample"


@attack
def end_token_left_out(f: Forgery) -> None:
    """no end token in the settings"""
    f.config["network"]["end_token"] = False


@attack
def unknown_setting(f: Forgery) -> None:
    """a setting that the verifier does not know"""
    f.config["network"]["residual"] = True


@attack
def mean_pooling(f: Forgery) -> None:
    """a network that pools its steps"""
    f.config["network"]["pooling"] = "mean"


@attack
def broadcast_bias(f: Forgery) -> None:
    """a bias of one number, which NumPy would repeat"""
    f.weights["rnn.bias_ih_l0"] = f.weights["rnn.bias_ih_l0"][:1]


@attack
def weights_missing(f: Forgery) -> None:
    """no recurrent bias"""
    del f.weights["rnn.bias_hh_l0"]


@attack
def temperature_of_another_shape(f: Forgery) -> None:
    """the temperature as a list of one number, which `predict` refuses to load"""
    f.weights["rnn.log_temperature_l0"] = f.weights["rnn.log_temperature_l0"].reshape(1)


@attack
def weights_of_no_use(f: Forgery) -> None:
    """weights of a second layer, which `predict` refuses to load"""
    f.weights["rnn.centroids_l1"] = f.weights["rnn.centroids_l0"]


@attack
def certificate_of_another_automaton(f: Forgery) -> None:
    """other labels in the certificate's own copy of the automaton"""
    f.certificate["dfa"]["outputs"] = [not label for label in f.certificate["dfa"]["outputs"]]


@attack
def symbol_too_many(f: Forgery) -> None:
    """an automaton that reads one symbol more than the model"""
    f.relabel(
        lambda dfa: dfa.update(
            alphabet=[*dfa["alphabet"], "new"],
            transitions=[[*row, row[0]] for row in dfa["transitions"]],
        )
    )


@attack
def same_weights_in_double(f: Forgery) -> None:
    """the same numbers stored as float64"""
    f.weights = {name: w.astype(np.float64) for name, w in f.weights.items()}


@attack
def not_a_number_where_nothing_reads(f: Forgery) -> None:
    """NaN in the embedding of the padding, which no sequence has"""
    f.weights["embedding.weight"][0, 0] = np.nan


@attack
def another_layout(f: Forgery) -> None:
    """other bins for numbers, the digest not changed"""
    f.config["layout"] = {"bins": {"kind": "sax", "count": 2}}


@attack
def uppercase_symbols(f: Forgery) -> None:
    """symbols in capitals in a model whose texts are read in lower case"""
    f.config["tokens"] = "text"
    f.alphabet["symbols"] = [symbol.upper() for symbol in f.alphabet["symbols"]]
    f.relabel(lambda dfa: dfa.update(alphabet=[symbol.upper() for symbol in dfa["alphabet"]]))

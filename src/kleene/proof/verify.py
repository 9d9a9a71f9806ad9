"""Check a certificate again, from files alone: the model folder, the automaton, the certificate.

The conditions are in `verify_core` and `verify_counter`, the files are read by `verify_files`. They
need NumPy, safetensors and the standard library, and import nothing of the prover.

    python -m kleene.proof.verify MODEL MACHINE.json CERTIFICATE.json [--exact]
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kleene.errors import AutomatonError, ExtractionError
from kleene.proof import verify_counter
from kleene.proof.outward import Enclosure
from kleene.proof.verify_core import Boxes, Ints, Network, NotProvedError, check, need
from kleene.proof.verify_files import (
    CELLS,
    COUNTERS,
    Document,
    Folder,
    ModelFiles,
    columns_of,
    hashable,
    indices,
    load_document,
    load_model,
)

CLAIM = (
    "on every sequence over its alphabet, of every length, `predict` of this model folder, in "
    "float32, at the temperature it runs with, returns the label that this automaton gives"
)
DOOR = "a sequence of symbols in, the index of a class out"
ASSUMES = (
    "IEEE float32 sums and products in any order, sigmoid, tanh and exp within their error bounds, "
    "eval mode, and symbols of the alphabet"
)
CERTIFY = "run `kleene certify MODEL DFA.json --out CERTIFICATE.json` again"
FORMAT, FORMAT_2 = "kleene.certificate/3", "kleene.certificate/2"
COUNTER_FORMAT = "kleene.counter-certificate/1"
SAME = 2.0**-20  # temperatures that differ by less, relatively, are the same to the bounds
MAX_DEPTH, MAX_LENGTH = 10_000, 1_000_000


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What the check found; `reason` says it in words."""

    holds: bool
    reason: str
    claim: str = CLAIM
    door: str = DOOR
    assumes: str = ASSUMES
    exact: bool = False
    """Whether the bounds were computed in outward-rounded arithmetic, not plain float64."""
    temperature: float | None = None
    """The temperature that `predict` runs with, which the proof is for (the mean of the layers)."""
    checked_pairs: int = 0
    """Pairs of a box and a symbol."""
    margin: float | None = None
    """By how much, over all steps, the score of the next centroid is the highest at least."""
    output_margin: float | None = None
    """By how much the score of the right class is the highest at least."""

    def __str__(self) -> str:
        return f"{self.reason}; it assumes {self.assumes}" if self.holds else self.reason


def verify(
    model_folder: Folder,
    machine_json: Document,
    certificate_json: Document,
    *,
    exact: bool = False,
) -> Verification:
    """Check a certificate; documents are paths, JSON texts or objects, a folder also its contents.

    With `exact` every bound is rounded outward, so that nothing rests on the precision of float64.
    Files that cannot be read are errors.
    """
    formats = (FORMAT, FORMAT_2, COUNTER_FORMAT)
    certificate = load_document(certificate_json, formats, ExtractionError, CERTIFY)
    counter = certificate["format"] == COUNTER_FORMAT
    folder = load_model(model_folder, COUNTERS if counter else CELLS)
    kind = "kleene.counter/1" if counter else "kleene.dfa/1"
    machine = load_document(machine_json, (kind,), AutomatonError, "export the automaton again")
    temperature = mean(folder.temperatures)
    try:
        check_about(folder, certificate)
        claim = counter_claim(certificate) if counter else CLAIM
        need(certificate["claim"] == claim, "it claims something else")
        net = enclosed(folder.network) if exact else folder.network
        with np.errstate(all="ignore"):  # nan is inside no box
            found = (check_counter if counter else check_boxes)(net, folder, machine, certificate)
    except NotProvedError as wrong:
        reason = f"not proved: {wrong}"
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        detail = f"{type(error).__name__}: {error}"[:200]
        reason = f"not proved: the certificate is damaged ({detail}); {CERTIFY}"
    else:
        by = f"{found.pop('count')} checked{' in outward-rounded arithmetic' if exact else ''}"
        reason = f"proved: {claim} (door: {DOOR}; temperature {temperature:g}; {by})"
        return Verification(
            holds=True, reason=reason, claim=claim, exact=exact, temperature=temperature, **found
        )
    return Verification(holds=False, reason=reason, exact=exact, temperature=temperature)


def check_about(folder: ModelFiles, certificate: dict[str, Any]) -> None:
    """Demand that the certificate is about this model, its door and its temperature."""
    digest = folder.digest
    if certificate["format"] == FORMAT_2:
        need(folder.old_digest is not None, f"it leaves out how numbers are read; {CERTIFY}")
        digest = str(folder.old_digest)
    temperatures = [float(value) for value in certificate["temperatures"]]
    pairs = list(zip(temperatures, folder.temperatures, strict=False))
    same = all(0 < a < math.inf and abs(a - b) <= SAME * b for a, b in pairs)
    need(
        same and len(temperatures) == len(folder.temperatures),
        f"it is for temperature {mean(temperatures):g}, not for {mean(folder.temperatures):g}; "
        f"{CERTIFY}",
    )
    need(certificate.get("door", DOOR) == DOOR, "it is about another door")
    need(certificate["model_sha256"] == digest, f"it is about another model; {CERTIFY}")


def counter_claim(certificate: Mapping[str, Any]) -> str:
    """The claim of a counter proof, which ends at a depth and a length."""
    ends = f"of depth up to {certificate['depth']} and length up to {certificate['length']}"
    return CLAIM.replace("of every length", ends).replace("automaton", "counter machine")


def check_boxes(
    net: Network, folder: ModelFiles, dfa: dict[str, Any], certificate: dict[str, Any]
) -> dict[str, Any]:
    """Check the boxes of a certificate about an automaton."""
    need_same(dfa, certificate["dfa"], "alphabet", "start", "outputs", "transitions")
    columns = columns_of(dfa["alphabet"], folder.symbols)
    states, count = len(dfa["outputs"]), len(certificate["dfa_states"])
    centroids, layers = len(net.layers[0].S), len(net.layers)
    moves = indices(dfa["transitions"], (states, len(columns)), states)[:, columns]
    start = int(indices([dfa["start"]], (1,), states)[0])
    shape = (count, layers, centroids)
    lo, hi = (np.array(certificate[end], np.float64) for end in ("lo", "hi"))
    need(count > 0 and lo.shape == hi.shape == shape, "its boxes have another shape")
    boxes = Boxes(
        lo=lo,
        hi=hi,
        leads=indices(certificate["centroids"], (count, layers), centroids),
        states=indices(certificate["dfa_states"], (count,), states),
        following=indices(certificate["transitions"], (count, len(columns)), count),
    )
    classes = class_indices(folder, dfa["outputs"])
    for state in set(boxes.states.tolist()):
        need(classes[state] >= 0, f"no class of the network is {dfa['outputs'][state]!r}")
    margin, output_margin = check(net, boxes, moves, start, classes)
    return {
        "count": f"{count} boxes and {boxes.following.size} steps",
        "checked_pairs": boxes.following.size,
        "margin": margin,
        "output_margin": output_margin,
    }


def check_counter(
    net: Network, folder: ModelFiles, machine: dict[str, Any], certificate: dict[str, Any]
) -> dict[str, Any]:
    """Check a certificate about a counter machine."""
    own = certificate["machine"]
    need_same(machine, own, "alphabet", "start", "outputs", "transitions", "increments")
    need(len(net.layers) == 1, "a counter proof needs a network of one layer")
    read = read_machine(folder, machine)
    rises = read.rises()
    wanted = None if rises is None else rises.tolist()
    need(certificate["rises"] == wanted, "it measures depth by other numbers than its machine")
    depth = int(indices([certificate["depth"]], (1,), MAX_DEPTH + 1)[0])
    length = int(indices([certificate["length"]], (1,), MAX_LENGTH + 1)[0])
    unit = int(indices([certificate["unit"]], (1,), net.layers[0].S.shape[1])[0])
    step = float(certificate["step"])
    need(math.isfinite(step) and step != 0, "its counting unit adds nothing")
    boxes, margin = verify_counter.check(net, read, depth, length, unit, step)
    return {"count": f"{boxes} boxes", "output_margin": margin}


def need_same(machine: Mapping[str, Any], own: Mapping[str, Any], *keys: str) -> None:
    """Demand the machine that the certificate repeats."""
    for key in keys:
        need(json.dumps(machine[key]) == json.dumps(own[key]), "it is about another automaton")


def read_machine(folder: ModelFiles, machine: dict[str, Any]) -> verify_counter.Machine:
    """A counter machine in the order of the model's symbols and classes."""
    columns = columns_of(machine["alphabet"], folder.symbols)
    states, width = len(machine["outputs"]), len(machine["outputs"][0])
    need(width >= 3 and width % 2 == 1, "its machine sees no counter")
    shape = (states, width, len(columns))
    classes = class_indices(folder, [label for row in machine["outputs"] for label in row])
    need(bool((classes >= 0).all()), "its machine has labels that the network has not")
    return verify_counter.Machine(
        moves=indices(machine["transitions"], shape, states)[:, :, columns],
        adds=indices(machine["increments"], shape, 2, least=-1)[:, :, columns],
        classes=classes.reshape(states, width),
        start=int(indices([machine["start"]], (1,), states)[0]),
    )


def class_indices(folder: ModelFiles, labels: list[Any]) -> Ints:
    """The index of the class that each label names; -1 if none does."""
    known = [hashable(label) for label in labels]
    return np.array([folder.classes.index(x) if x in folder.classes else -1 for x in known])


def enclosed(net: Network) -> Network:
    """The network on enclosures, so that every bound is rounded outward."""

    def points(part: Any) -> Any:
        arrays = {name: v for name, v in vars(part).items() if isinstance(v, np.ndarray)}
        return replace(part, **{name: Enclosure(array) for name, array in arrays.items()})

    on_enclosures: Network = points(net)
    return replace(on_enclosures, layers=tuple(points(layer) for layer in net.layers))


def mean(values: list[float]) -> float:
    """The mean of some temperatures."""
    return sum(values) / len(values)


if __name__ == "__main__":
    paths = [argument for argument in sys.argv[1:] if argument != "--exact"]
    result = verify(*paths[:3], exact="--exact" in sys.argv)
    print(result)
    sys.exit(0 if result.holds else 1)

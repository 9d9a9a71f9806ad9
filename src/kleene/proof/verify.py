"""Check a certificate again, from files alone: the model folder, the automaton, the certificate.

The check itself is `verify_core`, the files are read by `verify_files`; the three need NumPy,
safetensors and the standard library, and share no code with the prover.

    python -m kleene.proof.verify MODEL DFA.json CERTIFICATE.json
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from kleene.errors import AutomatonError, ExtractionError
from kleene.proof.verify_core import Boxes, Layer, Network, NotProvedError, check, need
from kleene.proof.verify_files import (
    Document,
    Folder,
    ModelFiles,
    hashable,
    indices,
    load_document,
    load_model,
)

CLAIM = (
    "on every sequence over its alphabet, of every length, `predict` of this model folder, in "
    "float32, at the temperature it runs with, returns the label that this automaton gives"
)
ASSUMES = (
    "IEEE float32 sums and products in any order, sigmoid, tanh and exp within their error bounds, "
    "eval mode, and symbols of the alphabet"
)
CERTIFY = "run `kleene certify MODEL DFA.json --out CERTIFICATE.json` again"
FORMAT, FORMAT_2 = "kleene.certificate/3", "kleene.certificate/2"
SAME = 2.0**-20  # temperatures that differ by less, relatively, are the same to the bounds


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What the check found; `reason` says it in words."""

    holds: bool
    reason: str
    claim: str = CLAIM
    assumes: str = ASSUMES
    temperature: float | None = None
    """The temperature the proof is for (the mean, where layers differ)."""
    running_temperature: float | None = None
    """The temperature that `predict` runs with."""
    at_running_temperature: bool = False
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
    dfa_json: Document,
    certificate_json: Document,
    *,
    temperature: float | None = None,
) -> Verification:
    """Check a certificate; documents are paths, JSON texts or objects, a folder also its contents.

    It holds only if it is for the temperature that the model runs with, or for `temperature` where
    that is given. Files that cannot be read are errors.
    """
    folder = load_model(model_folder)
    dfa = load_document(dfa_json, "kleene.dfa/1", AutomatonError, "export the automaton again")
    certificate = load_document(certificate_json, FORMAT, ExtractionError, CERTIFY, older=FORMAT_2)
    running = _mean(folder.temperatures)
    proved = None
    try:
        temperatures = [float(value) for value in certificate["temperatures"]]
        proved = _mean(temperatures)
        wanted = folder.temperatures if temperature is None else [temperature] * len(temperatures)
        need(
            len(temperatures) == len(folder.temperatures) and _same(temperatures, wanted),
            f"it is for temperature {proved:g}, not for {_mean(wanted):g}"
            + (f"; {CERTIFY}, or give temperature {proved:g}" if temperature is None else ""),
        )
        own = _same(temperatures, folder.temperatures)
        claims = (claim_at(proved), CLAIM) if own else (claim_at(proved),)
        need(certificate["claim"] in claims, "it claims something else")
        pairs, margin, output_margin = _check(folder, dfa, certificate, wanted)
    except NotProvedError as wrong:
        reason = f"not proved: {wrong}"
    except (KeyError, IndexError, TypeError, ValueError, ArithmeticError) as error:
        detail = f"{type(error).__name__}: {error}"[:200]
        reason = f"not proved: the certificate is damaged ({detail}); {CERTIFY}"
    else:
        count = f"{len(certificate['dfa_states'])} boxes and {pairs} steps checked"
        return Verification(
            holds=True,
            reason=f"proved: {CLAIM} (temperature {running:g}; {count})"
            if own
            else f"proved: {claim_at(proved)}, as asked for; nothing is proved about temperature "
            f"{running:g}, which it runs with ({count})",
            claim=CLAIM if own else claim_at(proved),
            temperature=proved,
            running_temperature=running,
            at_running_temperature=own,
            checked_pairs=pairs,
            margin=margin,
            output_margin=output_margin,
        )
    return Verification(holds=False, reason=reason, temperature=proved, running_temperature=running)


def claim_at(temperature: float) -> str:
    """The claim of a proof for a temperature that somebody asked for."""
    return CLAIM.replace("the temperature it runs with", f"temperature {temperature:g}")


def _check(
    folder: ModelFiles, dfa: dict[str, Any], certificate: dict[str, Any], temperatures: list[float]
) -> tuple[int, float, float]:
    for key in ("alphabet", "start", "outputs", "transitions"):
        same = json.dumps(dfa[key]) == json.dumps(certificate["dfa"][key])
        need(same, "it is about another automaton")
    digest = folder.digest
    if certificate["format"] == FORMAT_2:
        need(folder.old_digest is not None, f"it leaves out how numbers are read; {CERTIFY}")
        digest = str(folder.old_digest)
    need(certificate["model_sha256"] == digest, f"it is about another model; {CERTIFY}")
    symbols, alphabet = folder.symbols, [hashable(symbol) for symbol in dfa["alphabet"]]
    columns = {symbol: column for column, symbol in enumerate(alphabet)}
    same = len(alphabet) == len(columns) == len(symbols) and columns.keys() == set(symbols)
    need(same, "model and automaton have different alphabets")
    size, count = len(dfa["outputs"]), len(certificate["dfa_states"])
    centroids, layers = len(folder.network.layers[0].S), len(folder.network.layers)
    moves = indices(dfa["transitions"], (size, len(alphabet)), size)
    start = int(indices([dfa["start"]], (1,), size)[0])
    shape = (count, layers, centroids)
    lo, hi = (np.array(certificate[end], np.float64) for end in ("lo", "hi"))
    need(count > 0 and lo.shape == hi.shape == shape, "its boxes have another shape")
    boxes = Boxes(
        lo=lo,
        hi=hi,
        leads=indices(certificate["centroids"], (count, layers), centroids),
        states=indices(certificate["dfa_states"], (count,), size),
        following=indices(certificate["transitions"], (count, len(symbols)), count),
    )
    labels = [hashable(label) for label in dfa["outputs"]]
    for state in set(boxes.states.tolist()):
        need(labels[state] in folder.classes, f"no class of the network is {labels[state]!r}")
    classes = np.array([folder.classes.index(x) if x in folder.classes else -1 for x in labels])
    net = folder.network
    at = [
        Layer(**{**vars(layer), "temperature": tau})
        for layer, tau in zip(net.layers, temperatures, strict=True)
    ]
    net = Network(**{**vars(net), "layers": tuple(at)})
    moves = moves[:, [columns[symbol] for symbol in symbols]]
    return boxes.following.size, *check(net, boxes, moves, start, classes)


def _same(some: list[float], others: list[float]) -> bool:
    return all(
        0 < a < math.inf and abs(a - b) <= SAME * b for a, b in zip(some, others, strict=True)
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    result = verify(*sys.argv[1:4])
    print(result)
    sys.exit(0 if result.holds else 1)

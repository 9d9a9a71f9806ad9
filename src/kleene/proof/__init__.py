"""Proofs that a network and an automaton are the same function, for all sequences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kleene.automata import DFA
    from kleene.model import Model
    from kleene.proof.certificate import Certificate


def require(model: Model, proof: Certificate | str | Path) -> DFA:
    """Return the automaton that a model in memory is proved to be; raise unless the proof holds."""
    from kleene.errors import ExtractionError
    from kleene.proof.bounds import as_saved
    from kleene.proof.certificate import Certificate
    from kleene.proof.verify import verify

    certificate = proof if isinstance(proof, Certificate) else Certificate.load(proof)
    as_saved(model)
    document = certificate.to_dict()
    found = verify(model.to_files(), document["dfa"], document)
    if not found.holds:
        raise ExtractionError(f"the certificate does not hold of this model: {found}")
    return certificate.dfa

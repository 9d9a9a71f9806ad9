"""Every attack on `verify` is refused, by the function and by the command."""

from __future__ import annotations

import json
from copy import deepcopy

import pytest
from attacks import ATTACKS, KEEP_DIGEST
from forgery import Forgery
from random_models import KINDS, at_the_edge

from kleene.cli import main
from kleene.errors import KleeneError
from kleene.proof.verify import verify

KIND = KINDS.index({"seed": 24, "cell": "rnn", "similarity": "euclidean"})


@pytest.fixture(scope="module")
def genuine() -> Forgery:
    return Forgery.of(*at_the_edge(KIND))


def test_without_an_attack_it_holds(genuine, tmp_path, capsys):
    files = deepcopy(genuine).write(tmp_path)
    assert verify(*files).holds
    assert main(["verify", *map(str, files), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["door"] == genuine.certificate["door"]


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(name, genuine, tmp_path, capsys):
    forged = deepcopy(genuine)
    ATTACKS[name](forged)
    files = forged.write(tmp_path, digest=name not in KEEP_DIGEST)
    try:
        found = verify(*files)
    except KleeneError as error:
        status, reason = 2, str(error)
    else:
        assert not found.holds
        assert not verify(*files, exact=True).holds
        status, reason = 1, str(found)
        assert reason.startswith("not proved: ")
    assert "\n" not in reason
    assert main(["verify", *map(str, files)]) == status
    captured = capsys.readouterr()
    assert reason in " ".join((captured.out + captured.err).split())

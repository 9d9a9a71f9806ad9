"""The automata of MLRegTest against its own labelled words."""

import os
import tarfile
from pathlib import Path

import pytest
from mlregtest import from_att

DATA = Path(os.environ.get("KLEENE_DATA", "")) / "mlregtest" / "mlregtest_dev10.tar.gz"


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_file(), reason="set KLEENE_DATA to a folder with mlregtest")
def test_automata_agree_with_the_labels_of_all_test_sets():
    with tarfile.open(DATA) as archive:
        files = {
            Path(member.name).name: archive.extractfile(member).read().decode()
            for member in archive.getmembers()
            if member.isfile()
        }
    automata = [name for name in files if name.endswith(".att")]
    assert len(automata) >= 5
    for name in automata:
        dfa = from_att(files[name], alphabet="abcd")
        for part in ("Train", "TestSR", "TestSA", "TestLR", "TestLA"):
            lines = files[f"{name.removesuffix('.att')}_{part}.txt"].split("\n")
            pairs = [line.split("\t") for line in lines if line]
            found = dfa.run_many([word for word, _ in pairs])
            assert found.tolist() == [label == "TRUE" for _, label in pairs], (name, part)

"""Readers meet what they were not made for: an error of ours, in time, or an answer."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from asking import raw_server, server
from doors import DOORS
from doors import run as run_doors
from fuzzing import Outcome, attempt, fuzz
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from readers import Reader, make_tar, readers
from special import special_files

from kleene.data import lines as packed
from kleene.data.files import read_data, read_examples
from kleene.datasets.archives import members
from kleene.datasets.mnist import read_idx
from kleene.errors import DataError

NAMES = [
    *("TSV", "CSV", "JSONL", "data of any kind, gz", "event table", "XES log"),
    *("sequences of numbers", "layout of a model", "Parquet", "DFA JSON", "PFA JSON"),
    *("counter machine JSON", "AALpy", "model folder", "checkpoint"),
    *("alphabet JSON", "certificate JSON", "typed words", "tar archive"),
    "IDX images",
]
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ("format", "alphabet", "start", "outputs", "transitions", "increments", "initial", "names")
)
FORMATS = ("kleene.dfa/1", "kleene.pfa/1", "kleene.counter/1", "kleene.certificate/3")


@pytest.fixture(scope="module")
def all_readers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    found = {reader.name: reader for reader in readers(tmp_path_factory.mktemp("fuzz"))}
    assert list(found) == NAMES
    return found


@pytest.mark.parametrize("name", NAMES)
def test_spoiled_inputs(all_readers: dict[str, Reader], name: str) -> None:
    outcome = fuzz(all_readers[name], 40 if name == "model folder" else 150, seed=1)
    assert not outcome.faults
    assert outcome.rejected


def test_paths_that_are_no_files(tmp_path: Path) -> None:
    outcome = fuzz(special_files(tmp_path), 300, seed=1)
    assert not outcome.faults
    assert outcome.rejected


@pytest.mark.parametrize("make", [server, raw_server])
def test_spoiled_requests(make: Callable[[], Reader]) -> None:
    outcome = fuzz(make(), 150, seed=1)
    assert not outcome.faults
    assert outcome.rejected


@pytest.mark.parametrize("name", [name for name in NAMES if name != "AALpy"])
def test_good_inputs_are_read(all_readers: dict[str, Reader], name: str) -> None:
    reader = all_readers[name]
    if name in ("tar archive", "IDX images"):
        reader = Reader(name=name, seeds=[gzip.compress(reader.seeds[0])], read=reader.read)
    outcome = Outcome(reader=name)
    attempt(reader, reader.seeds[0], outcome)
    assert (outcome.accepted, outcome.faults) == (1, [])


some = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@some
@given(content=st.binary(max_size=400))
def test_any_bytes_are_data_or_an_error(all_readers: dict[str, Reader], content: bytes) -> None:
    for name in ("TSV", "CSV", "JSONL", "data of any kind, gz"):
        outcome = Outcome(reader=name)
        attempt(all_readers[name], content, outcome)
        assert not outcome.faults


@some
@given(text=st.text(st.characters(codec=None), max_size=80))
def test_any_text_is_data_or_an_error(all_readers: dict[str, Reader], text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    for name in ("TSV", "CSV", "JSONL", "typed words"):
        outcome = Outcome(reader=name)
        attempt(all_readers[name], content, outcome)
        assert not outcome.faults


@some
@given(fields=st.dictionaries(KEYS, VALUES), kind=st.sampled_from(FORMATS))
def test_any_document_is_an_automaton_or_an_error(
    all_readers: dict[str, Reader], fields: dict[str, Any], kind: str
) -> None:
    content = json.dumps({**fields, "format": kind}).encode("utf-8", "surrogatepass")
    for name in ("DFA JSON", "PFA JSON", "counter machine JSON", "certificate JSON"):
        outcome = Outcome(reader=name)
        attempt(all_readers[name], content, outcome)
        assert not outcome.faults


# -- bombs ---------------------------------------------------------------------------------------


def refused_in_place(read: Any, match: str) -> None:
    tracemalloc.start()
    with pytest.raises(DataError, match=match):
        read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**27


@pytest.fixture
def low_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "FREE", 2**20)


def test_a_bomb_of_short_lines_is_refused(low_bound: None, tmp_path: Path) -> None:
    path = tmp_path / "bomb.tsv.gz"
    path.write_bytes(gzip.compress(b"0\t1\n" * 2**20))
    refused_in_place(lambda: read_data(path), "more than 250 times its size")


def test_a_bomb_of_one_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tsv.gz"
    path.write_bytes(gzip.compress(b"0" * (17 * 2**20)))
    refused_in_place(lambda: list(read_examples(path)), "longer than")


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.REGTYPE])
def test_a_bomb_in_a_tar_header_is_refused(low_bound: None, tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("header")
    entry.type, entry.size = kind, 2**23
    content = entry.tobuf(tarfile.USTAR_FORMAT) + bytes(2**23) + make_tar({"a": b"b"})
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(content))
    refused_in_place(lambda: list(members(path, lambda name: name == "a")), "times its size")


def test_a_bomb_of_pixels_is_refused(low_bound: None, tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\0\0\x08\x01\x00\x80\x00\x00" + bytes(2**23)))
    refused_in_place(lambda: read_idx(path), "times its size")


def test_what_packs_well_but_is_small_is_read(tmp_path: Path) -> None:
    path = tmp_path / "same.tsv.gz"
    path.write_bytes(gzip.compress(b"0\t1\n" * 10_000))
    assert len(read_data(path).words) == 10_000


def test_names_in_an_archive_are_names_only(tmp_path: Path) -> None:
    """Absolute, climbing and linked names: nothing is opened, nothing is written."""
    names = ["/tmp/kleene-escaped", "../../kleene-escaped", "a\0b", "C:\\x", "\u202egnp.exe"]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name in names:
            entry = tarfile.TarInfo(name)
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
            entry = tarfile.TarInfo("special")
            entry.type, entry.linkname = kind, "/etc/passwd"
            tar.addfile(entry)
    folder = tmp_path / "inner" / "inner"
    folder.mkdir(parents=True)
    path = folder / "evil.tar.gz"
    path.write_bytes(out.getvalue())
    found = list(members(path, lambda name: True))
    assert {content for _, content in found} == {b"x"}
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["evil.tar.gz"]
    assert not Path("/tmp/kleene-escaped").exists()


# -- doors ---------------------------------------------------------------------------------------


def test_certified_models_give_the_labels_of_their_automata_at_every_door() -> None:
    tally = run_doors(200, 100_000)
    assert tally["faults"] == []
    assert tally["cases"] == 200
    assert min(tally[door] for door in DOORS if door != "c") >= 5


@pytest.mark.slow
def test_doors_of_many_models() -> None:
    assert run_doors(20_000, 10**7)["faults"] == []

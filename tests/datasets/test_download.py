"""Where public files are looked for, and what is said when they are not there."""

import hashlib
from pathlib import Path

import pytest

from kleene.datasets.archives import Source, locate
from kleene.datasets.corpora import IMDB, NEWSGROUPS, imdb
from kleene.errors import DataError

CONTENT = b"the content of a public file"


@pytest.fixture
def source() -> Source:
    return Source(
        folder="toys",
        url="http://localhost:9/toys.bin",  # the port to which nobody listens
        checksums={
            "toys.bin": f"sha256:{hashlib.sha256(CONTENT).hexdigest()}",
            "toys-repacked.bin": f"md5:{hashlib.md5(CONTENT * 2).hexdigest()}",
        },
    )


@pytest.mark.parametrize("place", ["toys/toys.bin", "toys.bin"])
def test_a_file_is_found_in_the_folder_or_its_subfolder(
    source: Source, tmp_path: Path, place: str
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_bytes(CONTENT)
    assert locate(source, tmp_path) == tmp_path / place


def test_the_variable_names_the_folder(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toys-repacked.bin").write_bytes(CONTENT * 2)
    monkeypatch.setenv("KLEENE_DATA", str(tmp_path))
    assert locate(source).name == "toys-repacked.bin"


def test_a_wrong_checksum_is_refused(source: Source, tmp_path: Path) -> None:
    (tmp_path / "toys.bin").write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=r"toys.bin must have the sha256 .*get it again"):
        locate(source, tmp_path)


def test_a_missing_folder_and_a_missing_file_are_told_apart(source: Source, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no folder .*/nowhere"):
        locate(source, tmp_path / "nowhere")
    with pytest.raises(
        DataError, match=r"holds no toys/toys.bin or toys/toys-repacked.bin; get it"
    ):
        locate(source, tmp_path)
    with pytest.raises(DataError, match="aclImdb"):
        imdb(tmp_path)


def test_without_a_network_the_message_says_what_to_do(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KLEENE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(DataError, match=r"cannot fetch http://localhost:9.*KLEENE_DATA"):
        locate(source)


def test_a_file_once_fetched_is_used_again(
    source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KLEENE_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cached = tmp_path / "kleene" / "toys" / "toys.bin"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(CONTENT)
    assert locate(source) == cached


def test_the_public_files_are_known_by_their_checksums() -> None:
    from sklearn.datasets import _twenty_newsgroups

    known = _twenty_newsgroups.ARCHIVE
    assert NEWSGROUPS.checksums[known.filename] == f"sha256:{known.checksum}"
    assert NEWSGROUPS.url == known.url
    assert next(iter(IMDB.checksums)) == "aclImdb_v1.tar.gz"

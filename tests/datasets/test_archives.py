"""Archives that are whole, and archives that are broken, hostile or of another kind."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from kleene.datasets.archives import members
from kleene.errors import DataError

FILES = {f"set/{i}.txt": f"text {i} ".encode() * (i + 1) * 50 for i in range(20)}


def make_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return make_tar(tmp_path / "set.tar.gz", FILES)


def test_wanted_files_come_whole_and_in_order(archive: Path) -> None:
    assert dict(members(archive, lambda name: True)) == FILES
    assert [name for name, _ in members(archive, lambda name: name.endswith("7.txt"))] == [
        "set/7.txt",
        "set/17.txt",
    ]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_archive_never_passes_for_whole(archive: Path, share: float) -> None:
    content = archive.read_bytes()
    archive.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match="broken or not"):
        list(members(archive, lambda name: False))


def test_a_tar_cut_between_two_files_never_passes_for_whole(tmp_path: Path) -> None:
    whole = make_tar(tmp_path / "set.tar.gz", FILES).read_bytes()
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(gzip.compress(gzip.decompress(whole)[:1024]))
    names = [name for name, _ in members(cut, lambda name: True)]
    assert names == ["set/0.txt"]  # a tar may end so; the loaders look for empty parts
    cut.write_bytes(gzip.compress(gzip.decompress(whole))[:-9])  # as downloads end
    with pytest.raises(DataError):
        list(members(cut, lambda name: True))


def test_a_changed_byte_is_noticed(archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(DataError, match="broken"):
        list(members(archive, lambda name: True))


@pytest.mark.parametrize(
    "content", [b"", b"no archive", gzip.compress(b"no tar" * 500, mtime=0)], ids=len
)
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.tar.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="broken or not"):
        list(members(path, lambda name: True))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*nowhere"):
        list(members(tmp_path / "nowhere.tar.gz", lambda name: True))


def test_sizes_are_bounded(tmp_path: Path) -> None:
    bomb = make_tar(tmp_path / "bomb.tar.gz", {"a": bytes(10_000), "b": bytes(10_000)})
    with pytest.raises(DataError, match="'a' goes beyond 9,999 bytes"):
        list(members(bomb, lambda name: True, max_member=9_999))
    with pytest.raises(DataError, match="'b' goes beyond"):
        list(members(bomb, lambda name: True, max_total=19_999))

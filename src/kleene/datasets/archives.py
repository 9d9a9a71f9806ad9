"""Public archives: found or fetched, checked, and read as a stream.

Nothing is fetched at import, and nothing at all where the user names a folder. Tar archives are
never unpacked to disk, and sizes are bounded.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kleene.data.lines import reading, unpacked
from kleene.errors import DataError, extra
from kleene.files import open_regular

VARIABLE = "KLEENE_DATA"
MAX_MEMBER = 16 * 2**20  # bytes of one document
MAX_TOTAL = 4 * 2**30  # bytes of all documents


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file of a corpus: the public one first, then repacked ones with the same content."""

    folder: str
    url: str
    checksums: dict[str, str]
    """`algorithm:digest` of every file name that holds this content, the url's first."""


def locate(source: Source, data: str | Path | None = None) -> Path:
    """The checked file of a source, or of its subfolder, in `data` or the folder KLEENE_DATA.

    Where neither is given, the public file is fetched once into the user's cache.
    """
    named = data or os.environ.get(VARIABLE)
    if not named:
        return _fetch(source)
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DataError(f"there is no folder {folder}; name one with data= or {VARIABLE}")
    for name, checksum in source.checksums.items():
        for path in (folder / source.folder / name, folder / name):
            if not path.is_file():
                continue
            algorithm, _, wanted = checksum.partition(":")
            with reading(path), open_regular(path) as file:
                found = hashlib.file_digest(file, algorithm).hexdigest()
            if found != wanted:
                problem = f"{path} must have the {algorithm} {wanted[:12]}..., got {found[:12]}..."
                raise DataError(f"{problem}; it is truncated or altered: get it again")
            return path
    names = " or ".join(f"{source.folder}/{name}" for name in source.checksums)
    raise DataError(
        f"{folder} holds no {names}; get it from {source.url}, or name no folder to have it fetched"
    )


def _fetch(source: Source) -> Path:
    import logging

    with extra("data"):
        import pooch

    pooch.get_logger().setLevel(logging.WARNING)
    cache = pooch.os_cache("kleene") / source.folder
    name, checksum = next(iter(source.checksums.items()))
    try:
        return Path(pooch.retrieve(source.url, checksum, fname=name, path=cache))
    except ValueError as error:  # what pooch raises for a wrong checksum
        raise DataError(f"{source.url} is not the file it was: {error}") from None
    except OSError as error:  # no network, no such host, no room
        reason = " ".join(str(error).split())[:120]
        cure = f"fetch it elsewhere, and name its folder with data= or {VARIABLE}"
        raise DataError(f"cannot fetch {source.url} ({reason}); {cure}") from None


def members(
    path: str | Path,
    wanted: Callable[[str], bool],
    *,
    max_member: int = MAX_MEMBER,
    max_total: int = MAX_TOTAL,
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the wanted files in a .tar.gz, in their order; links are passed over.

    No path of an archive is ever opened. The archive is read to its end, so that a truncated one
    never passes for whole.
    """
    total = 0
    with (
        reading(path, tarfile.TarError),
        open_regular(path) as file,
        unpacked(file, str(path)) as stream,
    ):
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for entry in tar:
                if not entry.isreg() or not wanted(entry.name):
                    continue
                total += entry.size
                if entry.size > max_member or total > max_total:
                    limits = f"{max_member:,} bytes a file and {max_total:,} in all"
                    found = f"{path}: {entry.name[:80]!r} goes beyond {limits}"
                    raise DataError(f"{found}; raise the limits if you trust the archive")
                content = tar.extractfile(entry)
                yield entry.name, content.read() if content else b""
        while stream.read(2**20):  # gzip checks length and sum at its end
            pass

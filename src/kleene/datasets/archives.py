"""Tar archives read as a stream: nothing is ever unpacked to disk, and sizes are bounded."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from kleene.data.lines import unpacked
from kleene.errors import DataError
from kleene.files import open_regular

MAX_MEMBER = 16 * 2**20  # bytes of one document
MAX_TOTAL = 4 * 2**30  # bytes of all documents


def members(
    path: str | Path,
    wanted: Callable[[str], bool],
    *,
    max_member: int = MAX_MEMBER,
    max_total: int = MAX_TOTAL,
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files in a .tar.gz whose names are wanted, in their order.

    Names are only names here: no path of an archive is ever opened. Links, devices and folders are
    passed over. The archive is read to its end, so that a truncated one never passes for whole.
    """
    total = 0
    try:
        with open_regular(path) as file, unpacked(file, str(path)) as stream:
            with tarfile.open(fileobj=stream, mode="r|") as tar:
                for entry in tar:
                    if not entry.isreg() or not wanted(entry.name):
                        continue
                    total += entry.size
                    if entry.size > max_member or total > max_total:
                        limits = f"{max_member:,} bytes a file and {max_total:,} in all"
                        raise DataError(
                            f"{path}: {entry.name[:80]!r} goes beyond {limits}; "
                            "raise the limits if you trust the archive"
                        )
                    content = tar.extractfile(entry)
                    yield entry.name, content.read() if content else b""
            while stream.read(2**20):  # gzip checks length and sum at its end
                pass
    except (EOFError, gzip.BadGzipFile, zlib.error, tarfile.TarError) as error:
        reason = str(error) or type(error).__name__
        raise DataError(f"{path} is broken or no .tar.gz ({reason}); get it again") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot read {path}: {reason}; check its name and permissions") from None

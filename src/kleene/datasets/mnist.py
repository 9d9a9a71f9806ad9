"""Images as sequences, pixel by pixel and row by row: the MNIST digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kleene.arrays import Floats, Ints
from kleene.data.lines import reading, unpacked
from kleene.datasets.archives import Source, locate
from kleene.errors import DataError, SettingError
from kleene.files import open_regular

_URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
_SHA256 = {
    "train-images-idx3": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
    "t10k-images-idx3": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
}
MNIST = {
    name: Source(folder="mnist", url=_URL + name, checksums={name: f"sha256:{digest}"})
    for name, digest in ((f"{part}-ubyte.gz", digest) for part, digest in _SHA256.items())
}
MAX_BYTES = 2**30  # of one file, decompressed
MAX_DIMENSIONS = 8


@dataclass(frozen=True, kw_only=True)
class Images:
    """Grey images of one size, and the class of each."""

    pixels: NDArray[np.uint8]  # image row column
    labels: Ints  # image

    def __post_init__(self) -> None:
        if self.pixels.ndim != 3 or len(self.pixels) != len(self.labels):
            found = f"{self.pixels.shape} and {len(self.labels)} labels"
            raise DataError(f"expected pixels (image, row, column), a label per image, got {found}")

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of each image."""
        return self.pixels.shape[1], self.pixels.shape[2]

    def pooled(self, size: int = 2, width: int | None = None) -> Images:
        """Smaller images: the mean over squares of `size` pixels, 28 x 28 becoming 14 x 14.

        With `width`, the mean over rectangles of `size` rows and `width` columns.
        """
        rows, columns = self.shape
        width = size if width is None else width
        if size < 1 or rows % size or width < 1 or columns % width:
            problem = f"{size} x {width} must divide {rows} x {columns}"
            raise SettingError(f"{problem}; choose another size")
        parts = self.pixels.reshape(len(self), rows // size, size, columns // width, width)
        return Images(pixels=parts.mean((2, 4)).round().astype(np.uint8), labels=self.labels)

    def vectors(self) -> list[Floats]:
        """Every image as (pixels, 1) numbers from 0 (the ground) to 1 (the ink)."""
        flat = (self.pixels.reshape(len(self), -1, 1) / np.float32(255)).astype(np.float32)
        return list(flat)


class ImageSplits(NamedTuple):
    """Images in their two parts."""

    train: Images
    test: Images


def mnist(data: str | Path | None = None) -> ImageSplits:
    """The 60,000 + 10,000 handwritten digits of LeCun et al. (1998), 28 x 28."""

    def part(name: str) -> Images:
        pixels, labels = (
            read_idx(locate(MNIST[f"{name}-{kind}-ubyte.gz"], data))
            for kind in ("images-idx3", "labels-idx1")
        )
        return Images(pixels=pixels, labels=labels.astype(np.int64))

    return ImageSplits(part("train"), part("t10k"))


def read_idx(path: str | Path, max_bytes: int = MAX_BYTES) -> NDArray[np.uint8]:
    """The array of bytes in an IDX file, gzipped: zero, zero, type, dimensions, sizes, content."""
    with reading(path), open_regular(path) as packed, unpacked(packed, str(path)) as file:
        magic = file.read(4)
        if len(magic) < 4 or magic[:3] != b"\0\0\x08" or magic[3] > MAX_DIMENSIONS:
            wanted = f"00 00 08 and at most {MAX_DIMENSIONS} dimensions"
            raise DataError(f"{path} must begin with {wanted}, got {magic.hex(' ')}")
        header = file.read(4 * magic[3])
        if len(header) < 4 * magic[3]:
            raise EOFError("the sizes are missing")
        shape = np.frombuffer(header, ">u4").tolist()
        size = math.prod(shape)
        if size > max_bytes:
            raise DataError(f"{path} is of {size:,} bytes, more than {max_bytes:,}; cut it")
        content = file.read(size + 1)
    if len(content) != size:
        found = f"{'more' if len(content) > size else len(content)} bytes"
        raise DataError(f"{path} must have {size} bytes of content, got {found}; get it again")
    return np.frombuffer(content, np.uint8).reshape(shape)

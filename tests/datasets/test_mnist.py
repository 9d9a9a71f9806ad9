"""Images as sequences, from IDX files made here and the real ones where they are at hand."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from kleene.datasets.mnist import Images, mnist, read_idx
from kleene.errors import DataError, SettingError


def idx(array: np.ndarray) -> bytes:
    head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return gzip.compress(head + array.astype(np.uint8).tobytes())


@pytest.fixture
def images() -> Images:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 6)).astype(np.uint8)
    return Images(pixels=pixels, labels=np.array([3, 1, 4, 1, 5]))


def test_an_idx_file_is_its_array(tmp_path: Path, images: Images) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(idx(images.pixels))
    assert np.array_equal(read_idx(path), images.pixels)
    path.write_bytes(idx(images.labels))
    assert np.array_equal(read_idx(path), images.labels)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda content: content[:-10], "broken or not gzipped"),
        (lambda content: b"", "must begin with"),
        (lambda content: b"plain", "broken or not gzipped"),
        (lambda content: gzip.compress(b"\x00\x00\x0d\x01"), "got 00 00 0d 01"),
        (lambda content: gzip.compress(b"\x00\x00\x08\x03\x00"), "sizes are missing"),
        (lambda content: gzip.compress(gzip.decompress(content)[:-1]), "got 119 bytes"),
        (lambda content: gzip.compress(gzip.decompress(content) + b"x"), "got more bytes"),
        (
            lambda content: gzip.compress(b"\x00\x00\x08\x02" + b"\xff" * 8 + b"x"),
            "more than 1,073,741,824",
        ),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, images: Images, spoil, message: str) -> None:
    path = tmp_path / "images.gz"
    path.write_bytes(spoil(idx(images.pixels)))
    with pytest.raises(DataError, match=message):
        read_idx(path)


def test_pixels_come_row_by_row(images: Images) -> None:
    vectors = images.vectors()
    for i in range(len(images)):
        flat = [images.pixels[i, r, c] for r in range(4) for c in range(6)]
        assert vectors[i].shape == (24, 1)
        assert vectors[i].dtype == np.float32
        assert np.allclose(vectors[i][:, 0], np.array(flat) / 255)


@pytest.mark.parametrize("width", [None, 1, 3])
def test_pooling_takes_means(images: Images, width: int | None) -> None:
    pooled, columns = images.pooled(2, width), 2 if width is None else width
    assert pooled.shape == (2, 6 // columns)
    for r in range(2):
        for c in range(6 // columns):
            square = images.pixels[:, 2 * r : 2 * r + 2, columns * c : columns * (c + 1)]
            assert np.abs(pooled.pixels[:, r, c] - square.mean((1, 2))).max() <= 0.5


@pytest.mark.parametrize(("size", "got"), [((4,), "4 x 4"), ((2, 4), "2 x 4")])
def test_pooling_must_divide(images: Images, size: tuple[int, ...], got: str) -> None:
    with pytest.raises(SettingError, match=f"{got} must divide 4 x 6"):
        images.pooled(*size)


def test_images_must_fit_their_labels() -> None:
    with pytest.raises(DataError, match=r"got \(2, 4, 4\) and 3 labels"):
        Images(pixels=np.zeros((2, 4, 4), np.uint8), labels=np.zeros(3, np.int64))
    with pytest.raises(DataError, match=r"expected pixels .*, got \(2, 16\) and 2 labels"):
        Images(pixels=np.zeros((2, 16), np.uint8), labels=np.zeros(2, np.int64))


@pytest.mark.data
@pytest.mark.skipif("KLEENE_DATA" not in os.environ, reason="KLEENE_DATA names no folder")
def test_mnist_is_all_there() -> None:
    train, test = mnist()
    assert (len(train), len(test), train.shape) == (60_000, 10_000, (28, 28))
    assert set(test.labels.tolist()) == set(range(10))
    assert len(test.pooled().vectors()[0]) == 196

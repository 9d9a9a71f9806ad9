"""C code that includes the headers of the kernels, compiled as the kernels are."""

from __future__ import annotations

import ctypes
import tempfile
from pathlib import Path

import pytest
import torch

from kleene.nn.fused.library import build, compiler


def compile_c(source: str) -> ctypes.CDLL:
    """The library of some C code; integers as arguments are 64 bits wide, or addresses."""
    if compiler() is None:
        pytest.skip("no C compiler", allow_module_level=True)
    with tempfile.TemporaryDirectory() as folder:
        file, target = Path(folder) / "code.c", Path(folder) / "code.so"
        file.write_text(source)
        build(file, target, torch.backends.cpu.get_cpu_capability())
        return ctypes.CDLL(str(target))


def call(function: object, *arguments: int) -> None:
    """Call a function of 64-bit integers and addresses."""
    function(*map(ctypes.c_int64, arguments))  # type: ignore[operator]

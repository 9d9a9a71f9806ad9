"""The kernels as a shared library: packaged in a wheel, or compiled once by the system's compiler.

The library knows neither Python nor torch, only addresses, so that one build serves every version
of both. `setup.py` runs this file without Kleene's dependencies.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

SOURCES = Path(__file__).with_name("kernels")
FLAGS = ("-O3", "-std=gnu11", "-shared", "-fPIC", "-ffp-contract=fast", "-fno-math-errno",
         "-fno-trapping-math")  # fmt: skip
VECTORS = {"AVX512": ("-mavx512f", "-mavx2", "-mfma"), "AVX2": ("-mavx2", "-mfma")}
"""Flags of the vector instructions, by torch's name of them; any other CPU has its default."""


def compiler() -> list[str] | None:
    """The command of a C compiler: $CC, or the system's."""
    given = shlex.split(os.environ.get("CC", ""))
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return given or ([found] if found else None)


def build(source: Path, target: Path, vectors: str) -> None:
    """Compile a C file to a shared library; a library that exists is complete."""
    command = compiler()
    if command is None:
        raise OSError("no C compiler was found; install gcc or clang")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        part = Path(folder) / target.name
        flags = [*FLAGS, *VECTORS.get(vectors, ()), f"-I{SOURCES}", "-o", str(part), str(source)]
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{command[0]} failed: {done.stderr.strip()[:300] or done.returncode}")
        os.replace(part, target)


def build_all(folder: Path) -> None:
    """Compile the libraries of a wheel, one for each kind of vector instructions."""
    for vectors in (*(VECTORS if platform.machine() in ("x86_64", "AMD64") else ()), "any"):
        build(SOURCES / "kernels.c", packaged(vectors, folder), vectors)


def packaged(vectors: str, folder: Path = SOURCES) -> Path:
    """Where a wheel has the library."""
    return folder / f"kernels-{vectors if vectors in VECTORS else 'any'}.so"


def cached(vectors: str) -> Path:
    """Where the library of this version of the sources is kept: $KLEENE_CACHE, or ~/.cache."""
    digest = hashlib.sha256(" ".join((*FLAGS, vectors, platform.machine())).encode())
    for file in sorted(SOURCES.glob("*.[ch]")):
        digest.update(file.read_bytes())
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kleene"
    folder = Path(os.environ.get("KLEENE_CACHE") or default)
    return folder / f"kernels-{digest.hexdigest()[:16]}.so"


@functools.cache
def library() -> ctypes.CDLL | None:
    """The library, compiled first if need be; None, and a line on standard error, without one."""
    import torch

    vectors = torch.backends.cpu.get_cpu_capability()
    try:
        if packaged(vectors).exists():
            return ctypes.CDLL(str(packaged(vectors)))
        path = cached(vectors)
        if not path.exists():
            build(SOURCES / "kernels.c", path, vectors)
        return ctypes.CDLL(str(path))
    except (OSError, RuntimeError) as error:
        message = f"kleene: networks run slower, by torch's operations: {error}"
        print(f"{message} (KLEENE_FUSED=0 silences this)", file=sys.stderr, flush=True)
        return None


@functools.cache
def kernel(direction: str, cell: str) -> Callable[[int], None]:
    """The kernel of a cell, `forward` or `backward`; it takes the address of a `Call`."""
    function = getattr(library(), f"{direction}_{cell}")
    function.argtypes, function.restype = [ctypes.c_void_p], None
    found: Callable[[int], None] = function
    return found


@functools.cache
def workspace(direction: str) -> Callable[[int, int], int]:
    """Floats of workspace from the address of a `Job` and a number of sequences."""
    function = getattr(library(), f"{direction}_workspace")
    function.argtypes, function.restype = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_int64
    found: Callable[[int, int], int] = function
    return found


@functools.cache
def torch_library() -> ctypes.CDLL | None:
    """The library of torch's operations on CPUs, with those that it is linked to."""
    import torch

    for path in sorted((Path(torch.__file__).parent / "lib").glob("*torch_cpu*")):
        try:
            return ctypes.CDLL(str(path))
        except OSError:
            continue
    return None


@functools.cache
def sgemm_address() -> int:
    """The address of the BLAS function `sgemm_`: torch's if it exports one, else SciPy's."""
    entry = getattr(torch_library(), "sgemm_", None)
    if entry is not None:
        return ctypes.cast(entry, ctypes.c_void_p).value or 0
    from scipy.linalg import cython_blas

    capsule = cython_blas.__pyx_capi__["sgemm"]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.argtypes, name.restype = [ctypes.py_object], ctypes.c_char_p
    pointer.argtypes, pointer.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
    return int(pointer(capsule, name(capsule)))


@functools.cache
def limit_threads() -> Callable[[int], int]:
    """A function that sets the BLAS threads of its thread and returns their number before."""
    limit = getattr(torch_library(), "MKL_Set_Num_Threads_Local", None)
    return limit or (lambda threads: 0)

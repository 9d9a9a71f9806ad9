"""The arguments of a kernel by name, as `kernels/call.h` declares them: an array of integers."""

from __future__ import annotations

import re
from array import array

from kleene.nn.fused.library import SOURCES


def _names() -> list[str]:
    """The fields in order: `job.X` is the field X of the record `job`."""
    text = re.sub(r"//.*", "", (SOURCES / "call.h").read_text(encoding="utf-8"))
    fields = {
        kind: re.findall(r"(\w+);", body)
        for kind, body in re.findall(r"^struct (\w+) \{(.*?)^\};", text, re.MULTILINE | re.DOTALL)
    }
    records = re.findall(r"struct (\w+) (\w+);", text)
    return [f"{record}.{name}" for kind, record in records for name in fields[kind]]


PLACES = {name: i for i, name in enumerate(_names())}
"""The place of every argument in the array."""
JOB = 8 * PLACES["job.sgemm"]
"""Bytes before the record `job`."""


def blank() -> array[int]:
    """The arguments of a call, all 0."""
    return array("q", bytes(8 * len(PLACES)))

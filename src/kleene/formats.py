"""Versions of files: every format is a name and a number, such as `kleene.dfa/1`.

A file of a newer version is refused, with the advice to upgrade; files of all older versions stay
readable, which `tests/formats` holds with files that were kept.
"""

from __future__ import annotations


def mismatch(came: object, wanted: str, cure: str) -> str:
    """What to say of a file that has not the format this version reads."""
    name, _, number = wanted.rpartition("/")
    shown, version = repr(came)[:60], came.removeprefix(f"{name}/") if isinstance(came, str) else ""
    newer = version != came and version.isdecimal()
    newer = newer and (len(version), version) > (len(number), number)  # int() has a longest text
    advice = "it was written by a newer version: upgrade kleene" if newer else cure
    return f"format {shown} came, this version reads {wanted!r}; {advice}"

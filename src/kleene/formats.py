"""Versions of files: every format is a name and a number, such as `kleene.dfa/1`.

A file of a newer version is refused, with the advice to upgrade; files of all older versions stay
readable, which `tests/formats` checks with stored files.
"""

from __future__ import annotations


def mismatch(found: object, wanted: str, cure: str) -> str:
    """The message for a file whose format is not the one this version reads."""
    name, _, number = wanted.rpartition("/")
    version = found.removeprefix(f"{name}/") if isinstance(found, str) else ""
    newer = version != found and version.isdecimal()
    newer = newer and (len(version), version) > (len(number), number)  # int() has a longest text
    advice = "it was written by a newer version: upgrade kleene" if newer else cure
    return f"format must be {wanted!r}, got {found!r:.60}; {advice}"

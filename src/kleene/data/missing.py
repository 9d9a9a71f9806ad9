"""Values that stand for "nothing is known": None, NaN, and the like of data frames."""

from __future__ import annotations

_KINDS = ("NAType", "NaTType")  # of pandas, which is not imported for this


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN or NA; the empty string is not missing.

    >>> [is_missing(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    if value is None or type(value).__name__ in _KINDS:
        return True
    return isinstance(value, float) and value != value

"""Shares as people read them, by one rule in messages, tables, logs and pages."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share in percent with one decimal; only none and all are 0 % and 100 %.

    >>> [percent(share) for share in (0, 0.0004, 0.4567, 0.9996, 1)]
    ['0 %', '< 0.1 %', '45.7 %', '> 99.9 %', '100 %']
    """
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    if share < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if share > 0.999 else f"{100 * share:.1f} %"


def probability_text(value: float) -> str:
    """A network's probability in percent; only rounding makes it 0 or 1.

    >>> probability_text(1.0)
    '> 99.9 %'
    """
    return percent(min(max(value, 1e-9), 1 - 1e-9))

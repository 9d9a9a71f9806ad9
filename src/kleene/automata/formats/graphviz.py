"""Graphviz, started once without the warnings of its font library.

The wheels of pygraphviz carry a fontconfig of their own. Where the system's configuration is newer,
it writes `Fontconfig warning: ...` to standard error, into progress bars and answers.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

NOISE = b"Fontconfig warning"


@cache
def load_graphviz() -> Any:
    """Return the module pygraphviz; the first call draws a small graph, which loads the fonts."""
    import pygraphviz

    with _without(NOISE):
        pygraphviz.AGraph(string="digraph { a }").draw(None, format="svg", prog="dot")
    return pygraphviz


@contextmanager
def _without(noise: bytes) -> Iterator[None]:
    """Hold back what is written to standard error, then write all lines but those of a kind."""
    try:
        before = os.dup(2)
    except OSError:  # closed, so that nothing can be written to it
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(before, 2)
            os.close(before)
            held.seek(0)
            kept = b"".join(line for line in held if not line.startswith(noise))
            if kept:
                os.write(2, kept)

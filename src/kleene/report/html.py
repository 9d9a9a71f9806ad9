"""The report: one file that needs no network, no notebook and no server.

The values stand in the page as JSON, and the page's own script makes the sections from them. Only
that script may run: a content security policy names its digest, so that a word such as `<script>`
is shown and never run, whatever it holds.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

from kleene.files import write_atomically
from kleene.machine import Label, Word
from kleene.model import Model

SHARED = (
    *("machine.js", "dom.js", "graph.js", "charts.js"),
    *("reader.js", "sections.js", "meaning.js"),
)
"""What every page needs, in order."""
START = (
    "Kleene.report(JSON.parse(document.getElementById('values').textContent), "
    "document.getElementById('page'));"
)


NO_SCRIPT = "This report needs JavaScript; nothing is loaded from anywhere."


def write_report(
    model: Model,
    words: Sequence[Word],
    labels: Sequence[Label],
    path: str | Path,
    *,
    name: str = "model",
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write a report about a model and what it does with some words; labels may be empty.

    `progress` is called with the number of parts that are done, and of all.
    """
    from kleene.report.content import content

    values = content(model, words, labels, name=name, seed=seed, progress=progress)
    return write_atomically(path, report_page(values))


def report_page(content: dict[str, Any]) -> str:
    """The page around the values that `kleene.report.content` collects."""
    from kleene import __version__

    made = datetime.now().astimezone().strftime("%-d %B %Y, %H:%M")
    values = as_json_block({**content, "made": made, "version": __version__})
    css, code = asset("style.css"), script("report.js") + START
    policy = (
        "default-src 'none'; img-src blob: data:; base-uri 'none'; form-action 'none'; "
        f"style-src {_digest(css)}; script-src {_digest(code)}"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(content['name'])} - Kleene report</title>\n<style>{css}</style></head>\n"
        f'<body><div id="page"><noscript>{NO_SCRIPT}</noscript></div>\n'
        f'<script type="application/json" id="values">{values}</script>\n'
        f"<script>{code}</script></body></html>\n"
    )


def script(*own: str) -> str:
    """The script of a page: what all share, then its own files."""
    return "\n".join(asset(name) for name in (*SHARED, *own))


@cache
def asset(name: str) -> str:
    """A file of the package's `static` folder."""
    return resources.files("kleene.report").joinpath("static", name).read_text("utf-8")


def as_json_block(values: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end the element."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text.encode("utf-8", "replace").decode()


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

"""Hooks of `mkdocs build`: formulas become MathML, leftover placeholders are errors."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">\s*(?:\\\((.*?)\\\)|\\\[(.*?)\\\])\s*</\1>', re.DOTALL
)
CODE = re.compile(r"<(code|pre|script|style)\b.*?</\1>", re.DOTALL)
PLACEHOLDER = re.compile(r"\{[a-z_]+\}|\\\(|\\\[")
"""A field of `str.format` that nobody filled in, or a formula that was not converted."""


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Convert the formulas of a page, and refuse to publish a placeholder."""
    content = FORMULA.sub(_mathml, content)
    if page.file.src_path.endswith(".md") and (found := PLACEHOLDER.search(CODE.sub("", content))):
        raise PluginError(f"{page.file.src_path}: leftover placeholder {found[0]}")
    return content


def _mathml(found: re.Match[str]) -> str:
    inline, block = found[2], found[3]
    return convert(html.unescape(inline or block), display="inline" if inline else "block")

"""What a newsgroup message says, without its header, its signature and what it quotes."""

from __future__ import annotations

import re

QUOTED = re.compile(r"^\s{0,3}[>|]|^\s{0,3}\w{1,4}>")
ATTRIBUTION = re.compile(
    r"\b(?:writes|wrote|says|said)\s*:\s*$|\bwrites in\b|^\s*(?:in article\b|quoted from\b)",
    re.IGNORECASE,
)
RULE = re.compile(r"^[\s\-_=*~]*$")
MOST_SIGNATURE = 12  # lines; a longer last part is text


def without_header(message: str) -> str:
    """All after the first empty line; such lines end the header of a message."""
    _, found, body = message.replace("\r\n", "\n").partition("\n\n")
    return body if found else message


def without_quotes(body: str) -> str:
    """All lines that neither quote another message nor say whom the next ones quote."""
    lines = body.split("\n")
    return "\n".join(
        line for line in lines if not QUOTED.search(line) and not ATTRIBUTION.search(line)
    )


def without_footer(body: str) -> str:
    """All before the last empty line or rule, if what follows is as short as a signature."""
    lines = body.rstrip().split("\n")
    for i in range(len(lines) - 1, max(len(lines) - 1 - MOST_SIGNATURE, 0), -1):
        if RULE.match(lines[i]):
            return "\n".join(lines[:i])
    return body


def clean(message: str) -> str:
    """The message without header, quotes and footer; it may be empty then."""
    return without_footer(without_quotes(without_header(message))).strip()

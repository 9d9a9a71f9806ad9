"""From a text to its words and punctuation marks."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterable
from functools import cache

from kleene.machine import Word

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_PROSE = re.compile(r"[^\W\d_]{2}[.,!?;:](?=\s|$)")
_GUESSED_FROM = 10_000
_ASCII = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*|\.{2,}|[^\w\s]|_")


def tokenize(text: str) -> tuple[str, ...]:
    """The tokens of a text in lower case: words and numbers, and every other character by itself.

    An apostrophe inside a word stays there, dots in a row stay together, `<br />` is dropped.
    Scripts that put no space between words give one token a character where each is a unit of
    meaning (Chinese, Japanese), and one token a phrase elsewhere (Thai, Khmer).

    >>> tokenize("It isn't GOOD...<br />Nor bad: 7/10!")
    ('it', "isn't", 'good', '...', 'nor', 'bad', ':', '7', '/', '10', '!')
    """
    plain = _BREAK.sub(" ", text).lower().replace("’", "'")
    if plain.isascii():  # as the other pattern, three times faster
        return tuple(_ASCII.findall(plain))
    return tuple(_unicode().findall(unicodedata.normalize("NFC", plain)))


def split(text: Word, tokens: str | None) -> Word:
    """A text as a word: itself for "chars", cut at white space for "words", tokenized for "text".

    What is no text, such as a list of symbols, stays as it is.
    """
    if not isinstance(text, str):
        return text
    if tokens == "text":
        return tokenize(text)
    return tuple(text.split()) if tokens == "words" else text


def guess_tokens(texts: Iterable[Word]) -> str:
    """How texts are best split: "text" for prose, "words" at white space, or "chars".

    Texts are prose where one in ten or more has a word of letters with a punctuation mark behind
    it. The first 10,000 texts with white space decide.

    >>> guess_tokens(["I liked it.", "Not bad, really!"]), guess_tokens(["open read close"])
    ('text', 'words')
    >>> guess_tokens(["0110", "01"])
    'chars'
    """
    spaced = prose = 0
    for text in texts:
        if isinstance(text, str) and len(text.split(maxsplit=1)) > 1:
            spaced += 1
            prose += _PROSE.search(text) is not None
            if spaced == _GUESSED_FROM:
                break
    if not spaced:
        return "chars"
    return "text" if prose * 10 >= spaced else "words"


@cache
def _unicode() -> re.Pattern[str]:
    """Letters, digits and the marks that combine with them; `re` has no class for the last."""
    codes = range(0x300, min(sys.maxunicode, 0x20000))
    marks = _ranges([code for code in codes if unicodedata.category(chr(code))[0] == "M"])
    marks = f"[{marks}\u200c\u200d]"  # and the two joiners
    ideographs = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = f"[^\\W_{ideographs}]"
    word = f"{letter}+(?:{marks}+{letter}*)*"
    return re.compile(f"{word}(?:'{word})*|[{ideographs}]{marks}*|\\.{{2,}}|[^\\w\\s]{marks}*|_")


def _ranges(codes: list[int]) -> str:
    """Code points as the inside of a character class."""
    text, start = "", codes[0]
    for code, following in zip(codes, [*codes[1:], -1], strict=True):
        if following != code + 1:
            text += f"{chr(start)}-{chr(code)}"
            start = following
    return text

"""From what a user gives, a text or a list, to a word; from the texts of labels to labels."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from kleene.data.alphabet import from_json_symbol
from kleene.data.bins import Bins, as_numbers
from kleene.errors import AlphabetError, DataError, SettingError
from kleene.machine import Label, Word

TOKENS = ("chars", "words", "text", "symbols")
"""How a text becomes a word: by character, at white space, as prose, or not at all."""

_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_PROSE = re.compile(r"[^\W\d_]{2}[.,!?;:](?=\s|$)")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,15}")
_DECIMAL = re.compile(r"[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]{1,3})?")
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


class Words(list[Word]):
    """A list of words that knows how their texts were split."""

    def __init__(self, words: Iterable[Word], tokens: str) -> None:
        super().__init__(words)
        self.tokens = tokens


def as_word(
    value: Any, tokens: str | None, bins: Bins | None = None, *, typed: bool = False
) -> Any:
    """The word that a text or a sequence stands for; `tokens` None leaves texts whole.

    With `bins`, numbers and texts of numbers become the symbols of their bins. `typed` values come
    from a person, a file or a request: where `tokens` is "symbols", their texts are split at white
    space or read as a JSON list.

    >>> as_word("Not bad!", "text"), as_word("Not bad!", "words"), as_word("ab", "chars")
    (('not', 'bad', '!'), ('Not', 'bad!'), 'ab')
    >>> as_word("1 2", "symbols", typed=True), as_word("[1, 2]", "symbols", typed=True)
    (('1', '2'), (1, 2))
    """
    if bins is not None and (typed or isinstance(value, str) or _is_numeric(value)):
        return bins.symbols(as_numbers(value)) if len(value) else ()
    if isinstance(value, str):
        if tokens == "text":
            return tokenize(value)
        if tokens == "symbols" and typed and value.lstrip().startswith("["):
            try:
                return json_word(json.loads(value))
            except (ValueError, RecursionError) as error:
                raise DataError(
                    f"a text that begins with [ must be a JSON list of symbols, got {value!r:.40} "
                    f"({error!s:.80})"
                ) from None
        split = tokens == "words" or (tokens == "symbols" and typed)
        return tuple(value.split()) if split else value
    if typed and tokens == "chars" and all(isinstance(s, str) and len(s) == 1 for s in value):
        return "".join(value)
    return value


def json_word(value: Any) -> Word:
    """The text or the list of symbols that a JSON value is."""
    if isinstance(value, str):
        return str(without_surrogates(value))
    if not isinstance(value, list | tuple):
        raise DataError(f"a sequence must be a string or a list, got {value!r:.40}")
    try:
        return tuple(without_surrogates(from_json_symbol(symbol)) for symbol in value)
    except (AlphabetError, RecursionError) as error:
        raise DataError(str(error)) from None


def without_surrogates(value: Any) -> Any:
    """A value without lone surrogates, which JSON can spell and no file or terminal can hold."""
    if isinstance(value, tuple):
        return tuple(map(without_surrogates, value))
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def arrow_values(array: Any) -> list[Any]:
    """The values of an Arrow array as Python objects, equal ones as one object."""
    names = array.dictionary_encode(null_encoding="encode")
    values = np.empty(len(names.dictionary), dtype=object)
    values[:] = names.dictionary.to_pylist()
    found: list[Any] = values[names.indices.to_numpy()].tolist()
    return found


def typed_labels(labels: Sequence[Label | None]) -> list[Any]:
    """The labels of a file: whole numbers or truth values where all texts are such; None stays.

    >>> typed_labels(["1", "0", None]), typed_labels(["1", "x"]), typed_labels(["True", "False"])
    ([1, 0, None], ['1', 'x'], [True, False])
    """
    texts = {label for label in labels if label is not None}
    convert: Any = None
    if not all(isinstance(text, str) for text in texts):
        return list(labels)
    if all(_WHOLE.fullmatch(str(text)) for text in texts):
        convert = int
    elif all(_DECIMAL.fullmatch(str(text)) for text in texts):
        if not all(float(str(text)).is_integer() for text in texts):
            convert = float  # measurements, which are no classes
    elif texts <= {"True", "False"}:
        convert = "True".__eq__
    return [convert(label) if convert and label is not None else label for label in labels]


def check_tokens(tokens: str | None) -> str | None:
    """The same, if it names a way to split texts."""
    if tokens is not None and tokens not in TOKENS:
        raise SettingError(f"tokens must be one of {', '.join(TOKENS)}, got {tokens!r}")
    return tokens


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


def _is_numeric(value: Any) -> bool:
    return all(isinstance(part, int | float) and not isinstance(part, bool) for part in value)


@cache
def _unicode() -> re.Pattern[str]:
    """Letters, digits and the marks that combine with them; `re` has no class for the last."""
    codes = map(chr, range(0x300, 0x20000))
    marks = "".join(code for code in codes if unicodedata.category(code)[0] == "M")
    marks = f"[{marks}\u200c\u200d]"  # and the two joiners
    ideographs = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
    letter = f"[^\\W_{ideographs}]"
    word = f"{letter}+(?:{marks}+{letter}*)*"
    return re.compile(f"{word}(?:'{word})*|[{ideographs}]{marks}*|\\.{{2,}}|[^\\w\\s]{marks}*|_")

"""Malformed inputs made from good ones: bytes flipped, cut and spliced, values made worse."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

TOKENS = (
    *(b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\n\n", b"\t", b",", b'"'),
    *(b"NaN", b"-1", b"1e999", b"9" * 40, b"9" * 5000, b"\\ud800", b"\\u0000", b"null", b"{}"),
    *(b"[" * 2000, b'{"a":' * 2000, b"../../../tmp/kleene-escaped", b"<script>", b"\x1f\x8b"),
    *(
        "\u202eabc\u0301\U0001f468\u200d\U0001f469".encode(),
        b"%s%n",
        b"__import__('os')",
        b"a" * 999,
    ),
)


def nested(depth: int, inner: Any = None) -> Any:
    """Lists in lists."""
    return inner if depth == 0 else [nested(depth - 1, inner)]


VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 2**31, 2**63, 2**64, -(2**63), 10**300, 0.5, -0.0, 1e308),
    *(
        float("nan"),
        float("inf"),
        -float("inf"),
        "",
        "0",
        "a",
        "\0",
        "\ud800",
        "a\u0301",
        "x" * 3000,
    ),
    *("\u202e", "__class__", "../../x", [], {}, [[]], [None], [0], [1, 2], {"a": 1}, [[0, 1], [1]]),
    *(nested(51), nested(900), nested(51, "a"), [{}] * 2000, [[]] * 2000, {"a": [{}] * 500}),
    *([[[[[[0]]]]]], [True], ["a", "a"], [0.5, 0.5], "kleene.dfa/1", "kleene.dfa/2", "NaN"),
)


def mutate_bytes(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    """One to four changes of bytes, wherever they fall."""
    changed = bytearray(content)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        at = dice.randrange(len(changed) + 1)
        match dice.randrange(7):
            case 0 if changed:
                for _ in range(dice.choice((1, 1, 8))):
                    changed[dice.randrange(len(changed))] = dice.randrange(256)
            case 1:
                del changed[at:]
            case 2:
                del changed[at : at + dice.choice((1, 2, 10, 100))]
            case 3:
                changed[at:at] = dice.choice(TOKENS)
            case 4:
                other = dice.choice(others)
                changed[at:] = other[dice.randrange(len(other) + 1) :]
            case 5:
                start = dice.randrange(len(changed) + 1)
                changed[at:at] = changed[start : start + dice.choice((1, 10, 100, 5000))]
            case _ if changed:
                changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
    return bytes(changed)


def mutate_json(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    """One to three values of a document replaced, taken out, doubled or exchanged."""
    document = json.loads(content)
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        places = list(_places(document))
        if not places:
            return json.dumps(dice.choice(VALUES)).encode()
        holder, key = dice.choice(places)
        match dice.randrange(6):
            case 0:
                del holder[key]
            case 1:
                other, its_key = dice.choice(places)
                holder[key] = other[its_key]
            case 2 if isinstance(holder, list):
                holder.insert(key, holder[key])
            case 3 if isinstance(holder[key], int | float):
                holder[key] += dice.choice((-1, 1, 0.5, 1000))
            case _:
                holder[key] = dice.choice(VALUES)
        try:
            document = json.loads(json.dumps(document))  # no value is in two places, none in itself
        except (ValueError, RecursionError):
            return content[: dice.randrange(len(content))]
    return json.dumps(document, ensure_ascii=dice.random() < 0.9).encode("utf-8", "surrogatepass")


def _places(document: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [document]
    while stack:
        holder = stack.pop()
        keys: Any = holder if isinstance(holder, dict) else range(len(holder))
        for key in list(keys):
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                stack.append(holder[key])
    return found


def both(share: float = 0.5) -> Callable[[bytes, Sequence[bytes], random.Random], bytes]:
    """Some inputs with bytes changed, some with values changed."""

    def mutate(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
        change = mutate_json if dice.random() < share else mutate_bytes
        return change(content, others, dice)

    return mutate


def mutate_lines(content: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    """Bytes changed, or the values of one JSON line of several."""
    if dice.random() < 0.5:
        return mutate_bytes(content, others, dice)
    lines = content.split(b"\n")
    at = dice.randrange(max(len(lines) - 1, 1))
    lines[at] = mutate_json(lines[at], others, dice)
    return b"\n".join(lines)

"""An automaton as a C file that needs no library: a table, four functions, and a small program.

The functions are the methods of a `Machine`, over the columns of the alphabet, and one that runs a
whole word. The program, left out where `KLEENE_NO_MAIN` is defined, reads words, one a line, and
prints the label of each; it asks the C library for nothing but characters. Symbols with blanks or
line breaks in them can be reached by their number only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kleene.automata.symbols import spelled_by_characters
from kleene.automata.table import TransitionTable
from kleene.errors import SettingError

TEMPLATE = r"""/* A deterministic automaton of @STATES states over @WIDTH symbols, by Kleene.

   int @NAME_start(void);                      the state before the first symbol
   int @NAME_step(int state, int symbol);      the next state; -1 for an unknown symbol
   int @NAME_output(int state);                the number of a state's label; -1 for state -1
   int @NAME_run(const int *word, size_t length);   the same for a whole word
   @NAME_labels[], @NAME_symbols[]             the texts of labels and symbols, in UTF-8

   As a program it reads words, one a line (@READS), and prints the label of
   each, or "?" for a word with unknown symbols; then the status is 1 in the end. */

#include <stddef.h>

#define STATES @STATES
#define WIDTH @WIDTH

static const @CELL next_state[STATES][WIDTH] = {
@TABLE
};
static const @LABEL label_of[STATES] = {
@OUTPUTS
};
const char *const @NAME_labels[] = {
@LABELS
};
const char *const @NAME_symbols[] = {
@SYMBOLS
};

int @NAME_start(void) { return @START; }

int @NAME_step(int state, int symbol) {
    if (state < 0 || state >= STATES || symbol < 0 || symbol >= WIDTH) return -1;
    return (int)next_state[state][symbol];
}

int @NAME_output(int state) {
    return state < 0 || state >= STATES ? -1 : (int)label_of[state];
}

int @NAME_run(const int *word, size_t length) {
    int state = @NAME_start();
    for (size_t i = 0; i < length; i++) state = @NAME_step(state, word[i]);
    return @NAME_output(state);
}

#ifndef KLEENE_NO_MAIN
#include <stdio.h>
#include <string.h>

#define LONGEST @LONGEST /* bytes of a symbol */

static const int sorted[WIDTH] = { /* symbols in the order of their bytes */
@SORTED
};

static int find(const char *text) {
    int low = 0, high = WIDTH;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int order = strcmp(text, @NAME_symbols[sorted[middle]]);
        if (order == 0) return sorted[middle];
        if (order < 0) high = middle; else low = middle + 1;
    }
    return -1;
}

static int next_byte(void) { /* of a text whose lines may end in CR LF */
    int c = getchar();
    if (c == '\r') {
        int after = getchar();
        if (after == '\n' || after == EOF) return after;
        ungetc(after, stdin);
    }
    return c;
}

int main(void) {
    char text[LONGEST + 2];
    int unknown = 0, c = next_byte();
    while (c != EOF) {
        int state = @NAME_start();
        while (c != EOF && c != '\n') {
            size_t size = 0;
@TOKEN
            text[size < LONGEST + 1 ? size : LONGEST + 1] = '\0';
            state = @NAME_step(state, size > LONGEST || strlen(text) != size ? -1 : find(text));
        }
        if (state < 0) unknown = 1;
        puts(state < 0 ? "?" : @NAME_labels[@NAME_output(state)]);
        if (c == '\n') c = next_byte();
    }
    return unknown;
}
#endif
"""
CHARACTER = r"""            do { /* one character: a byte and its continuation bytes */
                if (size <= LONGEST) text[size] = (char)c;
                size++;
                c = next_byte();
            } while (c != EOF && (c & 0xC0) == 0x80);"""
WORD = r"""            if (strchr(" \t\r\v\f", c) != NULL && c != 0) {
                c = next_byte();
                continue;
            }
            do { /* all up to the next blank */
                if (size <= LONGEST) text[size] = (char)c;
                size++;
                c = next_byte();
            } while (c != EOF && c != '\n' && (c == 0 || strchr(" \t\r\v\f", c) == NULL));"""


def to_c(dfa: TransitionTable, *, name: str = "automaton") -> str:
    """A C file without dependencies; `name` begins the names of its functions."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SettingError(f"name must be letters, digits and _, such as 'dates', got {name!r}")
    labels = list(dict.fromkeys(dfa.outputs))
    numbers = {label: i for i, label in enumerate(labels)}
    symbols = [_symbol(symbol) for symbol in dfa.alphabet]
    characters = spelled_by_characters(dfa.alphabet)
    token = CHARACTER if characters else WORD
    parts = {
        "NAME": name,
        "STATES": dfa.num_states,
        "WIDTH": len(symbols),
        "READS": "by characters" if characters else "symbols with blanks between",
        "CELL": _type(dfa.num_states),
        "LABEL": _type(len(labels)),
        "TABLE": ",\n".join("    {" + ", ".join(map(str, row)) + "}" for row in dfa.rows),
        "OUTPUTS": _lines([numbers[label] for label in dfa.outputs]),
        "LABELS": _lines([_literal(_text(label)) for label in labels]),
        "SYMBOLS": _lines([_literal(symbol) for symbol in symbols]),
        "START": dfa.initial,
        "LONGEST": max(len(symbol) for symbol in symbols),
        "SORTED": _lines(sorted(range(len(symbols)), key=symbols.__getitem__)),
        "TOKEN": token,
    }
    return re.sub(r"@([A-Z]+)", lambda found: str(parts[found.group(1)]), TEMPLATE)


def _type(count: int) -> str:
    """The smallest type that holds the numbers below `count`."""
    for name, largest in (("unsigned char", 256), ("unsigned short", 65536)):
        if count <= largest:
            return name
    return "int"


def _text(value: Any) -> bytes:
    """A symbol or label as a file of words writes it."""
    return str(value).encode("utf-8", "surrogatepass")


def _symbol(symbol: Any) -> bytes:
    """The same, without the blanks between the parts of a tuple, which would part them."""
    return b"".join(_text(symbol).split()) if isinstance(symbol, tuple) else _text(symbol)


def _literal(text: bytes) -> str:
    """A C string; plain characters as they are, other bytes as three octal digits."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text)
    return f'"{"".join(plain)}"'


def _lines(values: Sequence[Any], size: int = 16) -> str:
    rows = (values[i : i + size] for i in range(0, len(values), size))
    return ",\n".join("    " + ", ".join(map(str, row)) for row in rows)

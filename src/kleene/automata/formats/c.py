"""An automaton as a C file that needs no library: a table and four functions.

The functions are the methods of a `Machine`, over the columns of the alphabet, and one that runs a
whole word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kleene.automata.table import TransitionTable
from kleene.errors import SettingError
from kleene.machine import label_texts

TEMPLATE = r"""/* A deterministic automaton of @STATES states over @WIDTH symbols, by Kleene.

   int @NAME_start(void);                      the state before the first symbol
   int @NAME_step(int state, int symbol);      the next state; -1 for an unknown symbol
   int @NAME_output(int state);                the number of a state's label; -1 for state -1
   int @NAME_run(const int *word, size_t length);   the same for a whole word
   @NAME_labels[], @NAME_symbols[]             the texts of labels and symbols, in UTF-8 */

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
"""


def to_c(dfa: TransitionTable, *, name: str = "automaton") -> str:
    """A C file without dependencies; `name` begins the names of its functions."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise SettingError(f"name must be letters, digits and _, such as 'dates', got {name!r}")
    labels = list(dict.fromkeys(dfa.outputs))
    numbers = {label: i for i, label in enumerate(labels)}
    parts = {
        "NAME": name,
        "STATES": dfa.num_states,
        "WIDTH": len(dfa.alphabet),
        "CELL": _type(dfa.num_states),
        "LABEL": _type(len(labels)),
        "TABLE": ",\n".join("    {" + ", ".join(map(str, row)) + "}" for row in dfa.rows),
        "OUTPUTS": _lines([numbers[label] for label in dfa.outputs]),
        "LABELS": _lines([_literal(_text(text)) for text in label_texts(labels)]),
        "SYMBOLS": _lines([_literal(_text(symbol)) for symbol in dfa.alphabet]),
        "START": dfa.initial,
    }
    return re.sub(r"@([A-Z]+)", lambda found: str(parts[found.group(1)]), TEMPLATE)


def _type(count: int) -> str:
    for name, largest in (("unsigned char", 256), ("unsigned short", 65536)):
        if count <= largest:
            return name
    return "int"


def _text(value: Any) -> bytes:
    """A symbol or label as a file of words writes it."""
    return str(value).encode("utf-8", "surrogatepass")


def _literal(text: bytes) -> str:
    """A C string; plain characters as they are, other bytes as three octal digits."""
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in text)
    return f'"{"".join(plain)}"'


def _lines(values: Sequence[Any], size: int = 16) -> str:
    rows = (values[i : i + size] for i in range(0, len(values), size))
    return ",\n".join("    " + ", ".join(map(str, row)) for row in rows)

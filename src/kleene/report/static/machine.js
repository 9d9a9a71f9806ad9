// Words and the table: reading a text as symbols, and stepping it exactly as the library does.
"use strict";
const Kleene = {};

// What Python's str.split() takes for white space, which is not quite what \s means here.
Kleene.SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/** A typed text as symbols: code points, parts between white space, or a JSON list. */
Kleene.symbolsOf = function (text, tokens) {
  if (tokens === "chars") return Array.from(text);
  if (tokens === "symbols" && text.trimStart().startsWith("[")) {
    try {
      return JSON.parse(text);
    } catch {
      return [];
    }
  }
  return text.split(Kleene.SPACE).filter((part) => part !== "");
};

/** A machine from the page's table; symbols that act alike share a column of moves. */
Kleene.machine = function (table) {
  const columns = new Map(
    table.alphabet.map((symbol, i) => [JSON.stringify(symbol), table.column[i]]),
  );
  return {
    /** The states a word passes through, the first before any symbol; it stops at a stranger. */
    trace(symbols) {
      const states = [table.start];
      for (const symbol of symbols) {
        const column = columns.get(JSON.stringify(symbol));
        if (column === undefined) return { states, stranger: symbol };
        states.push(table.moves[states[states.length - 1]][column]);
      }
      return { states, stranger: null };
    },
    output: (state) => table.outputs[state],
    alphabet: table.alphabet,
  };
};

if (typeof module !== "undefined") module.exports = Kleene;

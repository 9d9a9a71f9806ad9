// Words and the table: reading a text as symbols, and stepping it exactly as the library does.
"use strict";
const Kleene = {};

// What Python's str.split() takes for white space, which is not quite what \s means here.
Kleene.SPACES =
  "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
Kleene.SPACE = new RegExp(`[${Kleene.SPACES}]+`, "u");

// Words with their marks and apostrophes, single ideographs, dots in a row, any other character.
Kleene.TOKEN = (() => {
  const ideograph = "\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
  const marks = "[\\p{M}\\u200c\\u200d]";
  const letter = `(?:(?![${ideograph}])[\\p{L}\\p{N}])`;
  const word = `${letter}+(?:${marks}+${letter}*)*`;
  const other = `[^\\p{L}\\p{N}_${Kleene.SPACES}]`;
  return new RegExp(`${word}(?:'${word})*|[${ideograph}]${marks}*|\\.{2,}|${other}${marks}*|_`, "gu");
})();

/** A typed text as symbols: code points, parts between white space, tokens, or a JSON list. */
Kleene.symbolsOf = function (text, tokens) {
  if (tokens === "chars") return Array.from(text);
  if (tokens === "text") {
    const plain = text.replace(/<br\s*\/?>/gi, " ").toLowerCase().replaceAll("’", "'");
    return plain.normalize("NFC").match(Kleene.TOKEN) ?? [];
  }
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
    /** The states a word passes through, the first before any symbol; it stops at an unknown symbol. */
    trace(symbols) {
      const states = [table.start];
      for (const symbol of symbols) {
        const column = columns.get(JSON.stringify(symbol));
        if (column === undefined) return { states, unknown: symbol };
        states.push(table.moves[states[states.length - 1]][column]);
      }
      return { states, unknown: null };
    },
    output: (state) => table.outputs[state],
    alphabet: table.alphabet,
  };
};

if (typeof module !== "undefined") module.exports = Kleene;

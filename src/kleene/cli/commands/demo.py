"""`kleene demo`: learn, predict, extract, prove and draw, once."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kleene.cli.automaton_files import check_endings
from kleene.cli.console import answer, answer_table, quoted
from kleene.cli.options import SEED, option
from kleene.evaluation.percent import percent

if TYPE_CHECKING:
    from kleene.automata import DFA

PROVED = "proved: network and automaton give every word the same label"
SHOWN = ("", "10010", "1000", "00", "110100100010", "0" * 12)


def demo(
    out: Path = option(Path("demo"), "FOLDER", "Where the files go."), seed: int = SEED
) -> bool:
    """Learn a language, extract its automaton, prove it, draw it.

    The language is Tomita 4: words of 0 and 1 without three 0 in a row.

    \b
    Example:
      kleene demo --out demo
    """
    from kleene import SequenceClassifier, languages
    from kleene.files import write_atomically
    from kleene.proof.certificate import Certificate
    from kleene.proof.verify import verify
    from kleene.training.progress import Bar, Reporter

    check_endings([out / "dfa.svg"])
    started = time.monotonic()
    language = languages.tomita(4)
    words, inside = language.sample(2000, seed=seed)
    labels = [int(one) for one in inside]
    out.mkdir(parents=True, exist_ok=True)
    lines = [f"{word}\t{label}\n" for word, label in zip(words, labels, strict=True)]
    write_atomically(out / "tomita4.tsv", "".join(lines))
    _title("1. Learn", "2000 words of Tomita 4: 0 and 1, without three 0 in a row")
    estimator = SequenceClassifier(random_state=seed).fit(
        words, labels, reporter=Bar() if sys.stderr.isatty() else Reporter()
    )
    estimator.save(out / "model")
    answer("\n".join(estimator.fit_log_))

    _title("2. Predict", "words of the language and others, most of them new")
    fresh, truth = language.sample(2000, lengths=range(41), seed=seed + 1)
    score = percent(estimator.score(fresh, truth))
    answer(f"accuracy on 2000 fresh words up to length 40: {score}")
    predicted = estimator.predict(SHOWN).tolist()
    answer_table(["word", "in the language?"], zip(map(quoted, SHOWN), predicted, strict=True))

    _title("3. Extract", "the automaton of the network")
    reading = estimator.extract(words)
    dfa, proof = reading.dfa, reading.certificate
    dfa.save(out / "dfa.json")
    _show(dfa)
    answer(f"agrees with the network on {percent(float(reading.fidelity))} of the words tried")
    assert language.dfa is not None  # a regular language
    word = dfa.difference(language.dfa)
    answer("the same language as the truth" if word is None else f"wrong on {quoted(word)}")

    _title("4. Prove", "for all words, of every length")
    if not isinstance(proof, Certificate):
        answer(f"no proof: {reading.refusal}")
    else:
        proof.save(out / "certificate.json")
        answer(f"{PROVED}; see certificate.json")
        checked = verify(out / "model", out / "dfa.json", out / "certificate.json")
        answer(f"verified from the files alone: {PROVED if checked.holds else checked}")

    _title("5. Draw", f"{out / 'dfa.svg'} and {out / 'dfa.png'}")
    dfa.draw(out / "dfa.svg")
    dfa.draw(out / "dfa.png")
    answer(f"done in {time.monotonic() - started:.0f} s; go on with")
    answer(f"  kleene match {out}/dfa.json {out}/tomita4.tsv --count")
    answer(f"  kleene explain {out}/model 0100011")
    answer(f"  kleene train {out}/tomita4.tsv --out mine --cell lstm")
    return word is None and proof is not None


def _show(dfa: DFA) -> None:
    """An automaton as text, a state a row; the start has an arrow."""
    rows = []
    for state in range(dfa.num_states):
        targets = [dfa.name(dfa.step(state, symbol)) for symbol in dfa.alphabet]
        arrow = "->" if state == dfa.start() else ""
        rows.append([arrow, dfa.name(state), *targets, dfa.output(state)])
    answer_table(["", "state", *map(str, dfa.alphabet), "label"], rows)


def _title(name: str, what: str) -> None:
    answer(f"\n{name}: {what}")
    sys.stdout.flush()

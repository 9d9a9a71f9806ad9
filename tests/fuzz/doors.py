"""Random certified models, asked through every door, against the automaton they are proved to be.

The proof is about a sequence of symbols in and the index of a class out. Labels, texts, files, the
web, ONNX and C are other doors, and each has to give the automaton's label. Labels and symbols are
hostile, and the model folder has the temporary files of another model in it. One certificate in
twenty is also checked by `verify --exact`, as it is and with a box made too narrow.

python tests/fuzz/doors.py --cases 20000      # the tally goes to experiments/results/fuzz.json
"""

# ruff: noqa: E402  (helpers are found first)
from __future__ import annotations

import argparse
import asyncio
import functools
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "helpers")]

import numpy as np
import onnxruntime
import torch
import typer.main
from asking import _ask, _request
from random_models import random_model

from kleene import SequenceClassifier
from kleene.cli import main
from kleene.data.alphabet import FIRST_SYMBOL, to_json_symbol
from kleene.explain.markup import as_json
from kleene.export.onnx_automaton import to_onnx
from kleene.files import write_atomically
from kleene.machine import Word
from kleene.model import Model
from kleene.nn.fused.library import compiler
from kleene.proof import require
from kleene.proof.certificate import Certificate
from kleene.proof.certify import certify
from kleene.proof.verify import verify
from kleene.web.app import create_app
from kleene.web.models import Served

LABELS: list[tuple[Any, ...]] = [
    *((False, True), (0, 1), (1, "1"), ("a", "a\0"), (-1, 2**63 + 1), (0.1, 2**70), ("", " ")),
    *((("x", 1), ("x", 2)), ("=1+1", "@x"), ("yes\n", "yes"), ("<b>", "</b>"), ("é", "e\u0301")),
    *(("x", "y", "z"), (None, "None"), (True, "True"), ('"', "'"), ("NaN", 0.5), ("\ud800", "a")),
]
SYMBOLS: list[tuple[Any, ...]] = [
    *(tuple("ab"), tuple("abc"), ("a", "\r"), ("\n", "b"), ("\t", ","), ('"', "'"), ("\0", "b")),
    *(("the", "end"), ("A", "a"), (1, "1"), (("a", 1), "b"), ("\ud800", "a"), ("é", "e\u0301")),
    *((" ", "a"), ("=1", "-"), ("<script>", "x"), ("", "a"), (0, 1, 2), ("a b", "c")),
]
CELLS, SIMILARITIES = ("rnn", "rnn-relu", "gru"), ("dot", "euclidean", "cosine")
WORDS = 24
Answers = tuple[list[Any], Any]  # labels, and the form in which a door gives a label
RESULTS = Path(__file__).parents[2] / "experiments" / "results" / "fuzz.json"


def case(seed: int) -> tuple[Model, Certificate] | None:
    """A random model and its proof, None where there is none."""
    dice = random.Random(seed)
    symbols, classes = dice.choice(SYMBOLS), dice.choice(LABELS)
    model = random_model(
        seed,
        symbols=symbols,
        classes=classes,
        num_states=dice.randrange(3, 7),
        hidden_size=dice.randrange(4, 9),
        cell=dice.choice(CELLS),
        similarity=dice.choice(SIMILARITIES),
        num_layers=dice.choice((1, 1, 1, 2)),
        transition=dice.choice(("mixture", "mixture", "soft-argmax")),
        end_token=dice.random() < 0.7,
    )
    one = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in symbols)
    model = replace(model, tokens="chars" if one else "symbols")
    found = certify(model)
    return (model, found) if isinstance(found, Certificate) else None


def words_of(alphabet: tuple[Any, ...], seed: int) -> list[Word]:
    dice = random.Random(seed)
    return [tuple(dice.choices(alphabet, k=dice.randrange(13))) for _ in range(WORDS)]


# -- the doors -----------------------------------------------------------------------------------


def by_python(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    loaded = Model.load(folder)
    assert require(loaded, proof) == proof.dfa
    return SequenceClassifier.from_model(loaded).predict(words).tolist(), repr


def predicted(folder: Path, data: Path) -> Answers:
    """What `kleene predict --json` says of a file."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        status = main(["predict", str(folder), str(data), "--json"])
    assert status == 0, status
    found = [json.loads(line)["prediction"] for line in out.getvalue().split("\n") if line]
    return found, lambda label: json.loads(json.dumps(to_json_symbol(label)))


def by_command(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    data = folder.parent / "words.jsonl"
    rows = [json.dumps({"sequence": [to_json_symbol(s) for s in word]}) + "\n" for word in words]
    data.write_text("".join(rows))
    return predicted(folder, data)


def by_table(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    """Rows of TSV or CSV, for symbols that a line of text can hold."""
    ending, between = random.Random(str(words)).choice(((".tsv", "\t"), (".csv", ",")))
    data = folder.parent / f"words{ending}"
    rows = [f"{''.join(map(str, word))}{between}x\n" for word in words]
    data.write_text(f"word{between}label\n" + "".join(rows))
    return predicted(folder, data)


def by_web(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    app = create_app({"m": Served("m", Model.load(folder))})
    body = {"words": [[to_json_symbol(s) for s in word] for word in words], "model": "m"}
    status, answer = asyncio.run(_ask(app, _request("POST", "/predict", body)))
    assert status == 200, answer
    rows = json.loads(answer)["predictions"]
    assert all(len(row["probabilities"]) == len(model.classes) for row in rows)
    found = [row["label"] for row in rows]
    return found, lambda label: json.loads(json.dumps(as_json(label)))


def by_onnx(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    """The network by its scores and the automaton by its labels; both must be right."""
    dfa = proof.dfa
    ids = [[model.columns[symbol] for symbol in word] for word in words]
    lengths = np.array([len(row) for row in ids], np.int64)
    padded = np.zeros((len(ids), max(1, lengths.max())), np.int64)
    for row, values in zip(padded, ids, strict=True):
        row[: len(values)] = values
    network = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    scores = network.run(["scores"], {"ids": padded + FIRST_SYMBOL, "lengths": lengths})[0]
    again = replace(
        dfa,
        alphabet=model.alphabet.symbols,
        transitions=dfa.transitions[:, [dfa.columns[s] for s in model.alphabet.symbols]],
    )
    session = onnxruntime.InferenceSession(to_onnx(again), providers=["CPUExecutionProvider"])
    labels = session.run(["labels"], {"ids": padded, "lengths": lengths})[0]
    named = list(dict.fromkeys(dfa.outputs))
    pairs = zip(scores.argmax(1).tolist(), labels.tolist(), strict=True)
    return [(model.classes[c], named[i]) for c, i in pairs], lambda label: (label, label)


def by_c(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    """The functions of the C file, on columns of the alphabet."""
    dfa = proof.dfa
    numbers = [[dfa.columns[symbol] for symbol in word] for word in words]
    calls = "".join(
        f"{{ int w[] = {{{', '.join(map(str, [*row, 0]))}}}; "
        f'printf("%d\\n", automaton_run(w, {len(row)})); }}\n'
        for row in numbers
    )
    head, body = "#include <stdio.h>\n", dfa.to_c()
    code = f"{head}{body}\nint main(void) {{{calls}return 0;}}"
    source, program = folder.parent / "dfa.c", folder.parent / "dfa"
    source.write_text(code, encoding="utf-8", errors="surrogatepass")
    command = [*(compiler() or ["cc"]), "-O0", "-w", str(source), "-o", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    out = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    named = list(dict.fromkeys(dfa.outputs))
    return [named[int(line)] for line in out.split()], lambda label: label


def by_exact(model: Model, proof: Certificate, words: list[Word], folder: Path) -> Answers:
    """Both verifiers hold the proof, and agree about one of too narrow boxes."""
    document = proof.to_dict()
    narrow = np.maximum(proof.lo, proof.hi - 1e-3 * (proof.hi - proof.lo)).tolist()
    plain, exact = (
        [
            verify(folder, document["dfa"], one, exact=exact)
            for one in (document, {**document, "lo": narrow})
        ]
        for exact in (False, True)
    )
    assert plain[0].holds
    assert exact[0].output_margin <= plain[0].output_margin + 1e-12
    agree = [a.holds == b.holds for a, b in zip(plain, exact, strict=True)]
    return [agree] * len(words), lambda label: [True, True]


DOORS = {
    "python": by_python,
    "command": by_command,
    "table": by_table,
    "web": by_web,
    "onnx": by_onnx,
    "c": by_c,
    "exact": by_exact,
}
EVERY = {"web": 12, "onnx": 8, "c": 16, "exact": 20}  # cases; each of these takes a while
SURROGATE = "\ud800"


def applies(door: str, model: Model, number: int) -> bool:
    symbols = model.alphabet.symbols
    if number % EVERY.get(door, 1) or (door == "c" and compiler() is None):
        return False
    if door == "table":  # lines hold plain characters only; others are quoted, or not text
        return all(isinstance(s, str) and len(s) == 1 and s.isalnum() for s in symbols)
    # a lone surrogate is not UTF-8: files and requests read it as U+FFFD, an unknown symbol
    return door not in ("command", "web") or SURROGATE not in symbols


def fault(door: str, model: Model, proof: Certificate, words: list[Word], folder: Path) -> str:
    """What a door answers wrong, in words; nothing if it is right."""
    try:
        found, form = DOORS[door](model, proof, words, folder)
        wanted = [form(proof.dfa.run(word)) for word in words]
        shown = [repr(label) for label in found] if form is repr else found
    except Exception as error:
        return f"{door}: {type(error).__name__}: {error}"[:300]
    return "" if shown == wanted else f"{door}: {shown[:4]} for {wanted[:4]}"[:300]


def run(cases: int, first: int = 0) -> dict[str, Any]:
    """Ask so many certified models; the tally has the faults in words."""
    torch.set_num_threads(1)
    typer.main.get_command = functools.cache(typer.main.get_command)  # the same for every case
    tally, faults, seed = Counter(dict.fromkeys(("cases", "refused", *DOORS), 0)), [], first
    leftovers = random_model(first).to_files()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        while tally["cases"] < cases:
            seed += 1
            made = case(seed)
            if made is None:
                tally["refused"] += 1
                continue
            tally["cases"] += 1
            model, proof = made
            model.save(folder)
            for name, content in leftovers.items():
                (folder / f".{name}.old.tmp").write_bytes(content)
            words = words_of(model.alphabet.symbols, seed)
            for door in DOORS:
                if applies(door, model, tally["cases"]):
                    tally[door] += 1
                    asked = [word for word in words if word or door != "table"]  # CSV: missing
                    told = fault(door, model, proof, asked, folder)
                    faults += [f"{seed} {told}"] if told else []
    return {**tally, "faults": faults}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the seed before the first case")
    given = parser.parse_args()
    started = time.process_time()
    result = {**vars(given), **run(given.cases, given.first)}
    result["cpu_seconds"] = round(time.process_time() - started)
    result["finished"] = time.strftime("%Y-%m-%d %H:%M:%S")
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    write_atomically(RESULTS, json.dumps({**known, "doors": result}, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    sys.exit(bool(result["faults"]))

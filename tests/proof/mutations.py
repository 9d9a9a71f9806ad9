"""Mutation testing of prover and verifier: python tests/proof/mutations.py [NUMBER ...]

Each mutation breaks one place of a copy of the package, and tests must notice. The first part breaks
a condition of a proof, the second undoes the repair of a hole of trust, with the test of that hole.
A run without numbers tries all and writes experiments/results/mutations.json.
"""

# ruff: noqa: E501  (a mutation is a line)
from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import onnxruntime  # noqa: F401
import pandas  # noqa: F401
import pytest
import torch

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "results" / "mutations.json"
Mutation = tuple[str, str, str]  # what, the text that is there once, what takes its place
# fmt: off
PROOFS: dict[str, tuple[Mutation, ...]] = {
    "proof/verify_core.py": (
        ("boxes ignore upper ends", " and (image[1] <= box[1]).all()", ""),
        ("boxes ignore lower ends", "(image[0] >= box[0]).all() and ", ""),
        ("start token unchecked", 'inside(image, (lo[0], hi[0]), "the start', 'id("the start'),
        ("steps unchecked", 'inside(image, box, f"a step', 'id(f"a step'),
        ("classes unchecked", "need(least > 0,", "need(True,"),
        ("automaton's start unchecked", "need(boxes.states[0] == start,", "need(True,"),
        ("automaton's steps unchecked", "need(bool(same.all()),", "need(True,"),
        ("softmax rounds nowhere", "factor = U * (len(layer.S) + 64)", "factor = 0.0"),
        ("hard mode: ties lose", "may = ~(high < -4 * factor)", "may = high > 0"),
        ("hard mode: gaps as small as rounding win", "high < -4 * factor", "high < 0"),
        ("cosine divided by the longest norm", "np.maximum(high / long, high / short)", "high / long"),
        ("cosine divided by the shortest norm", "np.minimum(low / long, low / short)", "low / short"),
        ("sums do not round", "return float(1.001 * terms * U)", "return 0.0"),
        ("sums of any length", "need(terms <= TERMS,", "need(True,"),
        ("functions have no error", "F = 2.0**-19", "F = 0.0"),
        ("nothing underflows in a sum", "NU = 2.0**-100", "NU = 0.0"),
        ("no probability is lost", "LOST = 1e-37", "LOST = 0.0"),
        ("nothing overflows", "need(bool((sizes <= BIG).all()),", "need(True,"),
        ("any temperature", "need(1 / BIG <= layer.temperature <= BIG,", "need(True,"),
        ("mixtures by lower ends only", "v + high @ above - low @ below", "v + low @ above - low @ below"),
        ("reset gate at one end only", "np.minimum(r0 * a0[q], r1 * a0[q])", "r1 * a0[q]"),
        ("update gate at one end only", "np.maximum((1 - z0) * n1 + z0 * h1, (1 - z1) * n1 + z1 * h1)",
         "(1 - z1) * n1 + z1 * h1"),
        ("linear range at one end", "u[1] @ up + u[0] @ down + b", "u[0] @ up + u[0] @ down + b"),
        ("second layer reads its own weights", "layer.S @ above.W.T + above.b,",
         "layer.S @ layer.W[:, :1].repeat(layer.S.shape[1], 1).T + above.b,"),
        ("end token left out", "    if net.end_token:", "    if False:"),
        ("euclidean offsets left out", "offsets = -0.5 * (S * S).sum(1)", "offsets = 0 * S.sum(1)"),
    ),
    "proof/verify.py": (
        ("digest unchecked", 'need(certificate["model_sha256"] == digest,', "need(True,"),
        ("automata not compared", "need(json.dumps(machine[key]) == json.dumps(own[key]),", "need(True,"),
        ("temperatures not compared", "same and len(temperatures)", "len(temperatures)"),
        ("claim unchecked", 'need(certificate["claim"] == claim,', "need(True,"),
        ("door unchecked", 'need(certificate.get("door", DOOR) == DOOR,', "need(True,"),
        ("depth by other numbers", 'need(certificate["rises"] == wanted,', "need(True,"),
    ),
    "proof/verify_files.py": (
        ("alphabets not compared", 'need(same, "model and automaton have different alphabets")', "pass"),
        ("any type of weights", "array.dtype != np.float32 or ", ""),
        ("weights not finite", " or not np.isfinite(array).all()", ""),
        ("false is 0", "type(value) is int and ", ""),
        ("unknown settings ignored", "if key not in (*KINDS, *SIZES, *TRAINING):", "if False:"),
        ("shapes of weights unchecked", "for name, array in weights.items()} != shapes",
         "for name, array in weights.items()} == 0"),
        ("checksums unread", "check_files(files, name)", 'json.loads(files["config.json"])'),
        ("old digest of any folder", 'None if config.get("layout") else ', ""),
    ),
    "proof/verify_counter.py": (
        ("depth unbounded", "<= depth]", "<= 10**9]"),
        ("classes unchecked", "for box in some[~np.asarray(worst < 0).all(1)]:", "for box in ():"),
        ("length without sequences", "need(bool(ends),", "need(True,"),
        ("any number of boxes", "need(len(places) <= MAX_BOXES,", "need(True,"),
        ("boxes forget what they held", "np.vstack([old[1], -more])", "np.vstack([0 * old[1], -more])"),
        ("gates have no error", "np.minimum(sigmoid(a[1]) + F, 1)", "sigmoid(a[1])"),
        ("slope of the gate left out", "slope = s[1] + steepest", "slope = 0 * steepest"),
        ("kept memory: no error of the gate", " + F * largest(memory)", ""),
        ("kept memory: sums do not round", "sums = net.g *", "sums = 0 *"),
        ("peepholes left out", "a[0] + np.minimum(*ends), a[1]", "a[0], a[1]"),
        ("memory at the end token left out", "    if net.end_token:", "    if False:"),
    ),
    "proof/outward.py": (
        ("nothing is rounded", "np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)", "lo, hi"),
        ("sums of products do not round", "radius = error * (abs(p)", "radius = 0 * (abs(p)"),
        ("a short series", "TERMS = 17", "TERMS = 5"),
        ("the series has no error", "SERIES = 128 * UNIT", "SERIES = 0.0"),
        ("quotients by anything", "positive = b.lo > 0", "positive = b.lo != 0"),
        ("certain if possible", "np.less: lambda a, b: a.hi < b.lo", "np.less: lambda a, b: a.lo < b.hi"),
    ),
    "proof/bounds.py": (
        ("prover: sums do not round", "self.net, self.layers, self.slack = network, network.layers, network.g",
         "self.net, self.layers, self.slack = network, network.layers, 0.0"),
        ("prover: functions have no error", "FUNCTION = 2.0**-19", "FUNCTION = 0.0"),
        ("prover: hard ties lose", "can_win = ~(hi / temperature < -4 * factor)", "can_win = hi > 0"),
        ("prover: reads settings, not what runs", "        if runs != said:", "        if False:"),
    ),
    "proof/certify.py": (
        ("prover: own result not verified", "    if checked.holds:", "    if True:"),
    ),
}
HOLES, MODEL = "proof/test_holes.py", "test_model.py"
REPAIRS: tuple[tuple[int, str, str, str, str, str], ...] = (  # attack, test, file, what, old, new
    (1, HOLES, "model_folder.py", "history.json unchecked", "for p in PARTS}", "for p in PARTS[:2]}"),
    (1, HOLES, "model_folder.py", "temporary files are read", "read_regular(folder / name, MAX_BYTES[name])",
     "read_regular(min([folder / name, *unfinished(folder / name)]), MAX_BYTES[name])"),
    (1, HOLES, "proof/__init__.py", "any proof will do", "    if not found.holds:", "    if False:"),
    (2, "proof/test_counter_proofs.py", "proof/verify_counter.py", "depth by unreachable states",
     "waiting = [(self.start, 0)]", "waiting = [(q, 0) for q in range(len(self.moves))]"),
    (3, MODEL, "model.py", "temporary files stay", "        sweep(folder / name for name in FILES)\n", ""),
    (4, HOLES, "automata/matcher.py", "labels as any array", "if kept == list(labels) and", "if True or"),
    (5, HOLES, "proof/verify_files.py", "symbols that no text has", 'require_tokens(symbols, config["tokens"])',
     "pass"),
    (6, HOLES, "proof/verify_files.py", "digest without the settings", "[config, alphabet])", "[alphabet])"),
    (6, HOLES, "model_folder.py", "digest of the weights only",
     'hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\\n")', "hashlib.sha256()"),
    (7, "web/test_operators.py", "cli/commands/serve.py", "no time to end",
     "timeout_graceful_shutdown=drain", "timeout_graceful_shutdown=0"),
    (8, HOLES, "cli/commands/predict.py", "cells as they are",
     "[without_formula(c) if isinstance(c, str) else c for c in cells]", "list(cells)"),
    (9, HOLES, "machine.py", "labels that look alike", "    return [repr(label) for label in labels] if alike else texts",
     "    return texts"),
    (9, "web/test_server.py", "web/models.py", "classes by their text", "names = label_texts(model.classes)",
     "names = list(map(str, model.classes))"),
    (9, "web/test_server.py", "explain/markup.py", "lone surrogates in answers", "value = without_surrogates(value)",
     "value = value"),
    (9, "nn/test_onnx_export.py", "model.py", "ONNX: probabilities decide", '"decide_by": "scores"',
     '"decide_by": "probabilities"'),
    (9, "automata/test_c_and_onnx.py", "automata/formats/c.py", "C: labels that look alike",
     "for text in label_texts(labels)", "for text in labels"),
    (9, HOLES, "files.py", "lone surrogates in files", "if isinstance(error, UnicodeEncodeError):", "if False:"),
    (9, HOLES, "nn/mode.py", "autocast", "torch.autocast(device, enabled=False)", "torch.autocast(device)"),
    (9, MODEL, "model.py", "read-only file system", "        except OSError as error:\n            raise ModelError(",
     "        except MemoryError as error:\n            raise ModelError("),
    (9, "web/test_access.py", "web/access.py", "two Authorization headers",
     'if len(headers.getlist("authorization")) > 1:', "if False:"),
)
# fmt: on


def copied(place: Path) -> Path:
    """A copy of the package and its tests; one for all mutations, so that kernels compile once."""
    skip = shutil.ignore_patterns("__pycache__")
    for part in ("src", "tests", "experiments", "docs"):
        shutil.copytree(ROOT / part, place / part, ignore=skip)
    for part in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / part, place / part)
    return place


def survives(copy: Path, file: str, tests: list[str], old: str, new: str) -> bool:
    """Whether the tests pass on a copy in which one place is broken."""
    path = copy / "src" / "kleene" / file
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{file}: {old!r} appears {text.count(old)} times, expected once")
    path.write_text(text.replace(old, new))
    # a fork has all packages but kleene, whose import takes most of the time
    process = multiprocessing.get_context("fork").Process(target=run, args=(copy, tests))
    process.start()
    process.join()
    path.write_text(text)
    if process.exitcode not in (0, 1):
        raise SystemExit(f"pytest ended with {process.exitcode} for {file}: {new!r}")
    return process.exitcode == 0


def run(copy: Path, tests: list[str]) -> None:
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy / "src")  # of the commands that tests start
    sys.path.insert(0, str(copy / "src"))
    sys.dont_write_bytecode = True
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    named = [f"tests/{test}" for test in tests]
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", f"--rootdir={copy}"]
    code = 9  # of an error here
    try:
        code = int(pytest.main([*options, *named]))
    finally:
        os._exit(code)


def tests_of(file: str) -> list[str]:
    """The tests of a part of a proof, those that notice soonest first."""
    names = {
        "proof/verify_core.py": ("bounds", "attacks", "holes", "certify", "verify"),
        "proof/verify_counter.py": ("counter_proofs",),
        "proof/outward.py": ("exact", "verify"),
    }.get(file, ("attacks", "holes", "verify", "counter_proofs", "certify"))
    return [f"proof/test_{name}.py" for name in names]


def main() -> int:
    torch.set_num_threads(1)
    chosen = {int(text) for text in sys.argv[1:]}
    mutations = [(0, file, tests_of(file), *m) for file, ms in PROOFS.items() for m in ms]
    mutations += [
        (attack, file, [test], what, old, new) for attack, test, file, what, old, new in REPAIRS
    ]
    rows, started = [], time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        copy = copied(Path(place))
        everything = sorted({test for _, _, tests, *_ in mutations for test in tests})
        if not chosen and not survives(copy, "machine.py", everything, "def run(", "def run("):
            raise SystemExit("the tests fail without a mutation")
        for i, (attack, file, tests, what, old, new) in enumerate(mutations, 1):
            if not chosen or i in chosen:
                alive = survives(copy, file, tests, old, new)
                row = {"file": file, "mutation": what, "killed": not alive, "attack": attack}
                rows.append({**row, "test": f"tests/{tests[0]}"} if attack else row)
                print(i, file, what, "SURVIVES" if alive else "killed", flush=True)
    survivors = [row for row in rows if not row["killed"]]
    print(f"{len(rows) - len(survivors)} of {len(rows)} killed")
    if not chosen:
        about = {
            "finished": time.strftime("%Y-%m-%d %H:%M:%S"),
            "seconds": round(time.monotonic() - started),
        }
        RESULTS.write_text(json.dumps({**about, "mutations": rows}, indent=1) + "\n")
    return len(survivors)


if __name__ == "__main__":
    sys.exit(main())

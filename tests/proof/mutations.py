"""Mutation testing of prover and verifier: python tests/proof/mutations.py [--write] [NUMBER ...]

Each mutation breaks one place of a copy of the package; the tests of this folder must notice. With
--write, the table goes into docs/explanation/proofs.md; with numbers, only those are tried.
About 20 s of CPU time per mutation.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "proofs.md"
TESTS = [
    f"tests/proof/test_{name}.py"
    for name in ("attacks", "bounds", "holes", "verify", "certify", "counter_proofs", "exact")
]
CORE, VERIFY, FILES, COUNTER = "verify_core.py", "verify.py", "verify_files.py", "counter.py"
V_COUNTER, OUTWARD, FOLDER = "verify_counter.py", "outward.py", "../model_folder.py"
UNREACHABLE = (
    "waiting = [(q, 0) for q in range(len(self.moves))] + [(q, 1) for q in range(len(self.moves))]"
)
FORGET = "ends = np.vstack([0 * old + more[:1, :1] if len(more) else old, more])"
LOOSE = "np.less: lambda a, b: a.lo < b.hi"
MUTATIONS = [
    (CORE, "boxes ignore upper ends", " and (image[1] <= box[1]).all()", ""),
    (CORE, "boxes ignore lower ends", "(image[0] >= box[0]).all() and ", ""),
    (CORE, "start token unchecked", 'inside(image, (lo[0], hi[0]), "the start', 'id("the start'),
    (CORE, "steps unchecked", 'inside(image, box, f"a step', 'id(f"a step'),
    (CORE, "classes unchecked", "need(least > 0,", "need(True,"),
    (CORE, "automaton's start unchecked", "need(boxes.states[0] == start,", "need(True,"),
    (CORE, "automaton's steps unchecked", "need(bool(same.all()),", "need(True,"),
    (CORE, "softmax rounds nowhere", "factor = U * (len(layer.S) + 64)", "factor = 0.0"),
    (CORE, "hard mode: ties lose", "may = ~(high < -4 * factor)", "may = high > 0"),
    (CORE, "hard mode: gaps as small as rounding win", "high < -4 * factor", "high < 0"),
    (
        CORE,
        "cosine divided by the longest norm",
        "np.maximum(high / long, high / short)",
        "high / long",
    ),
    (
        CORE,
        "cosine divided by the shortest norm",
        "np.minimum(low / long, low / short)",
        "low / short",
    ),
    (CORE, "sums do not round", "return float(1.001 * terms * U)", "return 0.0"),
    (CORE, "functions have no error", "F = 2.0**-19", "F = 0.0"),
    (CORE, "nothing underflows in a sum", "NU = 2.0**-100", "NU = 0.0"),
    (CORE, "no probability is lost", "LOST = 1e-37", "LOST = 0.0"),
    (CORE, "nothing overflows", "need(bool((sizes <= BIG).all()),", "need(True,"),
    (CORE, "any temperature", "need(1 / BIG <= layer.temperature <= BIG,", "need(True,"),
    (
        CORE,
        "mixtures by lower ends only",
        "v + high @ above - low @ below",
        "v + low @ above - low @ below",
    ),
    (CORE, "reset gate at one end only", "np.minimum(r0 * a0[q], r1 * a0[q])", "r1 * a0[q]"),
    (
        CORE,
        "update gate at one end only",
        "np.maximum((1 - z0) * n1 + z0 * h1, (1 - z1) * n1 + z1 * h1)",
        "(1 - z1) * n1 + z1 * h1",
    ),
    (CORE, "linear range at one end", "u[1] @ up + u[0] @ down + b", "u[0] @ up + u[0] @ down + b"),
    (
        CORE,
        "second layer reads the first one's own weights",
        "layer.S @ above.W.T + above.b,",
        "layer.S @ layer.W[:, :1].repeat(layer.S.shape[1], 1).T + above.b,",
    ),
    (CORE, "end token left out", "    if net.end_token:", "    if False:"),
    (
        CORE,
        "euclidean offsets left out",
        "offsets = -0.5 * (S * S).sum(1)",
        "offsets = 0 * S.sum(1)",
    ),
    (
        VERIFY,
        "digest unchecked",
        'need(certificate["model_sha256"] == digest,',
        "need(True,",
    ),
    (VERIFY, "automata not compared", 'need(alike, "it is about another automaton")', "pass"),
    (VERIFY, "temperatures not compared", "same and len(temperatures)", "len(temperatures)"),
    (VERIFY, "claim unchecked", 'need(certificate["claim"] == claim,', "need(True,"),
    (VERIFY, "door unchecked", 'need(certificate.get("door", DOOR) == DOOR,', "need(True,"),
    (
        FILES,
        "alphabets not compared",
        'need(same, "model and automaton have different alphabets")',
        "pass",
    ),
    (FILES, "any type of weights", "array.dtype != np.float32 or ", ""),
    (FILES, "weights not finite", " or not np.isfinite(array).all()", ""),
    (FILES, "false is 0", "type(value) is int and ", ""),
    (FILES, "unknown settings ignored", "if key not in (*KINDS, *SIZES, *TRAINING):", "if False:"),
    (
        FILES,
        "shapes of weights unchecked",
        "for name, array in weights.items()} != shapes",
        "for name, array in weights.items()} == 0",
    ),
    (
        FOLDER,
        "digest of the weights only",
        'hashlib.sha256(json.dumps(about, sort_keys=True).encode() + b"\\n")',
        "hashlib.sha256()",
    ),
    (FILES, "digest without the settings", "[config, alphabet])", "[alphabet])"),
    (FILES, "checksums unread", "check_files(files, name)", 'json.loads(files["config.json"])'),
    (FILES, "old digest of any folder", 'None if config.get("layout") else ', ""),
    (FILES, "symbols that no text has", 'require_tokens(symbols, config["tokens"])', "pass"),
    (V_COUNTER, "depth by unreachable states", "waiting = [(self.start, 0)]", UNREACHABLE),
    (V_COUNTER, "depth unbounded", "<= depth]", "<= 10**9]"),
    (V_COUNTER, "classes unchecked", "need(bool((worst < 0).all()),", "need(True,"),
    (V_COUNTER, "length without sequences", "need(bool(ends),", "need(True,"),
    (V_COUNTER, "any number of boxes", "need(len(places) <= MAX_BOXES,", "need(True,"),
    (V_COUNTER, "boxes forget what they held", "ends = np.vstack([old, more])", FORGET),
    (V_COUNTER, "gates have no error", "np.minimum(sigmoid(a[1]) + F, 1)", "sigmoid(a[1])"),
    (V_COUNTER, "slope of the gate left out", "slope = s[1] + steepest", "slope = 0 * steepest"),
    (V_COUNTER, "kept memory: no error of the gate", " + F * largest(memory)", ""),
    (V_COUNTER, "peepholes left out", "a[0] + np.minimum(*ends), a[1]", "a[0], a[1]"),
    (V_COUNTER, "memory at the end token left out", "    if net.end_token:", "    if False:"),
    (VERIFY, "machines not compared", 'need(alike, "it is about another machine")', "pass"),
    (VERIFY, "depth by other numbers", 'need(certificate["rises"] == wanted,', "need(True,"),
    (
        OUTWARD,
        "nothing is rounded",
        "np.nextafter(lo, -np.inf), np.nextafter(hi, np.inf)",
        "lo, hi",
    ),
    (OUTWARD, "sums of products do not round", "radius = error * (abs(p)", "radius = 0 * (abs(p)"),
    (OUTWARD, "a short series", "TERMS = 17", "TERMS = 5"),
    (OUTWARD, "quotients by anything", "positive = b.lo > 0", "positive = b.lo != 0"),
    (OUTWARD, "certain if possible", "np.less: lambda a, b: a.hi < b.lo", LOOSE),
    (COUNTER, "depth without sequences", "if not ends:", "if False:"),
    (
        COUNTER,
        "kept memory: functions and sums have no error",
        "least - FUNCTION - steep",
        "least - abs(p) * reach(memory) * slope",
    ),
    ("bounds.py", "prover: sums do not round", "slack=terms * UNIT * 1.001", "slack=0.0"),
    ("bounds.py", "prover: functions have no error", "FUNCTION = 2.0**-19", "FUNCTION = 0.0"),
    (
        "bounds.py",
        "prover: hard ties lose",
        "can_win = ~(hi / temperature < -4 * factor)",
        "can_win = hi > 0",
    ),
    (
        "bounds.py",
        "prover: reads settings, not what runs",
        "        if runs != said:",
        "        if False:",
    ),
    (
        "bounds.py",
        "prover: nothing overflows",
        "known = (abs(lo) <= LARGEST) & (abs(hi) <= LARGEST)",
        "known = lo == lo",
    ),
    ("certify.py", "prover: own result not verified", "    if checked.holds:", "    if True:"),
]


def copied(place: Path) -> Path:
    """A copy of the package and its tests; one for all mutations, so that kernels compile once."""
    skip = shutil.ignore_patterns("__pycache__", "results")
    for part in ("src", "tests/proof", "tests/helpers", "experiments", "docs"):
        shutil.copytree(ROOT / part, place / part, ignore=skip)
    for part in ("pyproject.toml", "README.md", "tests/conftest.py"):
        shutil.copy(ROOT / part, place / part)
    return place


def survives(copy: Path, name: str, old: str, new: str) -> bool:
    """Whether the tests pass on a copy in which one place is broken."""
    path = copy / "src" / "kleene" / "proof" / name
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{name}: {old!r} appears {text.count(old)} times, expected once")
    path.write_text(text.replace(old, new))
    tests = TESTS[-2:] if name in (V_COUNTER, COUNTER, OUTWARD) else TESTS
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*command, "-m", "not slow"], cwd=copy, env=environment, capture_output=True, text=True
    )
    path.write_text(text)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 0


def main() -> int:
    rows, survivors = [], 0
    chosen = {int(text) for text in sys.argv[1:] if text.isdecimal()}
    with tempfile.TemporaryDirectory() as place:
        copy = copied(Path(place))
        if not survives(copy, OUTWARD, "TERMS = 17", "TERMS = 17"):
            raise SystemExit("the tests fail without a mutation")
        for i, (name, what, old, new) in enumerate(MUTATIONS, 1):
            if chosen and i not in chosen:
                continue
            alive = survives(copy, name, old, new)
            survivors += alive
            rows.append(f"| {i} | {name} | {what} | {'survives' if alive else 'killed'} |")
            print(rows[-1], flush=True)
    print(f"{len(rows) - survivors} of {len(rows)} killed")
    if "--write" in sys.argv:
        before, _, rest = PAGE.read_text().partition("<!-- mutations -->")
        after = rest[rest.index("\n## ") :]
        lines = ["| | file | mutation | |", "| --- | --- | --- | --- |", *rows]
        head = f"{len(rows) - survivors} of {len(rows)} killed.\n"
        PAGE.write_text("\n".join([f"{before}<!-- mutations -->", head, *lines, after]))
    return int(survivors > 0)


if __name__ == "__main__":
    sys.exit(main())

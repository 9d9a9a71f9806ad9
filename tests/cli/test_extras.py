"""Without the optional packages: the core works, other commands name the extra to install."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BLOCKED = """
import json, sys
from importlib.machinery import PathFinder

OPTIONAL = set("aalpy automata captum fastapi starlette uvicorn prometheus_client matplotlib "
               "pygraphviz onnx onnxruntime pooch duckdb pyarrow".split())
find_spec = PathFinder.find_spec


def find_others(name, path=None, target=None):
    return None if name in OPTIONAL else find_spec(name, path, target)


PathFinder.find_spec = staticmethod(find_others)
"""
LIBRARY = """
import kleene as kl

words, labels = kl.languages.tomita(1).sample(200, seed=0)
clf = kl.SequenceClassifier(random_state=0).fit(words, labels)
assert clf.predict(words).tolist() == labels
clf.save("model")
model = kl.load("model")
assert kl.extract(model, method="table").dfa == kl.languages.tomita(1).dfa
assert not OPTIONAL & set(sys.modules)
"""
COMMANDS = """
from kleene.cli import main

for arguments in json.loads(sys.argv[1]):
    print(f"kleene: status {main(arguments)}", file=sys.stderr)
"""
MISSING = (
    ("demo --out demo", "draw"),
    ("train data.tsv --out large --stream", "data"),
    ("train table.parquet --out table", "data"),
    ("train events.csv --case-column case --event-column event --out log", "data"),
    ("extract model --out dfa.svg", "draw"),
    ("extract model --method lstar", "peers"),
    ("extract net.onnx --alphabet 01", "onnx"),
    ("report model data.tsv --plot tsne", "draw"),
    ("report model data.tsv --out report.html", "draw"),
    ("serve model", "web"),
    ("export model --out model.onnx", "onnx"),
)


def run(code: str, folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-c", BLOCKED + code, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_the_library_trains_predicts_and_extracts(tmp_path: Path) -> None:
    run(LIBRARY, tmp_path)


def test_a_command_that_needs_an_extra_names_it_in_one_line(folder: Path) -> None:
    table, events = "PAR1", "case,event,label\na,x,1\na,y,1\nb,x,0\nb,x,0\n"
    (folder / "table.parquet").write_text(table)
    (folder / "events.csv").write_text(events)
    lines = run(COMMANDS, folder, json.dumps([line.split() for line, _ in MISSING])).splitlines()
    said = [line for line in lines if line.startswith(("kleene: error", "kleene: status"))]
    assert len(said) == 2 * len(MISSING), lines
    for (command, extra), error, status in zip(MISSING, said[::2], said[1::2], strict=True):
        assert f'run `pip install "kleene[{extra}]"`' in error, command
        assert status == "kleene: status 2", command

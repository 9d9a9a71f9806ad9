"""The tables of README.md and docs: current, and with who learned in every table of results."""

from __future__ import annotations

import re

import pytest
from page import LEARNED_BY, ORIGINS, ROOT, Table, between, figure, learned_by, origin, share
from proof_tables import PROOFS
from tables import MARKER, PAGES, TABLES

RESULTS = re.compile(r"accura|\berror|exact|proved|100 %", re.IGNORECASE)
"""What the header of a table of results has."""


def blocks() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for match in MARKER.finditer(page.read_text()):
            found.append((match.group(2), match.group(0)))
    return found


@pytest.mark.parametrize(("name", "block"), blocks(), ids=lambda value: value[:40].split("\n")[0])
def test_tables_of_results_say_who_learned(name: str, block: str) -> None:
    head = block.split("| --- ")[0]
    if RESULTS.search(head) and name not in PROOFS:  # nobody learned there
        assert LEARNED_BY in block


@pytest.mark.parametrize("name", sorted({name for name, _ in blocks()}))
def test_tables_are_those_of_the_results(name: str) -> None:
    table = TABLES[name]
    made = table.markdown() if isinstance(table, Table) else table()
    for _, block in (one for one in blocks() if one[0] == name):
        assert made in block


def test_the_summary_has_six_lines() -> None:
    (summary,) = (block for name, block in blocks() if name == "summary")
    assert len([line for line in summary.splitlines() if line.startswith("|")]) == 2 + 6


def test_every_file_of_results_is_read() -> None:
    """No stored results that nothing shows."""
    code = "".join(path.read_text() for path in (ROOT / "experiments").rglob("*.py"))
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    for path in (ROOT / "experiments" / "results").glob("*.json"):
        name = re.escape(path.stem)
        assert re.search(rf'"{name}(\.json)?"', code + tests), path.name


def row(origin: str | None = None, log: tuple[str, ...] = (), **result: object) -> dict:
    stored = {"origin": origin} if origin else {}
    return {"key": {}, "result": {"log": log, **stored, **result}, "finished": "2026-01-01 00:00"}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("taught the untrained network the 5-state automaton: 100% on 9 held-out rows", "induced"),
        ("kept the plain cell, as states cost accuracy", "plain"),
        ("prose, so read as text: cell lstm-p", "ngrams"),
        ("kept the network with memory", "trained"),
        ("", None),
    ],
)
def test_origins_are_stored_or_told_by_logs(log: str, expected: str | None) -> None:
    assert origin(row(log=(log,))) == expected
    assert origin(row("paper", (log,))) == "paper"


def test_lines_name_all_origins() -> None:
    assert learned_by("trained")([row()]) == ORIGINS["trained"]
    both = learned_by()([row("induced"), row("plain"), row("induced")])
    assert both == f"{ORIGINS['induced']} (2), {ORIGINS['plain']} (1)"


def test_columns_reduce_the_rows_of_a_line() -> None:
    rows = [row(exact=True, seconds=1.0), row(exact=False, seconds=4.0), row(seconds=2.0)]
    assert share("result.exact")(rows) == "1 of 2"
    assert figure("result.seconds", "{:.0f} s")(rows) == "2 s"
    assert figure("result.missing")(rows) == ""
    assert between([1.0, 4.0, 2.0], 1, " s") == "2.0 s (1.0 to 4.0)"
    assert between([2.0, 2.0], 0) == "2"

"""Files as people have them: other delimiters, other headers, event tables, logs, numbers."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import tempfile
import tracemalloc
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from kleene.data import events
from kleene.data.bins import Bins
from kleene.data.files import fit_bins, open_examples, read_data, read_examples
from kleene.data.layout import Layout
from kleene.errors import DataError, SettingError

EVENTS = Layout(case_column="case", event_column="event", order_column="time")


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# -- tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "mark", "given"),
    [
        *(("a.csv", mark, None) for mark in ";\t|"),
        *(("a", ";", None), ("a.tsv", "\t", None), ("a.csv", ":", ":"), ("a", "\t", "tab")),
    ],
)
def test_other_delimiters(tmp_path: Path, name: str, mark: str, given: str | None) -> None:
    rows = [["id", "text", "label"], ["1", f"a{mark}b", "x"], ["2", "c", "y"]]
    lines = (mark.join(f'"{cell}"' if mark in cell else cell for cell in row) for row in rows)
    path = write(tmp_path, name, "\n".join(lines))
    found, examples = open_examples(path, Layout(delimiter=given))
    assert [(e.word, e.label) for e in examples] == [(f"a{mark}b", "x"), ("c", "y")]
    assert (found.text_column, found.label_column, found.delimiter) == ("text", "label", mark)


def test_wrong_delimiters_are_refused() -> None:
    for delimiter in ("", '"', "ab", "\n", "é"):
        with pytest.raises(SettingError, match="one ASCII character"):
            Layout(delimiter=delimiter)


def test_json_keys_are_those_of_csv(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", '{"text": "a b", "label": "x"}\n{"label": "y", "text": "c"}')
    data = read_data(path)
    assert data.labels == ["x", "y"]
    assert (data.layout.text_column, data.layout.label_column) == ("text", "label")


def test_columns_of_the_training_file_are_taken_where_a_file_has_them(tmp_path: Path) -> None:
    known = Layout(text_column="message", label_column="kind")
    layout = Layout().or_else(known)
    path = write(tmp_path, "a.csv", "kind,message,text\nx,a b,c\n")
    assert [e.word for e in read_examples(path, layout)] == ["a b"]
    path = write(tmp_path, "b.csv", "text\nc\n")
    assert [e.word for e in read_examples(path, layout, labelled=False)] == ["c"]
    path = write(tmp_path, "c.txt", "c\n")
    assert [e.word for e in read_examples(path, layout, labelled=False)] == ["c"]


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("a.csv", "body,topic\n" + "I like it,a\nnot so much,b\n" * 4, "body topic"),
        ("a.csv", "code,topic\n" + "xy,a\nzw,b\n" * 4, None),
        ("a.csv", "grade,code\n" + "".join(f"so good,a{i}\n" for i in range(9)), None),
        (
            "a.csv",
            "body,topic\n" + "".join(f"text no {i},{i % 2}\n" for i in range(9)),
            "body topic",
        ),
        (
            "a.csv",
            "session_id,events,outcome\n"
            + "".join(f"{i},open read close {i},{'ok' if i % 3 else 'bad'}\n" for i in range(9)),
            "events outcome",
        ),
        (
            "a.jsonl",
            "".join(
                json.dumps({"id": i, "payload": {"events": ["a", "b", i], "n": i}, "kind": i % 2})
                + "\n"
                for i in range(8)
            ),
            "payload.events kind",
        ),
        ("a.csv", "one,two,kind\n" + "".join(f"a {i},b {i},{i % 2}\n" for i in range(9)), None),
        ("a.csv", "text,one,two\n" + "".join(f"a {i},{i % 2},{i % 3}\n" for i in range(9)), None),
    ],
)
def test_columns_are_told_by_their_content(
    tmp_path: Path, name: str, rows: str, columns: str | None
) -> None:
    path = write(tmp_path, name, rows)
    if columns is None:
        with pytest.raises(DataError, match="cannot tell which column is the"):
            open_examples(path)
        return
    found, examples = open_examples(path)
    assert [found.text_column, found.label_column] == columns.split()
    assert found.by_content
    assert len(list(examples)) >= 8
    assert "by_content" not in found.to_dict()


def test_columns_of_one_name_are_named_by_position(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "x,x,label\na,b,1\n")
    found, examples = open_examples(path, Layout(text_column="2"))
    assert found.text_column == "2"
    (example,) = examples
    assert (example.word, example.row) == ("b", {"1": "a", "2": "b", "label": "1"})


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz"])
def test_utf16_with_a_byte_order_mark(tmp_path: Path, mark: str, name: str) -> None:
    content = "\ufeffa é 😀\t1\r\nb\t0\r\n".encode(mark)
    data = read_data(write(tmp_path, name, gzip.compress(content) if "gz" in name else content))
    assert (data.words, data.labels) == ([("a", "é", "😀"), ("b",)], [1, 0])


def test_prose_is_split_as_text(tmp_path: Path) -> None:
    data = read_data(write(tmp_path, "a.csv", 'text,label\n"Good, really!",1\nIt was bad.,0\n'))
    assert data.tokens == "text"
    assert data.words[0] == ("good", ",", "really", "!")


# -- event tables ----------------------------------------------------------------------------------


def test_cases_are_sequences_in_the_order_of_their_events(tmp_path: Path) -> None:
    rows = ["case,event,time,label", "2,b,2024-01-02,no", "1,y,9,yes", "1,x,10,yes"]
    path = write(tmp_path, "a.csv", "\n".join([rows[0], *rows[2:], "3,z,1,no"]))
    found = list(read_examples(path, EVENTS))
    assert [(e.case, e.word, e.label, e.line) for e in found] == [
        ("1", ("y", "x"), "yes", 2),
        ("3", ("z",), "no", 4),
    ]


def test_grouping_agrees_with_a_dictionary(tmp_path: Path) -> None:
    draw = random.Random(3)
    cases: dict[str, list[tuple[float, str]]] = {}
    lines = ["case;event;time;label"]
    for _ in range(2000):
        case, event, time = str(draw.randrange(150)), draw.choice("abc"), draw.random()
        cases.setdefault(case, []).append((time, event))
        lines.append(f"{case};{event};{time};{int(case) % 2}")
    path = write(tmp_path, "a.csv.gz", gzip.compress("\n".join(lines).encode()))
    layout = Layout(case_column="case", event_column="event", order_column="time", delimiter=";")
    found = [(e.case, e.word, e.label) for e in read_examples(path, layout)]
    assert found == [
        (case, tuple(event for _, event in sorted(events)), str(int(case) % 2))
        for case, events in cases.items()
    ]


def test_dates_sort_across_time_zones(tmp_path: Path) -> None:
    content = (
        "case,event,time,label\n1,second,2024-01-01T12:00:00+00:00,x\n"
        "1,first,2024-01-01T12:30:00+01:00,x\n1,third,2024-01-01 12:00:01,x\n"
    )
    (example,) = read_examples(write(tmp_path, "a.csv", content), EVENTS)
    assert example.word == ("first", "second", "third")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,a,,x", "line 3: 'time' must be a number or an ISO date, got ''"),
        ("1,a,nan,x", "line 3: 'time' must be a number or an ISO date, got 'nan'"),
        ("1,a,01/02/2024,x", "line 3: 'time' must be a number or an ISO date"),
        ("1,a,2024-01-01,x", "line 3: numbers and dates are mixed in 'time'"),
        ("1,,2,x", "line 3: no value in 'event'"),
        (",a,2,x", "line 3: no value in 'case'"),
        ("1,a,2,", "line 3: the label in 'label' is missing"),
        ("1,a,2,y", "line 2: case '1' has the labels 'x' and 'y'"),
    ],
)
def test_broken_events_are_named(tmp_path: Path, row: str, message: str) -> None:
    path = write(tmp_path, "a.csv", f"case,event,time,label\n1,a,1,x\n{row}\n")
    with pytest.raises(DataError, match=message):
        list(read_examples(path, EVENTS))


def test_columns_of_events_must_exist(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "case,activity,time,label\n1,a,1,x\n")
    with pytest.raises(DataError, match=r"no column is called 'event' .* --event-column"):
        list(read_examples(path, EVENTS))
    found = list(read_examples(path, Layout(case_column="case")))
    assert found[0].word == ("a",)
    with pytest.raises(SettingError, match="give one or the other"):
        Layout(case_column="case", text_column="text")


def test_memory_and_temporary_files_do_not_grow_with_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    draw = random.Random(0)

    def peak(rows: int) -> int:
        lines = (f"{draw.randrange(rows)},{draw.choice('abcd')},{i},x\n" for i in range(rows))
        path = write(tmp_path, "a.csv", "case,event,time,label\n" + "".join(lines))
        tracemalloc.start()
        assert sum(len(example.word) for example in read_examples(path, EVENTS)) == rows
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert list(tmp_path.iterdir()) == [path]
        return most

    peak(100)  # imports
    assert peak(80_000) < 1.3 * peak(40_000)  # the engine's own memory is not counted here


PARTS = ["1", "2", "a", "b", "x", " ", "\t", "\u00a0", '"', '""', ",", ";", "\n", "\r\n", "\r", "é"]
PARTS += ["1,a,1,x\n", "2,b,2024-01-01,y\r\n", '"1",a,"3",x\n', '1,"a\nb",4,x\n', "\n1,c,,x\n"]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_the_engine_reads_what_our_own_reader_reads(tmp_path_factory, rows: str) -> None:
    path = write(tmp_path_factory.mktemp("t"), "a.csv", f"case,event,time,label\n{rows}")
    found = []
    for quick in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not quick:
                patch.setattr(events, "_prepare", lambda *_: None)
            try:
                found.append(list(read_examples(path, EVENTS)))
            except DataError as error:
                found.append(str(error))
    assert found[0] == found[1]


def test_the_engine_opens_nothing_but_its_file(tmp_path: Path) -> None:
    secret, file = write(tmp_path, "secret.csv", "a,b\n1,2\n"), write(tmp_path, "file", "1\n")
    (tmp_path / "folder").mkdir()
    with contextlib.closing(events._engine(tmp_path / "folder", file)) as engine:
        assert engine.execute(f"FROM read_csv('{file}', header = false)").fetchall() == [(1,)]
        for query in (
            f"FROM read_csv('{secret}')",
            "FROM read_text('/etc/passwd')",
            "FROM 'https://example.org/a.csv'",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            f"ATTACH '{tmp_path / 'out.db'}'",
            "INSTALL httpfs",
            "SET enable_external_access = true",
        ):
            with pytest.raises(duckdb.Error):
                engine.execute(query)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "secret.csv"]


# -- XES -------------------------------------------------------------------------------------------


def log(*traces: str) -> str:
    body = "".join(traces)
    return f'<?xml version="1.0"?><log xmlns="http://www.xes-standard.org/">{body}</log>'


def trace(name: str, label: str, *events: str) -> str:
    inner = "".join(
        f'<event><string key="concept:name" value="{event}"/>'
        f'<date key="time:timestamp" value="2024-01-{31 - i:02}T00:00:00Z"/></event>'
        for i, event in enumerate(events)
    )
    attributes = f'<string key="concept:name" value="{name}"/><string key="label" value="{label}"/>'
    return f"<trace>{attributes}{inner}</trace>"


@pytest.mark.parametrize("name", ["a.xes", "a.xes.gz"])
def test_a_log_is_read(tmp_path: Path, name: str) -> None:
    content = log(trace("t1", "ok", "a", "b &amp; c"), trace("t2", "bad")).encode()
    path = write(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    found, examples = open_examples(path)
    assert [(e.case, e.word, e.label) for e in examples] == [
        ("t1", ("a", "b & c"), "ok"),
        ("t2", (), "bad"),
    ]
    assert (found.event_column, found.label_column) == ("concept:name", "label")
    with pytest.raises(DataError, match="the events of a log have an order; omit --order-column"):
        read_examples(path, Layout(order_column="time:timestamp"))
    known = Layout().or_else(Layout(event_column="concept:name", order_column="time:timestamp"))
    assert next(read_examples(path, known)).word == ("a", "b & c")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (log(trace("t", "x", "a"))[:-20], "malformed or incomplete XML"),
        ('<?xml version="1.0" encoding="UVF-8"?><log/>', "unknown encoding: UVF-8; save the log"),
        ("<html></html>", "the root must be <log>, got <html>"),
        ("", "malformed or incomplete XML"),
        (log(), "has no traces"),
        (log("<trace><event/></trace>"), "cannot tell the label"),
        (log(trace("t", "x", "a"), "<trace></trace>"), "the trace has no attribute 'label'"),
        (
            log('<trace><string key="label" value="x"/><event/></trace>'),
            "an event of the trace has no attribute 'concept:name'",
        ),
        ("<log>" + "<a>" * 200, "nested too deep"),
        (
            '<!DOCTYPE log [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><log>&b;</log>',
            "document type declarations are refused",
        ),
        ('<!DOCTYPE log SYSTEM "file:///etc/passwd"><log></log>', "declarations are refused"),
    ],
)
def test_broken_logs_are_named(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_examples(write(tmp_path, "a.xes", content)))


# -- Parquet ---------------------------------------------------------------------------------------


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    columns = {"text": ["a b", "c"], "label": [1, 0], "other": [None, 2.5]}
    parquet.write_table(pyarrow.table(columns), path)
    assert [(e.word, e.label) for e in read_examples(path)] == [("a b", 1), ("c", 0)]
    events = {"case": [1, 2, 1], "event": ["x", "y", "z"], "time": [2, 1, 1], "label": [0, 1, 0]}
    parquet.write_table(pyarrow.table(events), path)
    assert [e.word for e in read_examples(path, EVENTS)] == [("z", "x"), ("y",)]
    lists = {"sequence": [["a", "b"], ["c"]], "label": [True, False]}
    parquet.write_table(pyarrow.table(lists), path)
    assert read_data(path).words == [("a", "b"), ("c",)]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="is not a complete Parquet file"):
        read_data(path)


def test_dates_of_a_parquet_file_order_events(tmp_path: Path) -> None:
    days = [date(2024, 1, 2), date(2024, 1, 1)]
    columns = {"case": ["1", "1"], "event": ["b", "a"], "time": days, "label": ["x", "x"]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "a.parquet")
    assert next(read_examples(tmp_path / "a.parquet", EVENTS)).word == ("a", "b")


# -- numbers ---------------------------------------------------------------------------------------


def test_quantile_bins_hold_equally_many_numbers(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(40, 25))
    lines = "".join(f"{' '.join(map(str, row))}\t{i % 2}\n" for i, row in enumerate(numbers))
    path = write(tmp_path, "a.tsv", lines)
    layout = fit_bins(path, Layout(bins=Bins.parse("4")))
    words = [example.word for example in read_examples(path, layout)]
    counts = np.unique([symbol for word in words for symbol in word], return_counts=True)[1]
    assert len(counts) == 4
    assert abs(counts / 250 - 1).max() < 0.05
    again = Layout.from_dict(layout.to_dict())
    assert [example.word for example in read_examples(path, again)] == words


@pytest.mark.parametrize("count", [2, 4, 50])
def test_bins_of_large_close_numbers_hold_equally_many(count: int) -> None:
    numbers = [1_600_000_000.0 + i for i in range(1000)]
    bins = Bins(count=count).fit([numbers])
    found = np.unique(bins.symbols(numbers), return_counts=True)[1]
    assert len(found) == count
    assert abs(found * count / 1000 - 1).max() < 0.06


def test_a_number_beyond_all_floats_is_refused(tmp_path: Path) -> None:
    content = json.dumps({"sequence": [1, 10**400], "label": 0})
    with pytest.raises(DataError, match="line 1: a sequence must hold finite numbers"):
        list(read_examples(write(tmp_path, "a.jsonl", content), Layout(bins=Bins.parse("sax:3"))))


def test_sax_does_not_depend_on_scale_and_offset() -> None:
    numbers = np.random.default_rng(1).normal(size=50)
    bins = Bins.parse("sax:5")
    assert bins.symbols(list(numbers)) == bins.symbols(list(1000 + 7 * numbers))
    assert bins.symbols([3.0, 3.0]) == ("c", "c")
    assert bins.symbols([]) == ()


@pytest.mark.parametrize("text", ["1", "0", "sax:27", "x", "log:3", "-4", "1e9", "9999999"])
def test_wrong_bins_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="bins must be"):
        Bins.parse(text)


@pytest.mark.parametrize("number", ["nan", "inf", "x", "1e999"])
def test_what_is_no_number_is_named(tmp_path: Path, number: str) -> None:
    path = write(tmp_path, "a.tsv", f"1 2\t0\n1 {number}\t1\n")
    with pytest.raises(DataError, match="line 2: a sequence must hold finite numbers"):
        fit_bins(path, Layout(bins=Bins.parse("2")))
    with pytest.raises(DataError, match="line 2: a sequence must hold finite numbers"):
        list(read_examples(path, Layout(bins=Bins.parse("sax:2"))))

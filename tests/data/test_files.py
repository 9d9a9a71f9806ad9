"""Readers: what was written comes back, and every broken file has one clear line of error."""

import csv
import gzip
import io
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kleene.data.files import read_data, read_examples
from kleene.data.layout import Layout
from kleene.data.lines import Lines
from kleene.errors import DataError, SettingError

line_text = st.text(st.characters(codec="utf-8", exclude_characters="\t\n\r\0\ufeff"), max_size=8)
any_text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), max_size=8)
labels = st.sampled_from(["1", "0", "spam", "été"])
many = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@many
@given(st.lists(st.tuples(line_text, labels), min_size=1), st.sampled_from(["\n", "\r\n"]))
def test_tsv_round_trip(tmp_path, rows, end) -> None:
    path = write(tmp_path, "data.tsv", "".join(f"{word}\t{label}{end}" for word, label in rows))
    found = list(read_examples(path))
    assert [(e.word, e.label) for e in found] == rows
    assert [e.line for e in found] == list(range(1, len(rows) + 1))


@many
@given(st.lists(st.tuples(any_text, labels), min_size=1))
def test_csv_round_trip(tmp_path, rows) -> None:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([("label", "id", "Review")])
    csv.writer(file, lineterminator="\n").writerows((label, 7, word) for word, label in rows)
    found = read_examples(write(tmp_path, "data.csv", file.getvalue()))
    kept = [(word, label) for word, label in rows if word]
    if len(kept) == len(rows):
        assert [(e.word, e.label) for e in found] == rows
    else:
        with pytest.raises(DataError, match="the text in 'Review' is missing"):
            list(found)


symbols = st.recursive(
    st.none() | st.booleans() | st.integers() | line_text,
    lambda inner: st.lists(inner, max_size=2).map(tuple),
    max_leaves=3,
)


@many
@given(st.lists(st.tuples(st.lists(symbols).map(tuple), st.booleans() | st.integers()), min_size=1))
def test_jsonl_round_trip_of_lists(tmp_path, rows) -> None:
    lines = [json.dumps({"sequence": word, "label": label}) for word, label in rows]
    data = read_data(write(tmp_path, "data.jsonl", "\n".join(lines)))
    assert list(zip(data.words, data.labels, strict=True)) == rows
    assert (data.tokens, data.guessed) == ("symbols", False)


def test_jsonl_of_texts_and_other_keys(tmp_path) -> None:
    path = write(tmp_path, "a.jsonl", '\n{"t": "a b", "y": "spam"}\n\n{"t": "c", "y": "ham"}\n')
    layout = Layout(text_column="t", label_column="y")
    data = read_data(path, layout)
    assert data.words == [("a", "b"), ("c",)]
    assert data.labels == ["spam", "ham"]
    assert [e.line for e in read_examples(path, layout)] == [
        2,
        4,
    ]


def test_lone_surrogates_become_the_replacement_character(tmp_path) -> None:
    line = r'{"sequence": "a\ud800\ud83d\ude00", "label": "\udfff"}'
    (example,) = read_examples(write(tmp_path, "a.jsonl", line))
    assert example.word == "a\ufffd\U0001f600"
    assert example.label == "\ufffd"


@pytest.mark.parametrize("name", ["data.tsv.gz", "data.tsv", "data.bin", "data"])
def test_gz_is_known_by_its_bytes(tmp_path, name) -> None:
    path = write(tmp_path, name, gzip.compress(b"0\t1\n") + gzip.compress(b"\t0\n"))
    assert read_data(path).words == ["0", ""]


def test_the_inner_ending_of_a_gz_file_tells_the_format(tmp_path) -> None:
    content = gzip.compress(b"my text,y\nhello you,1\n")
    path = write(tmp_path, "data.csv.gz", content)
    layout = Layout(text_column="my text", label_column="y")
    assert read_data(path, layout).words == [("hello", "you")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"sequence": "ab", "label": 1}', ["ab"]),
        ("text,label\nab,1", ["ab"]),
        ("ab\t1", ["ab"]),
        ("a,b\t1", ["a,b"]),
        ("word\tlabel\nab\t1", ["ab"]),
        ("\ufeffab\t1\r\n\r\n", ["ab"]),
    ],
)
def test_without_an_ending_the_first_line_tells_the_format(tmp_path, content, words) -> None:
    assert read_data(write(tmp_path, "data", content)).words == words


@pytest.mark.parametrize("content", [b"01\t1\n", gzip.compress(b"01\t1\n", mtime=0)], ids=len)
def test_standard_input(content) -> None:
    code = "from kleene.data import read_data; print(read_data('-').words)"
    done = subprocess.run([sys.executable, "-c", code], input=content, capture_output=True)
    assert done.stdout.decode().strip() == "['01']", done.stderr.decode()


def test_standard_input_replaced_by_a_text_stream(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("é\t1\n"))
    assert read_data("-").words == ["é"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n")))
    with pytest.raises(DataError, match="standard input, line 1: expected word<TAB>label"):
        read_data("-")


@pytest.mark.parametrize(
    ("content", "words", "labels"),
    [
        ("ab\n\nc", ["ab", "", "c"], None),
        ("\nab", ["", "ab"], None),
        ("ab\t1\n\t\n", ["ab", ""], [1, None]),
        ("text,other\na,b\n", ["a"], None),
        ('{"sequence": "ab"}\n{"sequence": "c", "label": 0}', ["ab", "c"], [None, 0]),
    ],
)
def test_labels_may_be_missing_for_prediction(tmp_path, content, words, labels) -> None:
    data = read_data(write(tmp_path, "data", content), labelled=False)
    assert (data.words, data.labels) == (words, labels)


def test_tokens_are_guessed_and_said(tmp_path) -> None:
    spaced = write(tmp_path, "a.tsv", "good film\t1\nbad\t0\n")
    solid = write(tmp_path, "b.tsv", "0101\t1\n\t0\n")
    guess = read_data(spaced)
    assert (guess.tokens, guess.guessed, guess.words) == (
        "words",
        True,
        [("good", "film"), ("bad",)],
    )
    told = read_data(spaced, tokens="chars")
    assert (told.tokens, told.guessed, told.words) == ("chars", False, ["good film", "bad"])
    assert read_data(solid).tokens == "chars"
    assert next(read_examples(spaced, tokens="words")).word == ("good", "film")
    with pytest.raises(SettingError, match="one of chars, words, text"):
        read_data(solid, tokens="bytes")


BROKEN = {
    "empty.tsv": ("", "is empty"),
    "blank.tsv": ("\n\n", "has no examples"),
    "binary.tsv": (b"\x7fELF\0\0\0", "line 1: a zero byte"),
    "latin.tsv": (b"a\t1\n" + "é\t1\n".encode("latin-1"), "line 2: character 1 is not UTF-8"),
    "utf16.tsv": (b"\xff\xfea\0\t\0" + b"\0\xd8" * 9, "is not UTF-16, as its first bytes say"),
    "surrogate.tsv": (b"\xed\xa0\x80\t1\n", "line 1: character 1 is not UTF-8"),
    "long.tsv": (b"x" * 10_000_000, "line 1: expected word<TAB>label, got 0 tabs in 'xxx"),
    "longer.tsv": (b"a\t1\n" + b"x" * 17_000_000, "line 2: longer than 16,777,216 characters"),
    "notab.tsv": ("a\t1\nb 1\n", "line 2: expected .* 0 tabs in 'b 1'"),
    "wide.tsv": ("a\t1\nb\t1\t2\n", "line 2: expected .* 2 tabs"),
    "nolabel.tsv": ("a\t1\nb\t \n", "line 2: the label in 'label' is missing"),
    "header.csv": ("text,label\n", "has no examples"),
    "columns.csv": (
        "a,b\n1,2\n",
        "cannot tell which column is the text among 'a', 'b'",
    ),
    "labelless.csv": (
        "text,b\n1,2\n",
        "cannot tell which column is the label among 'text'",
    ),
    "both.csv": ("text,review,label\n1,2,3\n", "line 1: cannot tell which column is the text"),
    "data.csv": ("good film,1\nbad film,0\n", "has no header, its first line is data"),
    "commas.tsv": ("good film,1\n", "0 tabs in .*; for a table give --delimiter comma"),
    "empty.csv": ("text,label\n,1\n", "line 2: the text in 'text' is missing; fill it in or"),
    "ragged.csv": ('text,label\n"a\nb",1\n\nc,d,1\n', "line 5: 3 columns, but the header has 2"),
    "missing.csv": ("text,label\na,1\nb,\n", "line 3: the label in 'label' is missing"),
    "quote.csv": ('text,label\na,1\n"b,0\nc,1\n', "line 3: malformed CSV"),
    "stray.csv": ('text,label\n"a"b,1\n', "line 2: malformed CSV"),
    "swallow.csv": (
        'text,label\n"' + ("a" * 1000 + "\n") * 17_000,
        "line 2: malformed CSV",
    ),
    "array.jsonl": ("[1, 2]", "line 1: expected an object .* got a JSON list"),
    "half.jsonl": ('{"sequence": "a", "label": 1}\n{"sequence"', "line 2: malformed JSON"),
    "key.jsonl": ('{"words": "a", "label": 1}', "line 1: cannot tell which column is the text"),
    "null.jsonl": ('{"sequence": "a", "label": null}', "line 1: the label in 'label' is missing"),
    "object.jsonl": ('{"sequence": [{}], "label": 1}', "line 1: a JSON object cannot be a symbol"),
    "nan.jsonl": ('{"sequence": [NaN], "label": 1}', "line 1: NaN cannot be a symbol"),
    "nan_text.jsonl": ('{"text": NaN, "label": 1}', "line 1: the text in 'text' is missing"),
    "number.jsonl": (
        '{"sequence": 7, "label": 1}',
        "line 1: a sequence must be .* got 7",
    ),
    "label.jsonl": ('{"sequence": "a", "label": [1]}', r"line 1: a label must be .* got \[1\]"),
    "mixed.jsonl": (
        '{"sequence": "a", "label": 1}\n{"sequence": ["a"], "label": 1}',
        "line 2: sequences must be all texts or all lists",
    ),
    "deep.jsonl": ('{"sequence": ' + "[" * 100_000, "line 1: JSON nested too deep"),
    "digits.jsonl": ('{"sequence": [' + "1" * 5_000 + '], "label": 1}', "line 1: malformed JSON"),
    "cut.tsv.gz": (
        gzip.compress(b"".join(b"%d\t1\n" % i for i in range(1000)))[:-20],
        "is broken or not gzipped",
    ),
    "damaged.tsv.gz": (b"\x1f\x8b" + b"garbage" * 9, "is broken or not gzipped"),
    "bomb.tsv.gz": (gzip.compress(b"\0" * 50_000_000), "line 1: longer than"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_named_in_one_line(tmp_path, name) -> None:
    content, message = BROKEN[name]
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as raised:
        read_data(path)
    told = str(raised.value)
    assert str(path) in told
    assert "\n" not in told
    assert len(told) < 400 + len(str(path))


def test_mixed_widths_of_words_to_predict(tmp_path) -> None:
    for content in ("a\t1\nb\n", "a\nb\t1\n"):
        with pytest.raises(DataError, match=r"line 2: expected \d columns?, got"):
            read_data(write(tmp_path, "a.tsv", content), labelled=False)


def test_unreadable_paths_are_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*none.tsv: No such file"):
        read_data(tmp_path / "none.tsv")
    with pytest.raises(DataError, match="give a file, not a folder"):
        read_data(tmp_path)


def test_forbidden_files_are_named(tmp_path, monkeypatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")  # as root, no file is forbidden

    monkeypatch.setattr("kleene.data.lines.open_regular", forbidden)
    with pytest.raises(DataError, match=r"cannot read .*secret.tsv: Permission denied; check"):
        read_data(tmp_path / "secret.tsv")


def test_columns_must_exist(tmp_path) -> None:
    named = Layout(text_column="x")
    with pytest.raises(DataError, match="no column is called 'x' among 'text', 'label'"):
        read_data(write(tmp_path, "a.csv", "text,label\na,1\n"), named)
    with pytest.raises(DataError, match="several columns are called 'x'"):
        read_data(write(tmp_path, "b.csv", "x,x,label\na,b,1\n"), named)
    with pytest.raises(DataError, match="the file has no header"):
        read_data(write(tmp_path, "a.tsv", "a\t1\n"), named)


def test_memory_is_bounded_by_a_line_not_by_the_file(tmp_path) -> None:
    path = write(tmp_path, "data.tsv.gz", gzip.compress(b"0101\t1\n" * 50_000))
    tracemalloc.start()
    count = sum(1 for _ in Lines(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 50_000
    assert peak < 1_000_000

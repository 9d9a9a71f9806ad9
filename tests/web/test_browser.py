"""The report and the page in a real browser, as a person uses them.

What people complained of, and the test of each point; files without a folder are of this one:

| point | test |
| --- | --- |
| ticks on examples whose symbols the model does not know | report/test_trust.py: unknown_symbols |
| phrases and colours of an automaton say nothing | report/test_deciding.py |
| one phrase stands for both classes | explain/test_phrases.py |
| two bases of positions | cli/test_commands.py: the_step_that_decided; proof/test_robustness.py |
| `NaN`, `null`, `None` become classes | cli/test_streaming.py: labels_that_say_missing |
| three rows: no word on their worth | cli/test_train.py and report/test_html.py: nobody_knows |
| tiny differences in full colour | report/test_script.py: tiny_weights_have_no_colour |
| a phone: broken words, a cut-off graph | test_browser.py: for_everybody, no_word_is_broken |
| print: blank pages | test_browser.py: prints_without_blank_pages |
| a bar of 54 % looks full | report/test_script.py: bars_are_shares_of_all_steps |
| colours that do not follow the classes | report/test_html.py: the_colour_of_their_class |
| empty input has an answer, 1,000 pasted lines none | test_browser.py: pasted_lines |
| an upload error that does not name the field | test_browser.py: files_good_and_bad |
| `0.0 %` and `99.95 %` | test_percent.py; report/test_script.py: percentages |
| seven lines on a proof | terminal/test_reading.py: extract_certify_verify |
| lines wider than 80 columns | cli/test_contract.py: help_fits; assert_clean in tests/terminal |
| a wrong file, a missing column | cli/test_wrong_files.py |
"""

from __future__ import annotations

import csv
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from browsing import DESKTOP, PHONE, accessible, browser, page
from pages import page_model, random_words
from serving import Client, even, models_of, running

from kleene.extraction.extract import extract
from kleene.model import Model
from kleene.report.html import write_report
from kleene.web.access import Access
from kleene.web.app import create_app
from kleene.web.models import Served

pytestmark = pytest.mark.slow
HOSTILE = ("<script>alert(1)</script>", "<img/src=x/onerror=alert(2)>", "plain", "&lt;b&gt;")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Model]]:
    folder = tmp_path_factory.mktemp("reports")
    models = {
        "exact": page_model(),
        "traced": page_model(HOSTILE, cell="lstm-p", similarity="dot", temperature=1.0),
    }
    for name, model in models.items():
        words = random_words(model, 80)
        labels = [i % 2 for i in range(len(words))]
        write_report(model, words, labels, folder / f"{name}.html", name=f"<b>{name}</b>")
    return {name: (f"file://{folder}/{name}.html", model) for name, model in models.items()}


# -- the report, from disk, with the network off -------------------------------------------------


def test_the_report_steps_a_thousand_words_as_the_library_does(chromium: Any, reports: Any) -> None:
    address, model = reports["exact"]
    dice = random.Random(1)
    words = ["".join(dice.choices("01", k=dice.randrange(60))) for _ in range(1000)]
    with page(chromium, address, offline=True) as opened:
        found = opened.evaluate(
            """(words) => {
              const report = JSON.parse(document.getElementById("values").textContent);
              const machine = Kleene.machine(report.view.machine);
              return words.map((word) => machine.trace(Kleene.symbolsOf(word, "chars")).states);
            }""",
            words,
        )
    dfa = extract(model, random_words(model, 80)).dfa
    assert found == [dfa.trace(word) for word in words]


def test_a_typed_word_walks_forward_and_back(chromium: Any, reports: Any) -> None:
    address, model = reports["exact"]
    dfa = extract(model, random_words(model, 80)).dfa
    with page(chromium, address, offline=True) as opened:
        opened.fill("#word", "01101")
        names = [state["name"] for state in opened.evaluate(STATES)]
        path = [names[state] for state in dfa.trace("01101")]
        assert opened.locator(".ribbon .chip").all_inner_texts() == path
        assert f"The answer is {dfa.run('01101')}" in opened.inner_text(".answer")
        assert opened.inner_text(".count") == "5 / 5"
        opened.get_by_label("One step back").click()
        assert opened.inner_text(".count") == "4 / 5"
        lit = opened.locator(".node.lit").get_attribute("data-state")
        assert lit == str(dfa.trace("0110")[-1])
        opened.get_by_label("To the start").click()
        assert opened.locator(".ribbon .now").count() == 1
        opened.locator(".ribbon").focus()
        opened.keyboard.press("ArrowRight")
        assert opened.inner_text(".count") == "1 / 5"
        opened.fill("#word", "01x")
        assert "“x” is not a symbol" in opened.inner_text(".answer")


STATES = "() => JSON.parse(document.getElementById('values').textContent).view.states"


def test_pictures_can_be_saved(chromium: Any, reports: Any, tmp_path: Path) -> None:
    with page(chromium, reports["exact"][0], offline=True) as opened:
        for i, kind in enumerate(["SVG", "PNG"]):
            for place in range(2):
                button = opened.get_by_role("button", name=f"Save {kind}").nth(place)
                with opened.expect_download() as download:
                    button.click()
                file = tmp_path / f"{i}{place}"
                download.value.save_as(file)
                if kind == "SVG":
                    root = ElementTree.fromstring(file.read_text())
                    assert root.tag == "{http://www.w3.org/2000/svg}svg"
                    assert "class" not in root.attrib
                else:
                    assert file.read_bytes().startswith(b"\x89PNG")


def test_what_the_user_brought_is_shown_and_not_run(chromium: Any, reports: Any) -> None:
    with page(chromium, reports["traced"][0], offline=True) as opened:
        assert opened.inner_text("h1") == "<b>traced</b>"
        assert "<script>alert(1)</script>" in opened.inner_text("#meaning")
        opened.select_option("#word", "1")
        assert opened.locator(".ribbon .chip").count() > 1
        assert opened.locator("#page img, #page b").count() == 0


@pytest.mark.parametrize("name", ["exact", "traced"])
@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")])
def test_the_report_is_for_everybody(
    chromium: Any, reports: Any, name: str, size: Any, scheme: str
) -> None:
    with page(chromium, reports[name][0], offline=True, size=size, scheme=scheme) as opened:
        assert accessible(opened) == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("name", ["exact", "traced"])
def test_the_report_prints_without_blank_pages(
    chromium: Any, reports: Any, name: str, tmp_path: Path
) -> None:
    with page(chromium, reports[name][0], offline=True) as opened:
        opened.emulate_media(media="print")
        assert not opened.locator("nav").is_visible()
        assert opened.locator("#watch svg.graph").is_visible()
        opened.pdf(path=tmp_path / "report.pdf", format="A4")
    if shutil.which("pdftotext"):
        told = subprocess.run(
            ["pdftotext", tmp_path / "report.pdf", "-"], capture_output=True, text=True, check=True
        )
        assert all(len(sheet.split()) > 3 for sheet in told.stdout.split("\f")[:-1])


# -- the served page -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    named = Served("network", page_model(classes=("negative", "predictable")))
    with running(create_app(models_of(named, even()))) as found:
        yield found


def test_the_page_answers_as_one_types(chromium: Any, client: Client) -> None:
    wanted = client.post("/explain", {"word": "0110"}).json
    with page(chromium, client.page) as opened:
        opened.locator("#word").press_sequentially("0110")
        opened.get_by_text("4 / 4").wait_for()
        assert opened.locator(".ribbon .chip").count() == 5
        assert f"The answer is {wanted['prediction']}" in opened.inner_text(".answer")
        assert opened.locator(".reasons .text span").all_inner_texts() == list("0110")
        opened.select_option("#model", "even")
        opened.fill("#word", "012")
        opened.locator(".answer", has_text="1 of its symbols is unknown").wait_for()


def test_pasted_lines_are_a_table_and_no_input_has_no_answer(
    chromium: Any, client: Client, tmp_path: Path
) -> None:
    with page(chromium, client.page) as opened:
        opened.fill("#word", "\n".join(f"{i:b}" for i in range(1, 1001)))
        opened.get_by_text("1,000 examples:").wait_for()
        assert opened.locator("table.preview tbody tr").count() == 200
        with opened.expect_download() as download:
            opened.get_by_role("button", name="Download predictions").click()
        download.value.save_as(tmp_path / "out.csv")
        rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))[1:]
        assert [row[0] for row in rows] == [f"{i:b}" for i in range(1, 1001)]
        opened.fill("#word", "")
        opened.locator("table.preview").wait_for(state="detached")
        assert opened.inner_text(".answer") == ""
        assert not opened.locator(".ribbon").is_visible()


def test_files_good_and_bad(chromium: Any, client: Client, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.csv", tmp_path / "bad.bin"
    good.write_text("word,label\n0110,1\n<b>,0\n1,0\n")
    bad.write_bytes(b"\0\1\2")
    with page(chromium, client.page) as opened:
        opened.set_input_files("#upload", good)
        opened.get_by_text("3 examples:").wait_for()
        assert "<b>" in opened.locator("table.preview td").all_inner_texts()
        with opened.expect_download() as download:
            opened.get_by_role("button", name="Download predictions").click()
        download.value.save_as(tmp_path / "out.csv")
        assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
        opened.set_input_files("#upload", bad)
        opened.locator("#file [role=alert]", has_text="zero byte").wait_for()
        bad.write_text("a,b,c\nfoo,bar,1\nx,y,2\n")
        opened.set_input_files("#upload", bad)
        opened.locator("#file [role=alert]", has_text="“Column with the texts”").wait_for()
        opened.complaints.clear()  # the browser logs the 422 that this was


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "dark"), (PHONE, "light")])
def test_the_page_is_for_everybody(chromium: Any, client: Client, size: Any, scheme: str) -> None:
    with page(chromium, client.page, size=size, scheme=scheme) as opened:
        opened.fill("#word", "0110")
        opened.get_by_text("4 / 4").wait_for()
        assert accessible(opened) == []
        assert opened.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_no_word_is_broken_on_a_phone(chromium: Any, client: Client) -> None:
    lines = "(found) => found.map((one) => one.getClientRects().length)"
    with page(chromium, client.page, size=PHONE) as opened:
        opened.fill("#word", "0110")
        opened.get_by_text("4 / 4").wait_for()
        names = opened.locator(".sure > span:first-child")
        assert names.all_inner_texts() == ["negative", "predictable"]
        heights = names.evaluate_all("(all) => all.map((one) => one.scrollHeight)")
        assert max(heights) < 30  # one line
        assert set(opened.locator(".answer strong").evaluate_all(lines)) == {1}


def test_a_page_asks_for_the_token(chromium: Any) -> None:
    registry = models_of(even())
    with running(create_app(registry, access=Access(local=True, token="s3cret"))) as client:
        with page(chromium, client.page) as opened:
            opened.fill("#token", "wrong")
            opened.get_by_role("button", name="Open").click()
            opened.get_by_text("This is not the token").wait_for()
            opened.fill("#token", "s3cret")
            opened.get_by_role("button", name="Open").click()
            opened.fill("#word", "11")
            opened.get_by_text("2 / 2").wait_for()
            opened.complaints.clear()  # the browser logs the 401s that these were
        with page(chromium, f"{client.page}#token=s3cret") as opened:
            opened.fill("#word", "11")
            opened.get_by_text("2 / 2").wait_for()

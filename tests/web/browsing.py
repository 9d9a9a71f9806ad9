"""A real browser for tests: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)
NEEDED = "no browser: `apt-get install chromium` and `pip install playwright axe-playwright-python`"
DESKTOP, PHONE = {"width": 1180, "height": 900}, {"width": 390, "height": 844}


@contextmanager
def browser() -> Iterator[Any]:
    """A browser, or a skipped test where there is none."""
    if CHROMIUM is None:
        pytest.skip(NEEDED)
    playwright = pytest.importorskip("playwright.sync_api", reason=NEEDED)
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


@contextmanager
def page(
    browser: Any, address: str, *, offline: bool = False, size: Any = None, scheme: str = "light"
) -> Iterator[Any]:
    """A page that must not complain on its console."""
    context = browser.new_context(
        viewport=size or DESKTOP, offline=offline, color_scheme=scheme, accept_downloads=True
    )
    opened = context.new_page()
    complaints: list[str] = []
    opened.on(
        "console", lambda said: complaints.append(said.text) if said.type == "error" else None
    )
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("dialog", lambda dialog: complaints.append(f"a dialog: {dialog.message}"))
    opened.complaints = complaints
    try:
        opened.goto(address)
        yield opened
        assert complaints == []
    finally:
        context.close()


def accessible(page: Any) -> list[str]:
    """What axe finds to be serious or worse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=NEEDED)
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]

"""A real browser for the tests of the page: every console error and every failed request fails the test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 30


def browser_path() -> str:
    """Find chromium, or skip the test."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("No chromium on this machine; on Debian: apt install chromium.")
    return found


@contextmanager
def launched() -> Iterator[Any]:
    """Start the browser once for several tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def tab_of(browser: Any, fine: tuple[str, ...] = (), **options: Any) -> Iterator[Any]:
    """Open a tab; at the end nothing may have gone wrong in it, but what has one of the words of `fine`."""
    options = {"viewport": {"width": 1300, "height": 900}, **options}
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
    tab = context.new_page()
    tab.set_default_timeout(SECONDS * 1000)
    wrong: list[str] = []
    tab.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("requestfailed", lambda asked: _note_failed(wrong, asked))
    yield tab
    context.close()
    assert [each for each in wrong if not any(word in each for word in fine)] == []


def _note_failed(wrong: list[str], asked: Any) -> None:
    """Note a request that failed; those that a newer question replaced were aborted by the page itself."""
    if asked.failure != "net::ERR_ABORTED":
        wrong.append(f"{asked.url}: {asked.failure}")


def keep(tab: Any, folder: Path, name: str, **options: Any) -> Path:
    """Keep a screenshot in the folder named by COUNTERPOINT_ARTEFACTS, or in one of the test's."""
    kept = Path(os.environ.get("COUNTERPOINT_ARTEFACTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name}.png"
    tab.screenshot(path=path, **options)
    return path


def violations(tab: Any) -> list[str]:
    """List what axe finds wrong for people who use a keyboard or a screen reader."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    found = axe.Axe().run(tab).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]

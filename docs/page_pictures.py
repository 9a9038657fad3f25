"""Takes the pictures of the tour of the page and the README's, in a browser: `python docs/page_pictures.py`.

Everything shown is the page itself: the demo's applicants and forest, and scikit-learn's digits. The README's
answer is of the page that `make demo` writes. Needs playwright and chromium. Pictures are reduced to few
colours, which keeps the files small.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

import counterpoint as cp
from counterpoint.cli import parser
from counterpoint.cli.open import calls_of, with_demo
from counterpoint.web.page.opening import open_page

DOCS = Path(__file__).parent
FOLDER = DOCS / "page"
COLOURS = 96
WIDE, HIGH = 1240, 860
REFUSED = 4

# Of the demo's page: which applicant is shown, and how to leave nothing else there.
APPLICANT = 4
ALONE = """(number) => {
    const heading = document.querySelectorAll('h2')[number - 1];
    const shown = [heading.nextElementSibling, heading.nextElementSibling.nextElementSibling];
    document.body.replaceChildren(...shown);
    document.body.style.margin = "0";
    document.body.style.paddingTop = "0.5rem";
}"""

# What is drawn after the answers is there, too.
READY = (
    "() => { const desk = window.counterpoint; return desk?.answer && (desk.map || desk.cases)"
    " && desk.cards.every((card) => card.score !== undefined || !desk.about.has_scores)"
    " && !desk.node.classList.contains('busy'); }"
)


@contextmanager
def demo() -> Iterator[str]:
    """Open the demo's page, and give its address."""
    with tempfile.TemporaryDirectory() as folder:
        calls = calls_of(with_demo(parser("open").parse_args(["open", "--demo"]), Path(folder)))
        with open_page(calls, browser=False) as page:
            yield page.address


class Flat:
    """A forest that sees images as lines of numbers."""

    def __init__(self, X: Any, y: Any) -> None:
        self.forest = ExtraTreesClassifier(50, random_state=0).fit(X.reshape(len(X), -1), y)

    def predict(self, X: Any) -> Any:
        """Label images."""
        return self.forest.predict(X.reshape(len(X), -1))


def digits() -> Any:
    """Open the page of scikit-learn's digits."""
    data = load_digits()
    explainer = cp.Ensemble().fit(Flat(data.images, data.target), data.images[:900])
    return explainer.open(data.images[900:960], title="Digits", k=3, browser=False)


def visit(tab: Any, address: str, **state: Any) -> None:
    """Open the page in a state, and wait until all is drawn."""
    tab.goto("about:blank")
    tab.goto(f"{address}#{json.dumps(state)}" if state else address)
    tab.wait_for_function(READY)
    tab.wait_for_timeout(200)


def take(target: Any, name: str, folder: Path = FOLDER) -> Path:
    """Take a picture of a page or a part of it."""
    folder.mkdir(exist_ok=True)
    picture = Image.open(io.BytesIO(target.screenshot())).convert("RGB")
    path = folder / f"{name}.png"
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    return path


def write() -> Iterator[Path]:
    """Take all pictures."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDE, "height": HIGH})
        with demo() as address:
            yield from of_tables(tab, address)
            dark = browser.new_page(viewport={"width": 400, "height": HIGH}, color_scheme="dark")
            visit(dark, address)
            yield take(dark, "narrow")
        with digits() as page:
            yield from of_images(tab, page.address)
        yield of_one_answer(tab)
        browser.close()


def of_tables(tab: Any, address: str) -> Iterator[Path]:
    """Take the pictures of the page about a table."""
    visit(tab, address)
    yield take(tab, "case")
    amount = tab.get_by_label("Credit amount", exact=True).first
    amount.get_by_role("button", name="What may change").click()
    yield take(amount, "limits")
    tab.locator("section[aria-label=Map]").scroll_into_view_if_needed()
    tab.locator(".spot.answer circle").nth(2).hover()
    yield take(tab.locator("section[aria-label=Map]"), "map")
    visit(tab, address, view="cases", row=REFUSED, list={"decision": "refused", "sort": "age"})
    tab.wait_for_selector(".cases tbody tr")
    yield take(tab, "cases")
    names = tab.evaluate("() => window.counterpoint.columns.map((column) => column.name)")
    visit(tab, address, row=REFUSED, limits={name: {"lock": True} for name in names})
    tab.get_by_role("button", name="Why nothing?").click()
    tab.wait_for_selector(".ways li", timeout=60_000)
    yield take(tab.locator(".answers"), "why")
    visit(tab, address, view="groups", groups=["personal_status_sex"], list={"decision": "refused"})
    tab.get_by_role("button", name="Explain them").click()
    tab.wait_for_selector("button:has-text('Explain them')", timeout=120_000)
    yield take(tab.locator("section[aria-label=Groups]"), "groups")


def of_images(tab: Any, address: str) -> Iterator[Path]:
    """Take the picture of the page about images, with a part that may not change."""
    side = np.arange(64).reshape(8, 8)
    visit(tab, address, row=1, mask=[[int(row[0]), int(row[-1]) + 1] for row in side[:3]])
    yield take(tab, "image")


def of_one_answer(tab: Any) -> Path:
    """Take the picture of one applicant's answers on the page that `make demo` writes."""
    with tempfile.TemporaryDirectory() as folder:
        demo = DOCS.parent / "examples" / "demo.py"
        subprocess.run([sys.executable, str(demo)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        tab.goto((Path(folder) / "demo.html").as_uri())
    tab.evaluate(ALONE, APPLICANT)
    return take(tab.locator("body"), "answer", DOCS)


if __name__ == "__main__":
    for picture in write():
        print(f"Wrote {picture.name}, {picture.stat().st_size:,} bytes")

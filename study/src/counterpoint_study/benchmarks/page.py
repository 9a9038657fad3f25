"""How fast the page is: from a change to new cards, beside `explainer.explain` on the same question.

`make bench-page` opens the demo's page in a real browser, changes something for each of some cases, and takes
the time until the new cards are drawn. Each is taken several times in turn with `explain`; the medians count.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from counterpoint.cli import parser
from counterpoint.cli.open import calls_of, with_demo
from counterpoint.web.page.opening import open_page
from counterpoint.web.page.questions import Asked

CASES, TURNS = 8, 5
RESULTS = Path("benchmarks/results")

# Locks a column, or unlocks it, and tells how long it takes until the cards are drawn. Then it waits until
# what is drawn around them is there too, so that the next turn has the machine for itself.
CHANGE = """
async (name) => {
  const desk = window.counterpoint;
  const button = [...document.querySelectorAll("button.lock")]
    .find((each) => each.getAttribute("aria-label") === `Keep ${name} as it is`);
  const done = new Promise((resolve) => addEventListener("counterpoint:answered", resolve, { once: true }));
  desk.map = null;
  const start = performance.now();
  button.click();
  await done;
  const seconds = (performance.now() - start) / 1000;
  while (!desk.map) await new Promise((resolve) => setTimeout(resolve, 5));
  return { seconds, question: desk.question() };
}
"""


def main() -> None:
    """Take the times, print them, and write them to a file."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder:
        calls = calls_of(with_demo(parser("open").parse_args(["open", "--demo"]), Path(folder)))
        with open_page(calls, browser=False) as page, sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            lines = [_measured(calls, browser.new_page(), page.address, case) for case in refused(calls)]
            browser.close()
    _print(lines)
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "page.json").write_text(json.dumps(lines, indent=1), encoding="utf-8")


def refused(calls: Any) -> list[int]:
    """Choose the first refused applicants."""
    found = calls.cases.page({"decision": "refused", "limit": CASES})["rows"]
    return [row["index"] for row in found]


def _measured(calls: Any, tab: Any, address: str, case: int) -> dict[str, float]:
    """Change one case back and forth, and ask the explainer the same questions."""
    tab.goto(f"{address}#{json.dumps({'row': case})}")
    tab.wait_for_function("() => window.counterpoint?.map && window.counterpoint.flips")
    page, alone = [], []
    for _ in range(TURNS):
        for name in ("Savings", "Savings"):
            seen = tab.evaluate(CHANGE, name)
            page.append(seen["seconds"])
            asked = Asked.of(calls.session, seen["question"])
            alone.append(_seconds(asked.explain))
    flips = _seconds(lambda: calls.call("flips", {"question": {"values": seen["question"]["values"]}}))
    tab.close()
    return {"case": case, "page": median(page), "explain": median(alone), "flips": flips}


def _seconds(act: Callable[[], Any]) -> float:
    started = perf_counter()
    act()
    return perf_counter() - started


def _print(lines: list[dict[str, float]]) -> None:
    print("case   page ms   explain ms   ratio   flip points ms")
    for line in lines:
        page, alone = 1000 * line["page"], 1000 * line["explain"]
        print(f"{line['case']:4.0f}{page:10.0f}{alone:13.0f}{page / alone:8.2f}{1000 * line['flips']:17.0f}")
    page, alone = (1000 * median(line[name] for line in lines) for name in ("page", "explain"))
    print(f" all{page:10.0f}{alone:13.0f}{page / alone:8.2f}")


if __name__ == "__main__":
    main()

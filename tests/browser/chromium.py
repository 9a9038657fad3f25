"""A real browser for tests: opens a file without a screen, and says what it saw."""

import json
import os
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 120

# Looks at the page once all is loaded, and leaves what it saw where --dump-dom shows it.
PROBE = """
<script>
const failed = [];
addEventListener("error", event => failed.push(event.message || event.target.outerHTML.slice(0, 80)), true);
addEventListener("load", () => {
  const seen = {
    loaded: performance.getEntriesByType("resource").map(entry => entry.name),
    failed: failed.concat([...document.images].filter(image => !image.naturalWidth).map(image => image.alt)),
    tooWide: [...document.querySelectorAll("body *")]
      .filter(element => !element.closest(".wide") && element.getBoundingClientRect().right > innerWidth + 1)
      .map(element => element.tagName + ": " + element.textContent.slice(0, 60)),
    scrolling: [...document.querySelectorAll(".wide")]
      .filter(element => element.scrollWidth > element.clientWidth + 1)
      .map(element => element.textContent.slice(0, 60)),
    sizes: Object.fromEntries([...document.querySelectorAll("section, svg, header")]
      .map(element => [element.id || element.tagName, element.getBoundingClientRect().height])),
    background: getComputedStyle(document.body).backgroundColor,
  };
  const note = document.createElement("pre");
  note.id = "seen";
  note.textContent = JSON.stringify(seen);
  document.body.append(note);
});
</script>
"""


def browser() -> str:
    """Find the browser, or skip the test."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("No chromium on this machine; on Debian: apt install chromium.")
    return found


def run(page: Path, folder: Path, *flags: str) -> str:
    """Open a page with a fresh profile, and give what the browser prints."""
    command = [browser(), *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return done.stdout


def look(page: Path, folder: Path, *flags: str, width: int = 1000) -> dict:
    """Open a copy of a page that looks at itself, and give what it saw."""
    probed = folder / f"probed-{page.name}"
    probed.write_text(page.read_text("utf-8").replace("<body>", f"<body>{PROBE}"), encoding="utf-8")
    dom = run(probed, folder, f"--window-size={width},900", "--dump-dom", *flags)
    (seen,) = re.findall(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    return json.loads(unescape(seen))


def picture(page: Path, folder: Path, height: int) -> Path:
    """Keep a screenshot in the folder named by COUNTERPOINT_ARTEFACTS, or beside the page."""
    kept = Path(os.environ.get("COUNTERPOINT_ARTEFACTS", folder))
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{page.stem}.png"
    run(page, folder, f"--window-size=1000,{height}", f"--screenshot={path}")
    return path


def printed(page: Path, folder: Path) -> bytes:
    """Print a page to PDF."""
    path = folder / f"{page.stem}.pdf"
    run(page, folder, "--no-pdf-header-footer", f"--print-to-pdf={path}")
    return path.read_bytes()

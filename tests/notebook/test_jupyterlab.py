"""The widget in JupyterLab itself, with a kernel of its own: `make notebook`."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import screen

pytest.importorskip("jupyterlab", reason="make notebook installs JupyterLab in an environment of its own")
pytestmark = pytest.mark.filterwarnings("default")

TOKEN = "of-this-test-only"
SECONDS = 90
# What JupyterLab itself says on the console, which is not about the widget.
FINE = ("jupyterlab", "favicon", "xsrf", "lsp", "service worker")

CELLS = [
    """import counterpoint as cp, loans
table = loans.people(300)
explainer = cp.Ensemble(size=4).fit(
    lambda X: (X["income"] + 25 * (X["job"] == "smith") + X["age"] > 90).to_numpy(), table
)
refused = table[(table["income"] + table["age"] < 80) & (table["job"] == "cook")].iloc[0]
widget = explainer.widget(refused, k=3)
widget""",
    """print("read", [widget.constraints, widget.chosen])""",
    """widget.constraints = {"immutable": ["age"]}; widget.chosen = []""",
]

# JupyterLab has styles of its own for what a cell shows: facts of answers must not cover each other.
COVERED = """() => [...document.querySelectorAll(".counterpoint .facts > div")]
    .filter((each) => each.children.length > 1)
    .map((each) => [...each.children].map((part) => part.getBoundingClientRect()))
    .filter(([name, value]) => value.top < name.bottom - 1)"""

# Sets the theme of the notebook, and tells how bright a panel of the widget is then.
THEMED = """(isLight) => {
    document.body.dataset.jpThemeLight = isLight;
    const colour = getComputedStyle(document.querySelector(".counterpoint .panel")).backgroundColor;
    return colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part) / 765, 0);
}"""


def notebook() -> dict[str, Any]:
    """Write a notebook of these cells."""
    empty: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    cells = [{**empty, "id": f"cell-{place}", "source": source} for place, source in enumerate(CELLS)]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernel}, "cells": cells}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from started import free_ports, started

    folder = tmp_path_factory.mktemp("jupyterlab")
    (folder / "work").mkdir()
    (folder / "work" / "case.ipynb").write_text(json.dumps(notebook()), encoding="utf-8")
    (port,) = free_ports(1)
    places = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    own = {name: str(folder / name.lower()) for name in places}
    own["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
    command += [f"--port={port}", f"--IdentityProvider.token={TOKEN}", "--ServerApp.root_dir=work"]
    with mock.patch.dict(os.environ, own):
        here = f"http://127.0.0.1:{port}"
        with started(command, f"{here}/api", folder):
            yield f"{here}/lab/tree/case.ipynb?token={TOKEN}"


@pytest.fixture
def tab(address: str) -> Iterator[Any]:
    with screen.launched() as browser, screen.tab_of(browser, FINE) as opened:
        opened.set_default_timeout(SECONDS * 1000)
        opened.goto(address)
        opened.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # cells run before that are lost
        run(opened, 0)
        opened.wait_for_selector(".counterpoint .card")
        yield opened


def run(tab: Any, cell: int) -> Any:
    """Run a cell, wait until it has been run, and give its node."""
    node = tab.locator(".jp-Notebook .jp-CodeCell").nth(cell)
    before = node.locator(".jp-InputPrompt").inner_text()
    node.locator(".cm-content").click()
    tab.keyboard.press("Control+Enter")
    tab.wait_for_function(
        "([place, before]) => { const text = document.querySelectorAll('.jp-Notebook .jp-CodeCell')[place]"
        ".querySelector('.jp-InputPrompt').innerText; return text !== before && /[0-9]/.test(text); }",
        arg=[cell, before],
    )
    return node


def read(tab: Any) -> Any:
    """Read what the widget holds, in a cell."""
    printed = run(tab, 1).locator(".jp-OutputArea-output pre").inner_text()
    return ast.literal_eval(printed.removeprefix("read "))


def test_a_person_and_a_cell_work_on_the_same_widget(tab: Any, tmp_path: Path) -> None:
    tab.get_by_role("button", name="Keep Income as it is").click()
    tab.wait_for_selector(".counterpoint .feature.locked")
    tab.wait_for_selector(".desk:not(.busy)")
    tab.get_by_role("button", name="Pin answer 1 to compare").click()
    tab.wait_for_selector(".compare:visible")
    screen.keep(tab, tmp_path, "notebook")
    assert tab.evaluate(COVERED) == []
    constraints, (chosen,) = read(tab)
    assert constraints["immutable"] == ["income"]
    assert chosen["income"] + 25 * (chosen["job"] == "smith") + chosen["age"] > 90

    run(tab, 2)
    tab.wait_for_selector(".compare", state="hidden")
    locked = tab.locator(".counterpoint button.lock[aria-pressed=true]")
    assert locked.get_attribute("aria-label") == "Keep Age as it is"
    constraints, chosen = read(tab)
    assert (constraints["immutable"], chosen) == (["age"], [])

    brightness = [tab.evaluate(THEMED, is_light) for is_light in ("true", "false")]
    assert brightness[0] > 0.8 > 0.2 > brightness[1]
    screen.keep(tab, tmp_path, "notebook-dark")

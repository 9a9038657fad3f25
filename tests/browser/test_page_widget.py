"""The widget in a real browser, with its real Python side: both directions, and what fails.

A notebook's front end gives a widget a model with get, set, save_changes, on and send. Here these are a few
lines that pass all messages between the widget's own module in the browser and the widget in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import screen

import counterpoint as cp
import loans

HOST = """<!doctype html><html lang="en"><title>Notebook</title><link rel="stylesheet" href="style.css">
<main><h1>Notebook</h1><div id="cell"></div></main><script type="module" src="host.js"></script></html>"""

MODEL = """
import widget from "./widget.js";
const listeners = {};
const state = await window.readTraits();
const tell = (name, value) => (listeners[name] ?? []).forEach((listener) => listener(value));
const model = {
  get: (name) => structuredClone(state[name]),
  set: (name, value) => { state[name] = structuredClone(value); tell(`change:${name}`); },
  save_changes: () => window.writeTraits({ constraints: state.constraints, chosen: state.chosen }),
  on: (name, listener) => (listeners[name] ??= []).push(listener),
  send: async (content) => tell("msg:custom", await window.sendMessage(content)),
};
window.fromPython = (name, value) => model.set(name, value);
widget.render({ model, el: document.getElementById("cell") });
"""


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    table = loans.people(300)
    return cp.Ensemble(size=4).fit(
        lambda X: (X["income"] + 25 * (X["job"] == "smith") + X["age"] > 90).to_numpy(), table
    )


@pytest.fixture
def widget(explainer: cp.Explainer) -> Any:
    pytest.importorskip("anywidget")
    table = loans.people(300)
    refused = table[(table["income"] + table["age"] < 80) & (table["job"] == "cook")].iloc[0]
    return explainer.widget(refused, k=3)


@pytest.fixture
def tab(browser: Any, widget: Any) -> Iterator[Any]:
    files = {
        "index.html": ("text/html", HOST),
        "host.js": ("text/javascript", MODEL),
        "widget.js": ("text/javascript", widget._esm),
        "style.css": ("text/css", widget._css),
    }

    def serve(route: Any) -> None:
        kind, text = files.get(route.request.url.rsplit("/", 1)[1], ("text/html", ""))
        route.fulfill(content_type=kind, body=text)

    with screen.tab_of(browser) as opened:
        opened.expose_function("readTraits", lambda: widget.get_state(["about", "constraints", "chosen"]))
        opened.expose_function("writeTraits", widget.set_state)
        opened.expose_function("sendMessage", widget.reply)
        opened.route("http://notebook.invalid/**", serve)
        opened.goto("http://notebook.invalid/index.html")
        opened.wait_for_selector(".card")
        yield opened


def settled(tab: Any) -> None:
    tab.wait_for_selector(".desk:not(.busy)")


def test_what_is_locked_in_the_widget_is_known_in_python(tab: Any, widget: Any, tmp_path: Path) -> None:
    tab.get_by_role("button", name="Keep Income as it is").click()
    tab.wait_for_function("() => document.querySelector('.feature.locked')")
    settled(tab)
    assert widget.constraints["immutable"] == ["income"]
    screen.keep(tab, tmp_path, "page-widget")
    assert screen.violations(tab) == []


def test_what_python_says_is_shown_in_the_widget(tab: Any, widget: Any) -> None:
    tab.evaluate(
        "() => window.fromPython('constraints', { immutable: ['age'], ranges: { income: [null, 60] } })"
    )
    settled(tab)
    assert tab.get_by_role("button", name="Keep Age as it is").get_attribute("aria-pressed") == "true"
    assert "at most 60" in tab.get_by_label("Income", exact=True).first.inner_text()
    assert widget.constraints["immutable"] == ["age"]


def test_what_is_pinned_is_chosen(tab: Any, widget: Any, explainer: cp.Explainer) -> None:
    tab.get_by_role("button", name="Pin answer 1 to compare").click()
    tab.wait_for_selector(".compare:visible")
    (chosen,) = widget.chosen
    assert explainer.fitted_.blackbox.predict(explainer.fitted_.view.read_one(chosen).instances.rows)[0]
    tab.evaluate("() => window.fromPython('chosen', [])")
    tab.wait_for_selector(".compare", state="hidden")
    assert widget.chosen == []


def test_what_goes_wrong_is_a_sentence(widget: Any) -> None:
    reply = widget.reply({"id": 1, "name": "answers", "body": {"question": {"values": {"height": 3}}}})
    assert reply["status"] == 422
    assert "height" in reply["error"]


def test_a_widget_is_for_tables() -> None:
    import numpy as np

    X = np.random.default_rng(0).random((30, 8, 8))
    explainer = cp.Ensemble(size=2).fit(lambda images: images.mean(axis=(1, 2)) > 0.5, X)
    with pytest.raises(ValueError, match="A widget is for tables"):
        explainer.widget(X[0])

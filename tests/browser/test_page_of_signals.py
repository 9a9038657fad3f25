"""The page of images and of series in a real browser: codecs, masks drawn on x, and differences."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import screen
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier

import counterpoint as cp
from counterpoint.cli import parser
from counterpoint.cli.open import calls_of
from counterpoint.web.page.opening import open_page

CHANGES = "What changes at a time"


class Flat:
    """A forest that sees images and series as lines of numbers."""

    def __init__(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        self.forest = ExtraTreesClassifier(30, random_state=0).fit(X.reshape(len(X), -1), y)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        return self.forest.predict(X.reshape(len(X), -1))


@pytest.fixture(scope="module")
def images() -> Iterator[str]:
    digits = load_digits()
    explainer = cp.Ensemble(size=4).fit(Flat(digits.images, digits.target), digits.images[:300])
    with explainer.open(digits.images[300:340], title="Digits", k=3, browser=False) as page:
        yield page.address


@pytest.fixture(scope="module")
def series() -> Iterator[str]:
    rng = np.random.default_rng(0)
    faulty = rng.integers(0, 2, 150) == 1
    X = np.sin(4 * np.pi * (np.linspace(0, 1, 48) + rng.random((150, 1)))) + rng.normal(0, 0.1, (150, 48))
    X[faulty, 20:30] += 1.5
    model = Flat(X, np.where(faulty, "faulty", "fine"))
    explainer = cp.Ensemble(size=4, codec=cp.Kernel(4)).fit(model, X)
    with explainer.open(X[:30], title="Sensor", k=3, browser=False) as page:
        yield page.address


def settled(tab: Any) -> None:
    tab.wait_for_function(
        "() => { const easel = window.counterpoint; return easel?.answer && easel.cases"
        " && !easel.node.classList.contains('busy'); }"
    )


def answers(tab: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    found = tab.evaluate("() => window.counterpoint.answer")
    return np.array(found["x"]), np.array([each["cells"] for each in found["answers"]])


def draw(tab: Any, *ways: tuple[float, float]) -> None:
    """Draw a line on x, between points given as shares of its sides."""
    box = tab.locator(".board").bounding_box()
    points = [(box["x"] + across * box["width"], box["y"] + down * box["height"]) for across, down in ways]
    tab.mouse.move(*points[0])
    tab.mouse.down()
    for point in points[1:]:
        tab.mouse.move(*point, steps=3)
    tab.mouse.up()


def test_an_image_its_answers_and_their_differences_are_drawn(
    browser: Any, images: str, tmp_path: Path
) -> None:
    with screen.tab_of(browser) as tab:
        tab.goto(images)
        settled(tab)
        assert tab.locator(".card").count() == 3
        assert tab.locator(".card").first.locator("canvas").count() == 3
        dark, light = tab.evaluate(
            "() => { const canvas = document.querySelector('.board canvas.image');"
            " const data = canvas.getContext('2d').getImageData(0, 0, 8, 8).data;"
            " return [Math.min(...data.filter((_, i) => i % 4 === 0)),"
            " Math.max(...data.filter((_, i) => i % 4 === 0))]; }"
        )
        assert dark < 30
        assert light > 200
        screen.keep(tab, tmp_path, "page-image")
        assert screen.violations(tab) == []


def test_what_is_drawn_on_an_image_stays(browser: Any, images: str, tmp_path: Path) -> None:
    with screen.tab_of(browser) as tab:
        tab.goto(images)
        settled(tab)
        for row in (0.05, 0.2, 0.3, 0.45):
            draw(tab, (0.03, row), (0.97, row))
        settled(tab)
        x, found = answers(tab)
        assert len(found)
        assert (found[:, :32] == x[:32]).all()  # the upper half
        assert (found[:, 32:] != x[32:]).any()
        assert "50% may not change" in tab.locator(".case").inner_text()
        screen.keep(tab, tmp_path, "page-image-mask")
        tab.get_by_role("button", name="Swap").click()
        settled(tab)
        x, found = answers(tab)
        assert (found[:, 32:] == x[32:]).all()
        tab.get_by_role("button", name="Undo").click()
        settled(tab)
        tab.wait_for_function("() => window.counterpoint.state.mask[0][0] === 0")


def test_a_mask_is_drawn_by_keyboard(browser: Any, images: str) -> None:
    with screen.tab_of(browser) as tab:
        tab.goto(images)
        settled(tab)
        tab.locator(".board").focus()
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("Space")
        settled(tab)
        assert tab.evaluate("() => window.counterpoint.state.mask") == [[1, 2]]


def test_codecs_and_decisions_are_chosen(browser: Any, images: str) -> None:
    with screen.tab_of(browser) as tab:
        tab.goto(images)
        settled(tab)
        for codec in ("large", "cells", "patterns"):
            tab.get_by_label(CHANGES).select_option(codec)
            settled(tab)
            assert tab.evaluate("() => window.counterpoint.state.codec") == codec
            assert len(answers(tab)[1])
        assert "no part can be kept" in tab.locator(".case").inner_text()
        tab.get_by_label(CHANGES).select_option("own")
        tab.get_by_label("Decision wanted").select_option(label="8")
        settled(tab)
        decided = tab.evaluate("() => window.counterpoint.cards.map((card) => card.decision_text)")
        assert set(decided) == {"8"}
        tab.locator(".pick").nth(2).click()
        settled(tab)
        assert tab.locator(".case h2").inner_text() == "Case 3"


def test_a_span_of_a_series_stays(browser: Any, series: str, tmp_path: Path) -> None:
    with screen.tab_of(browser) as tab:
        tab.goto(series)
        settled(tab)
        assert tab.locator(".card path.series").count() == 6
        draw(tab, (0.02, 0.5), (0.5, 0.5))
        settled(tab)
        mask = tab.evaluate("() => window.counterpoint.state.mask")
        x, found = answers(tab)
        (first, last) = mask[0]
        assert last - first > 15
        assert (found[:, first:last] == x[first:last]).all()
        screen.keep(tab, tmp_path, "page-series")
        assert screen.violations(tab) == []


def test_a_narrow_window_shows_images_without_running_over(browser: Any, images: str, tmp_path: Path) -> None:
    with screen.tab_of(browser, viewport={"width": 360, "height": 740}) as tab:
        tab.goto(images)
        settled(tab)
        assert tab.evaluate("() => document.documentElement.scrollWidth") <= 360
        screen.keep(tab, tmp_path, "page-image-narrow")


def test_files_of_a_network_and_of_images_open_the_page(browser: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    images = np.random.default_rng(0).random((60, 8, 8)).astype(np.float32)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
    with torch.no_grad():
        weight = torch.zeros(2, 64)
        weight[1, :32] = 1.0  # bright above
        network[1].weight.copy_(weight)
        network[1].bias.copy_(torch.tensor([16.0, 0.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TorchScript itself
        torch.jit.script(network).save(tmp_path / "bright.pt")
    np.savez(tmp_path / "images.npz", images)
    files = ["--model", str(tmp_path / "bright.pt"), "--data", str(tmp_path / "images.npz")]
    calls = calls_of(parser("open").parse_args(["open", *files, "--classes", "dark,bright", "-k", "2"]))
    with open_page(calls, browser=False) as page, screen.tab_of(browser) as tab:
        tab.goto(page.address)
        settled(tab)
        before = tab.locator(".verdict strong").inner_text()
        decided = tab.evaluate("() => window.counterpoint.cards.map((card) => card.decision_text)")
        assert {before, *decided} == {"dark", "bright"}
        for row in (0.06, 0.19, 0.31, 0.44):
            draw(tab, (0.03, row), (0.97, row))
        tab.wait_for_function("() => JSON.stringify(window.counterpoint.state.mask) === '[[0,32]]'")
        settled(tab)
        assert tab.locator(".card").count() == 0  # the upper half decides, and may not change
        assert "none leads to another decision" in tab.locator(".note").inner_text()


def test_images_have_to_be_given() -> None:
    digits = load_digits()
    explainer = cp.Ensemble(size=2).fit(Flat(digits.images[:100], digits.target[:100]), digits.images[:100])
    with pytest.raises(ValueError, match="Give the images or series to pick from"):
        explainer.open(browser=False)

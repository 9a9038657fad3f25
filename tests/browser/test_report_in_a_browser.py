"""Reports in a real browser: all is there, nothing fails to load, nothing runs off the page."""

from pathlib import Path

import chromium
import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint import report

SECTIONS = {
    "one": {"HEADER", "decisions", "answer", "map", "measures"},
    "many": {"HEADER", "features", "costs", "without", "groups"},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report on one refused credit, and one on many."""
    chromium.browser()
    folder = tmp_path_factory.mktemp("reports")
    credit = cp.datasets.load("german")
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), list(credit.categorical)), remainder="passthrough"),
        RandomForestClassifier(20, random_state=0),
    ).fit(credit.X_train, credit.y_train)
    explainer = cp.Ensemble().fit(model, credit.X_train, immutable=credit.immutable)
    refused = credit.X_test[model.predict(credit.X_test) == 1]
    answers = explainer.explain_many(refused[:40], k=3, max_changes=1, progress=False)
    many = report.Many.of(answers, refused[:40], ["personal_status_sex", "age"])
    one = report.one(explainer.explain(refused.iloc[0], k=5), explainer)
    return {
        "one": report.write(one, folder / "one.html"),
        "many": report.write(many, folder / "many.html"),
    }


@pytest.mark.parametrize("name", SECTIONS)
def test_all_is_there_and_nothing_fails_or_overflows(
    pages: dict[str, Path], tmp_path: Path, name: str
) -> None:
    seen = chromium.look(pages[name], tmp_path, width=700)  # about as wide as a sheet of paper
    assert seen["loaded"] == []
    assert seen["failed"] == []
    assert seen["tooWide"] == []
    assert seen["scrolling"] == []
    assert seen["sizes"].keys() >= SECTIONS[name]
    assert all(seen["sizes"][section] > 30 for section in SECTIONS[name])
    assert seen["background"] == "rgb(255, 255, 255)"


def test_a_telephone_in_the_dark_shows_it_too(pages: dict[str, Path], tmp_path: Path) -> None:
    seen = chromium.look(pages["one"], tmp_path, "--blink-settings=preferredColorScheme=0", width=500)
    assert seen["tooWide"] == []
    assert seen["background"] == "rgb(20, 24, 28)"


@pytest.mark.parametrize("name", SECTIONS)
def test_a_screenshot_is_kept_and_shows_something(pages: dict[str, Path], tmp_path: Path, name: str) -> None:
    pixels = imread(chromium.picture(pages[name], tmp_path, height=2400))
    assert pixels.shape[:2] == (2400, 1000)
    assert np.ptp(pixels[:, :, :3].mean(axis=2).mean(axis=1)) > 0.05


@pytest.mark.parametrize("name", SECTIONS)
def test_it_prints_on_a_few_sheets_of_a4(pages: dict[str, Path], tmp_path: Path, name: str) -> None:
    pdf = chromium.printed(pages[name], tmp_path)
    assert b"/MediaBox [0 0 594" in pdf or b"/MediaBox [0 0 595" in pdf
    assert 2 <= pdf.count(b"/Type /Page\n") <= 5

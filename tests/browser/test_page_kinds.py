"""The page on all kinds of columns and models: dates, gaps, truth values, many categories, numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import screen
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import counterpoint as cp

RNG = np.random.default_rng(0)
SIZE = 240
TABLE = pd.DataFrame(
    {
        "income": RNG.integers(10, 100, SIZE) * 1000,
        "share": RNG.random(SIZE).round(3),
        "debt": np.where(RNG.random(SIZE) < 0.2, np.nan, RNG.random(SIZE).round(2)),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 2000, SIZE), unit="D"),
        "town": RNG.choice([f"town {letter}" for letter in "abcdefghijklmno"], SIZE),
        "member": RNG.random(SIZE) > 0.5,
        "<b>odd & name</b>": RNG.choice(["<i>x</i>", "'y'", None], SIZE),
    }
)


def grants(table: pd.DataFrame) -> np.ndarray:
    old = pd.to_datetime(table["since"]) < pd.Timestamp("2023-01-01")
    points = table["income"] / 1000 + 20 * old + 15 * table["member"].astype(int)
    points += 10 * (table["town"] == "town a") - 30 * table["debt"].fillna(0.5)
    return np.where(points > 80, "granted", "refused")


def settled(tab: Any) -> None:
    tab.wait_for_function(
        "() => { const desk = window.counterpoint; return desk?.answer && desk.map && desk.flips"
        " && desk.baseRow === desk.state.row && !desk.node.classList.contains('busy')"
        " && desk.asked.answers === JSON.stringify(desk.question()); }"
    )


def test_dates_gaps_truth_values_and_odd_names(browser: Any, tmp_path: Path) -> None:
    explainer = cp.Ensemble(size=4).fit(grants, TABLE, max_change={"income": "20%"}, progress=False)
    page = explainer.open(browser=False, k=4)
    with page, screen.tab_of(browser) as tab:
        tab.goto(page.address)
        settled(tab)
        assert screen.violations(tab) == []
        assert "by at most 20%" in tab.get_by_label("Income", exact=True).first.inner_text()
        assert tab.locator(".feature .name").last.inner_text() == "<b>odd & name</b>"
        since = tab.locator("input.typed[type=date]")
        since.fill("2021-05-05")
        settled(tab)
        assert tab.evaluate("() => window.counterpoint.state.edits.since") == "2021-05-05"
        debt = tab.locator("input.typed[aria-label='Debt']")
        debt.fill("")
        settled(tab)
        assert tab.evaluate("() => window.counterpoint.values.debt") is None
        town = tab.get_by_label("Town", exact=True).locator("visible=true").last
        town.select_option(label="town c")
        settled(tab)
        assert tab.evaluate("() => window.counterpoint.state.edits.town").startswith("town")
        tab.locator("input[type=range][aria-label='Share']").press("ArrowRight")
        settled(tab)
        screen.keep(tab, tmp_path, "page-kinds")


def test_a_limit_on_the_amount_of_change_can_be_released(browser: Any) -> None:
    X = TABLE[["income", "share"]]
    explainer = cp.Ensemble(size=4).fit(
        lambda X: np.where(X["income"] > 50_000, "granted", "refused"),
        X,
        max_change={"income": 1000},
        immutable=["share"],
        progress=False,
    )
    poor = X[X["income"] < 30_000]
    page = explainer.open(poor, browser=False)
    with page, screen.tab_of(browser) as tab:
        tab.goto(page.address)
        settled(tab)
        tab.get_by_role("button", name="Why nothing?").click()
        tab.wait_for_selector(".ways li")
        assert "Income may change by at most 1000" in tab.locator(".ways li").first.inner_text()
        tab.get_by_role("button", name="Release").first.click()
        settled(tab)
        assert tab.locator(".card").count() > 0


def test_three_decisions_of_which_one_is_wanted(browser: Any) -> None:
    X = TABLE[["income", "share"]]
    model = RandomForestClassifier(15, random_state=0).fit(X, pd.cut(X["income"], 3, labels=["c", "b", "a"]))
    page = cp.Ensemble(size=4).fit(model, X).open(browser=False)
    with page, screen.tab_of(browser) as tab:
        tab.goto(page.address)
        settled(tab)
        tab.get_by_label("Decision wanted").select_option(label="a")
        settled(tab)
        decided = tab.evaluate("() => window.counterpoint.cards.map((card) => card.decision_text)")
        assert set(decided) == {"a"}


def test_a_model_whose_outputs_are_numbers(browser: Any, tmp_path: Path) -> None:
    X = TABLE[["income", "share"]]
    model = RandomForestRegressor(15, random_state=0).fit(X, X["income"] / 1000 + 10 * X["share"])
    page = cp.Ensemble(size=4).fit(model, X).open(browser=False, target=cp.Between(low=70))
    with page, screen.tab_of(browser) as tab:
        tab.goto(page.address)
        settled(tab)
        assert tab.get_by_label("Output at least").input_value() == "70"
        tab.get_by_label("Output at least").fill("80")
        tab.get_by_label("Output at least").press("Enter")
        tab.get_by_label("Output at least").blur()
        settled(tab)
        outputs = tab.evaluate("() => window.counterpoint.cards.map((card) => card.decision)")
        assert outputs
        assert min(outputs) >= 80
        screen.keep(tab, tmp_path, "page-outputs")
        assert screen.violations(tab) == []

"""Reports: the facts are right, add up over parts, and stand on a page that needs nothing else."""

import re
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint import report
from counterpoint.metrics.measures import OTHER
from counterpoint.report.costs import Costs, Histogram
from counterpoint.report.groups import MOST, OTHERS, SMALL, Group, Split, contrast, key_of
from counterpoint.report.landscape import Landscape
from counterpoint.report.many import CASES

NEEDS = re.compile(
    r"""(?:src|href)\s*=\s*["'](?!data:|#)|url\(|@import|<script|<link(?! rel="icon" href="data:,")"""
)


RANGES = {"income": (0, 60), "debt": (10, 60)}


def people(count: int, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": random.normal(50, 20, count).round(1),
            "debt": random.normal(20, 10, count).round(1),
            "age": random.integers(18, 80, count),
            "job": random.choice(["clerk", "smith", "<none> & 'other'"], count),
            "sex": random.choice(["f", "m"], count),
        }
    )


def grants(table: pd.DataFrame) -> np.ndarray:
    score = table["income"] - table["debt"] - 12.0 * (table["sex"] == "f")
    return np.where(score > 30, "granted", "refused")


@pytest.fixture(scope="module")
def explainer() -> cp.Ensemble:
    return cp.Ensemble().fit(grants, people(500), immutable=["age", "sex"], ranges=RANGES)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return people(300, seed=1).query("0 <= income <= 60 and 10 <= debt <= 60").reset_index(drop=True)


@pytest.fixture(scope="module")
def answers(explainer: cp.Ensemble, table: pd.DataFrame) -> cp.Explanations:
    """Some have what they ask for, some get three, and some are too far from it to get any."""
    return explainer.explain_many(table, k=3, target="granted", max_changes=1, progress=False)


@pytest.fixture(scope="module")
def many(answers: cp.Explanations, table: pd.DataFrame) -> report.Many:
    return report.Many.of(answers, table, ["sex", "age"])


# --- costs ------------------------------------------------------------------------------------------------


def test_quantiles_of_distances_are_within_one_percent_of_the_exact_ones() -> None:
    distances = np.random.default_rng(0).lognormal(0, 2, 5001)
    costs = Costs.of(distances.tolist(), [1] * 5001)
    for share in (0.05, 0.25, 0.5, 0.95):
        exact = np.quantile(distances, share, method="inverted_cdf")
        assert costs.distance(share) == pytest.approx(exact, rel=0.0101)


def test_quantiles_of_whole_numbers_are_exact() -> None:
    numbers = np.random.default_rng(1).integers(0, 9, 400)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        exact = np.quantile(numbers, share, method="inverted_cdf")
        assert Histogram.of(numbers.tolist()).quantile(share) == exact


def test_nothing_counted_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="Nothing was counted"):
        Histogram().quantile(0.5)


def test_intervals_hold_what_they_are_about_about_95_times_of_100() -> None:
    random = np.random.default_rng(2)
    medians = shares = 0
    for _ in range(300):
        drawn = Costs.of(random.exponential(size=40).tolist(), [1] * 40)
        low, high = drawn.median_interval or (0, 0)
        medians += low * 0.99 <= np.log(2) <= high * 1.01
        without = int(random.binomial(40, 0.1))
        low, high = Costs.of([1.0] * (40 - without), [], without=without).share_without_interval
        shares += low <= 0.1 <= high
    assert 270 <= medians < 300
    assert 270 <= shares < 300


def test_the_median_of_a_few_is_not_said_to_be_known() -> None:
    assert Costs.of([0.1] * 5, [1] * 5).median_interval is None


# --- groups -----------------------------------------------------------------------------------------------


def split(values: list) -> Split:
    return Split.of("column", np.array(values, dtype=object), lambda places: Costs(len(places)))


def sizes(parted: Split) -> dict[str, int]:
    return {group.name: group.costs.instances for group in parted.groups}


def test_numbers_are_parted_into_bands_that_hold_what_they_say() -> None:
    ages = np.random.default_rng(0).integers(17, 91, 1000)
    bands = sizes(split(ages.tolist()))
    assert 3 <= len(bands) <= 5
    assert sum(bands.values()) == 1000
    for name, count in bands.items():
        low, *high = (int(number) for number in re.findall(r"\d+", name))
        assert count == ((ages >= low) & (ages <= (high[0] if high else 99))).sum()


def test_large_numbers_are_banded_exactly_although_known_to_two_digits() -> None:
    incomes = np.random.default_rng(0).lognormal(10, 1, 2000)
    for name, count in sizes(split(incomes.tolist())).items():
        low, *high = (float(number.replace(",", "")) for number in re.findall(r"[\d,]+", name))
        assert count == ((incomes >= key_of(low)) & (incomes < (high[0] if high else np.inf))).sum()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0, 1, 1, None], {"0": 1, "1": 3, "missing": 1}),
        ([True, False, True], {"True": 2, "False": 1}),
        (["b", "a", "b", float("nan")], {"b": 2, "a": 1, "missing": 1}),
        ([0.0] * 90 + list(range(1, 11)), {"0": 90, "1 and over": 10}),
        ([5.0] * 90 + list(range(-5, 5)), {"-5 to 4": 10, "5": 90}),
    ],
)
def test_groups_of_a_column(values: list, expected: dict[str, int]) -> None:
    assert sizes(split(values)) == expected


def test_bands_do_not_depend_on_how_the_rows_came() -> None:
    ages = np.random.default_rng(0).integers(17, 91, 900).tolist()
    parts = [split(ages[start : start + 50]) for start in range(0, 900, 50)]
    assert reduce(add, parts).groups == split(ages).groups


def test_of_very_many_categories_the_later_ones_are_counted_together() -> None:
    found = sizes(split([f"id {i}" for i in range(MOST + 30)]))
    assert len(found) == MOST + 1
    assert found[OTHERS] == 30
    assert list(found)[-1] == OTHERS


def test_small_groups_are_marked_and_not_compared() -> None:
    large, small = Costs.of([0.5] * SMALL, [1] * SMALL), Costs.of([5.0] * (SMALL - 1), [1] * (SMALL - 1))
    groups = [Group("a", large), Group("b", small)]
    assert [group.is_small for group in groups] == [False, True]
    assert contrast(groups) == ""


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.08, "may be chance"), (3.0, "chance is an unlikely explanation")]
)
def test_a_contrast_says_whether_it_may_be_chance(shift: float, verdict: str) -> None:
    random = np.random.default_rng(0)
    near = Costs.of((1 + random.random(100)).tolist(), [1] * 100)
    far = Costs.of((1 + shift + random.random(100)).tolist(), [1] * 100)
    assert verdict in contrast([Group("a", near), Group("b", far)])


# --- many decisions ---------------------------------------------------------------------------------------


def test_all_are_counted(many: report.Many, answers: cp.Explanations, table: pd.DataFrame) -> None:
    granted = int((grants(table) == "granted").sum())
    none = sum(not len(item) for item in answers) - granted
    assert none > 5
    assert (many.costs.instances, many.costs.already, many.costs.without) == (len(table), granted, none)
    assert many.found == len(answers.frame)
    assert many.full == sum(item.shortfall is None for item in answers)
    assert dict(many.decisions) == {"granted": granted, "refused": len(table) - granted}
    assert many.asked == 3 * (len(table) - granted)
    assert sum(reason.without for reason in many.reasons) == none


def test_the_features_that_flip_are_those_that_the_answers_name(
    many: report.Many, answers: cp.Explanations
) -> None:
    shares = {flip.name: flip.counterfactuals / many.found for flip in many.features}
    assert shares == pytest.approx(answers.importance().to_dict())
    assert set(many.unchanged) >= {"age", "sex"}
    assert [flip.name for flip in many.ranked][:2] == ["income", "debt"]
    income = many.features[0]
    assert income.alone == income.counterfactuals == income.up
    assert income.down == 0
    helped = answers.changes.query("feature == 'income'")["instance"].nunique()
    assert income.instances == helped


def test_costs_by_group_are_those_of_its_members(
    many: report.Many, answers: cp.Explanations, table: pd.DataFrame
) -> None:
    (by_sex, by_age) = many.splits
    for group in by_sex.groups:
        members = [item for item, sex in zip(answers, table["sex"], strict=True) if sex == group.name]
        nearest = [item.distance.min() for item in members if len(item)]
        exact = np.quantile(nearest, 0.5, method="inverted_cdf")
        assert group.costs.instances == len(members)
        assert group.costs.distance(0.5) == pytest.approx(exact, rel=0.0101)
    assert sum(group.costs.without for group in by_age.groups) == many.costs.without


def test_women_pay_more_where_the_model_asks_more_of_them(many: report.Many) -> None:
    assert "farthest for 'f'" in contrast(many.splits[0].groups)


def test_facts_of_parts_add_up_to_those_of_the_whole(
    many: report.Many, answers: cp.Explanations, table: pd.DataFrame
) -> None:
    for step in (1, 37, 200):
        parts = [
            report.Many.of(
                cp.Explanations(list(answers)[start : start + step]),
                table[start : start + step],
                ["sex", "age"],
            )
            for start in range(0, len(table), step)
        ]
        whole = reduce(add, parts)
        # Parts of one run do not know how many calls they shared.
        calls, rows = many.model_calls, many.model_rows
        assert replace(whole, model_calls=calls, model_rows=rows) == many


def test_facts_do_not_grow_with_the_rows(many: report.Many) -> None:
    once, often = many + many, reduce(add, [many] * 50)
    assert len(repr(often)) < 1.2 * len(repr(once))
    assert len(often.cases) == CASES
    assert often.costs.instances == 50 * many.costs.instances


def test_facts_about_different_things_do_not_add_up(
    many: report.Many, answers: cp.Explanations, table: pd.DataFrame
) -> None:
    with pytest.raises(ValueError, match="different groups do not add up"):
        many + report.Many.of(answers, table)


def test_those_without_any_are_named_by_their_row_and_values(
    many: report.Many, answers: cp.Explanations, table: pd.DataFrame
) -> None:
    assert many.cases
    for case in many.cases:
        item = answers[case.row - 1]
        assert not len(item)
        assert case.decision == "refused"
        assert case.values[2] == str(table["age"][case.row - 1])


def test_who_had_the_decision_is_a_fact_and_not_read_from_the_words(answers: cp.Explanations) -> None:
    short = next(item for item in answers if item.shortfall is not None and not item.shortfall.already)
    wordy = replace(short, shortfall=cp.Shortfall(3, 0, target="already hard to change"))
    silent = replace(short, shortfall=cp.Shortfall(3, 0, cp.Why.ALREADY))
    costs = report.Many.of(cp.Explanations([short, wordy, silent]), np.zeros((3, 0))).costs
    assert (costs.already, costs.without) == (1, 2)


def test_groups_may_be_columns_that_the_model_never_sees(
    explainer: cp.Ensemble, answers: cp.Explanations, table: pd.DataFrame
) -> None:
    wider = table.assign(region=["north", "south"] * (len(table) // 2) + ["north"] * (len(table) % 2))
    assert set(sizes(report.Many.of(answers, wider, ["region"]).splits[0])) == {"north", "south"}


def test_groups_of_a_polars_frame_and_of_an_array(answers: cp.Explanations, table: pd.DataFrame) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: table[name].tolist() for name in table})
    assert report.Many.of(answers, frame, ["sex", "age"]) == report.Many.of(answers, table, ["sex", "age"])
    X = np.random.default_rng(0).normal(size=(100, 2))
    found = cp.Neighbours().fit(lambda rows: rows[:, 0] > 0, X).explain_many(X[:60], k=1, progress=False)
    assert sum(sizes(report.Many.of(found, X[:60], ["x1"]).splits[0]).values()) == 60


def test_a_group_that_is_no_column_is_refused(answers: cp.Explanations, table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match=r"groups must name columns of X, got 'gender'. Known: .*'sex'"):
        report.Many.of(answers, table, ["gender"])


def test_other_rows_than_those_explained_are_refused(answers: cp.Explanations, table: pd.DataFrame) -> None:
    with pytest.raises(ValueError, match="must hold the explained rows"):
        report.Many.of(answers, table[:10], ["sex"])


# --- one decision -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refused(table: pd.DataFrame) -> pd.DataFrame:
    return table[grants(table) == "refused"]


@pytest.fixture(scope="module")
def one(explainer: cp.Ensemble, refused: pd.DataFrame) -> report.One:
    return report.one(explainer.explain(refused.iloc[0], k=4), explainer, seconds=0.5)


def test_the_measures_are_those_that_evaluate_takes(
    one: report.One, explainer: cp.Ensemble, refused: pd.DataFrame
) -> None:
    (line,) = cp.evaluate(explainer, refused[:1], k=4).to_dict("records")
    names = ["size", "act", "impl", "dis_dist", "dis_count", "div_dist", "div_count", "dipo", "inst"]
    assert [getattr(one.measures, name) for name in names] == pytest.approx([line[name] for name in names])


def test_all_ten_measures_are_said(one: report.One) -> None:
    assert len(one.statements) == 10
    changes = np.mean([len(rows) for _, rows in one.explanation.changes.groupby("counterfactual")])
    assert one.statements[4].text == f"A counterfactual changes {changes:.2g} of 5 features on average."
    assert one.statements[9].figure == "0.5 s"


def test_classes_asked_for_are_read_from_the_answer(explainer: cp.Ensemble, refused: pd.DataFrame) -> None:
    answer = explainer.explain(refused.iloc[0], k=2, target="granted")
    facts = report.one(answer, explainer)
    known = explainer.fitted_.known
    assert facts.landscape.wanted.mean() == pytest.approx((known.labels == "granted").mean(), abs=0.01)


def test_an_answer_to_another_question_is_refused(explainer: cp.Ensemble, refused: pd.DataFrame) -> None:
    answer = explainer.explain(refused.iloc[0], k=2)
    with pytest.raises(ValueError, match="is any other decision, the report was asked for 'granted'"):
        report.one(answer, explainer, target="granted")


def test_an_explanation_of_another_table_is_refused(explainer: cp.Ensemble) -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    other = cp.Neighbours().fit(lambda rows: rows[:, 0] > 0, X)
    with pytest.raises(ValueError, match="other features than the explainer"):
        report.one(other.explain(X[0], k=1), explainer)


def test_a_number_asked_for_needs_its_target() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    explainer = cp.Ensemble().fit(lambda rows: rows.sum(axis=1) * 1.5, X)
    wanted = cp.Between(low=1.0)
    answer = explainer.explain(X[X.sum(axis=1).argmin()], k=2, target=wanted)
    facts = report.one(answer, explainer, target=wanted)
    assert facts.measures.size == 1
    assert "output" in report.html(facts)
    with pytest.raises(ValueError, match="Give target as it was given to explain"):
        report.one(answer, explainer)


def test_no_counterfactual_at_all_still_makes_a_report() -> None:
    X = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [0.0, 1, 1, 0]})
    explainer = cp.Neighbours().fit(lambda X: X["a"].to_numpy() > 1.5, X, immutable=["a"])
    answer = explainer.explain({"a": 0.0, "b": 0.0}, k=2)
    assert not len(answer)
    page = report.html(report.one(answer, explainer))
    assert 'id="shortfall"' in page
    assert 'id="decisions"' not in page
    assert page.count("Not measured") == 6


def test_the_map_shows_where_the_decision_changes(explainer: cp.Ensemble, one: report.One) -> None:
    shown = one.landscape
    across = shown.known[:, 0]
    assert across[shown.wanted].mean() > across[~shown.wanted].mean()
    assert shown.found[:, 0].mean() > shown.x[0]
    assert 0 < shown.shown <= 1
    assert (len(shown.known), shown.known_in_all) == (500, 500)


def test_on_the_map_equal_rows_are_at_one_point(explainer: cp.Ensemble) -> None:
    known = explainer.fitted_.known
    shown = Landscape.of(known, known.rows[7], known.rows[:20], OTHER, "refused")
    assert shown.found[7] == pytest.approx(shown.x)


# --- the page ---------------------------------------------------------------------------------------------


def test_a_page_about_one_decision_shows_all_facts_and_needs_nothing_else(one: report.One) -> None:
    page = report.html(one)
    assert not NEEDS.search(page)
    for name in ("facts", "decisions", "answer", "same", "map", "measures"):
        assert f'id="{name}"' in page
    plain = page.replace("<wbr>", "")
    for statement in one.statements:
        assert statement.text in plain
    changed = sum(sum(line.changed) for line in one.card.changes)
    assert page.count('class="changed"') == changed == len(one.explanation.changes)


def test_a_page_about_many_shows_all_facts_and_needs_nothing_else(many: report.Many) -> None:
    page = report.html(many)
    assert not NEEDS.search(page)
    for name in ("facts", "features", "costs", "without", "groups"):
        assert f'id="{name}"' in page
    for group in many.splits[1].groups:
        assert f">{group.name}" in page


def test_what_the_data_say_cannot_break_the_page(
    explainer: cp.Ensemble, refused: pd.DataFrame, many: report.Many
) -> None:
    x = refused[refused["job"].str.startswith("<")].iloc[0]
    page = report.html(report.one(explainer.explain(x, k=2), explainer))
    assert "&lt;none&gt;" in page
    assert "<none>" not in page + report.html(many)


def test_many_counterfactuals_are_parted_into_tables_that_fit(
    explainer: cp.Ensemble, refused: pd.DataFrame
) -> None:
    answer = explainer.explain(refused.iloc[0], k=12)
    page = report.html(report.one(answer, explainer))
    assert page.count('<table class="answer">') == 3


def test_mixed_decisions_are_pointed_out(
    explainer: cp.Ensemble, table: pd.DataFrame, many: report.Many
) -> None:
    found = explainer.explain_many(table[:40], k=1, progress=False)
    assert 'id="mixed"' in report.html(report.Many.of(found, table[:40], ["sex"]))
    assert 'id="mixed"' not in report.html(many)


def test_no_rows_make_a_page_too(explainer: cp.Ensemble, table: pd.DataFrame) -> None:
    nothing = report.Many.of(cp.Explanations([], explainer.fitted_.schema), table[:0], ["sex"])
    assert "What would change 0 decisions" in report.html(nothing)


def test_a_report_replaces_another_only_when_it_is_whole(
    one: report.One, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "found.html"
    path.write_text("old")
    monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="The report cannot be written: No space left"):
        report.write(one, path)
    assert [each.name for each in tmp_path.iterdir()] == ["found.html"]
    assert path.read_text() == "old"
    monkeypatch.undo()
    assert report.write(one, path) == path
    assert path.read_text(encoding="utf-8") == report.html(one)


def test_a_folder_that_is_not_there_is_named(one: report.One, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="The report cannot be written"):
        report.write(one, tmp_path / "nowhere" / "found.html")


# --- images and series ------------------------------------------------------------------------------------


def test_a_series_is_drawn_and_measured() -> None:
    random = np.random.default_rng(0)
    waves = np.sin(np.arange(40) / 4 + random.random((80, 1))) + random.normal(0, 0.1, (80, 40))
    waves[::2, 10:20] += 1.5
    explainer = cp.Ensemble(codec=cp.Kernel(4)).fit(lambda X: X[:, 10:20].mean(axis=1) > 0.6, waves)
    facts = report.one(explainer.explain(waves[1], k=2), explainer)
    page = report.html(facts)
    assert 'src="data:image/png;base64,' in page
    assert not NEEDS.search(page)
    assert "of 40 cells" in facts.statements[4].text
    assert facts.measures.dis_dist == pytest.approx(facts.explanation.distance.mean())
    several = report.Many.of(explainer.explain_many(waves[:6], k=1, progress=False), waves[:6])
    assert several.features == ()
    assert 'id="costs"' in report.html(several)


# ---------------------------------------------------------------- what a person reads


@pytest.fixture(scope="module")
def locked():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)).round(2), columns=list("abc"))
    model = LogisticRegression().fit(X, X["a"] + X["b"] / 4 > 0)
    return cp.Ensemble().fit(model, X, immutable=["a"]), pd.DataFrame(
        {"a": [-2.0] * 2, "b": [0.0, 0.1], "c": 0.0}
    )


def test_a_report_says_what_the_model_would_decide_with_its_limits(locked):
    explainer, rows = locked
    page = report.html(report.one(explainer.explain(rows.iloc[0], k=2, immutable=[]), explainer))
    assert "What the model would decide" in page
    for limit in (
        "what causes what",
        "as they are known here",
        "everything else stays the same",
        "not advice",
    ):
        assert limit in page
    assert "What to do" not in page
    assert "sufficient on its own" not in page


def test_without_an_answer_a_report_says_what_came_nearest_and_what_stands_in_the_way(locked):
    explainer, rows = locked
    answer = explainer.explain(rows.iloc[0], k=2)
    assert not len(answer)
    alone = report.html(report.one(answer, explainer))
    assert "The nearest miss is not a counterfactual" in alone
    assert 'id="relaxation"' not in alone
    page = report.html(report.one(answer, explainer, relaxation=answer.relax()))
    assert "There would be an answer without this constraint: a may not change." in page
    assert "what causes what" in page


def test_many_decisions_show_the_nearest_misses(locked):
    explainer, rows = locked
    facts = report.Many.of(explainer.explain_many(rows, k=2, progress=False), rows)
    assert [case.miss.split(":")[0] for case in facts.cases] == ["probability of True"] * 2
    page = report.html(facts)
    assert "nearest miss" in page
    assert "more than 0.5 is needed" in page

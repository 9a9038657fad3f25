"""The facts behind the page: flip points, tables, copies, and all kinds of columns and models."""

from __future__ import annotations

import datetime as dt
import json
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import counterpoint as cp
from counterpoint.cli import main, parser
from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.open import calls_of
from counterpoint.web.page.about import set_up
from counterpoint.web.page.calls import Calls
from counterpoint.web.page.session import Opened, Session

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "income": RNG.integers(10, 100, 300),
        "rate": RNG.random(300).round(3),
        "job": RNG.choice(["clerk", "smith", "cook"], 300),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 2000, 300), unit="D"),
        "member": RNG.random(300) > 0.5,
        "debt": np.where(RNG.random(300) < 0.1, np.nan, RNG.random(300).round(2)),
    }
)


def grants(table: pd.DataFrame) -> np.ndarray:
    new = pd.to_datetime(table["since"]) < pd.Timestamp("2022-01-01")
    good = table["income"] + 20 * (table["job"] == "smith") + 10 * new - 10 * table["rate"] > 60
    return np.where(good, "granted", "refused")


@pytest.fixture(scope="module")
def calls() -> Calls:
    explainer = cp.Ensemble(size=4).fit(grants, TABLE, immutable=["member"], progress=False)
    return Calls(Session.of(explainer, k=3, opened=Opened("counterpoint explain --model m:f --data d.csv")))


@pytest.fixture(scope="module")
def case(calls: Calls) -> dict[str, Any]:
    found: dict[str, Any] = calls.call("row", {"index": calls.call("about", {})["start"]})["values"]
    return found


def ask(calls: Calls, name: str, case: dict[str, Any], more: Any = None, **question: Any) -> Any:
    return calls.call(name, {"question": {"values": case, **question}, **(more or {})})


def test_flip_points_are_what_the_model_says_and_take_one_call(calls: Calls, case: dict[str, Any]) -> None:
    blackbox = calls.session.fitted.blackbox
    before = blackbox.count.calls
    flips = ask(calls, "flips", case)
    assert blackbox.count.calls == before + 1
    own = grants(pd.DataFrame([case]))[0]
    for name, facts in flips.items():
        values = [(band["first"], band["wanted"]) for band in facts.get("bands", [])]
        values += [(band["last"], band["wanted"]) for band in facts.get("bands", [])]
        values += [(each["value"], each["wanted"]) for each in facts.get("categories", [])]
        assert values
        for value, wanted in values:
            assert (grants(pd.DataFrame([case | {name: value}]))[0] != own) == wanted
    bands = flips["income"]["bands"]
    assert [band["wanted"] for band in bands] == [False, True]
    assert bands[0]["to"] == bands[1]["from"]


def test_answers_hold_values_changes_actions_and_how_usual_they_are(
    calls: Calls, case: dict[str, Any]
) -> None:
    found = ask(calls, "answers", case)
    assert len(found["answers"]) == 3
    for card in found["answers"]:
        assert grants(pd.DataFrame([card["values"]]))[0] == "granted"
        assert {change["feature"] for change in card["changes"]} == {name for name, _ in card["action"]}
        assert 0 <= card["alike"] <= 1
        assert "member" not in {change["feature"] for change in card["changes"]}


def test_what_is_asked_twice_is_answered_alike_and_as_explain_does(
    calls: Calls, case: dict[str, Any]
) -> None:
    one, two = (ask(calls, "answers", case) for _ in range(2))
    assert one == two
    alone = calls.session.explainer.explain(pd.DataFrame([case]).astype(TABLE.dtypes), k=3)
    assert [card["sentence"] for card in one["answers"]] == alone.sentences()


def test_python_and_the_constraints_file_say_what_was_asked(
    calls: Calls, case: dict[str, Any], tmp_path: Path
) -> None:
    constraints = {
        "immutable": ["job", "member"],
        "ranges": {"income": [None, 90], "since": ["2020-02-01", None]},
        "decrease": ["rate"],
        "costs": {"income": 3, "since": "never"},
        "max_changes": 2,
    }
    question = {"setting": "close", "constraints": constraints, "exclude": [[["income", "down"]]]}
    found = ask(calls, "answers", case, **question)
    copies = ask(calls, "copies", case, **question)
    scope: dict[str, Any] = {"explainer": calls.session.explainer, "print": lambda _: None}
    exec(copies["python"], scope)
    assert scope["explanation"].sentences() == [card["sentence"] for card in found["answers"]]
    path = tmp_path / "constraints.toml"
    path.write_text(copies["constraints"])
    limits = read_limits(path)
    assert limits.immutable == ("job", "member")
    assert limits.ranges["income"] == (-np.inf, 90)
    assert limits.max_changes == 2
    assert tomllib.loads(copies["constraints"])["columns"]["rate"] == {"decrease": True}
    assert "--setting close" in copies["command"]
    assert "cannot be said here" in copies["command"]


def test_the_command_says_what_is_wanted_and_what_only_learning_can_be_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = TABLE[["income", "rate", "job"]].assign(size=np.where(TABLE["income"] > 50, "large 🐘", "small"))
    model = LogisticRegression(max_iter=500).fit(table[["income", "rate"]], table["income"] > 60)
    (tmp_path / "hired.py").write_text(
        "import pathlib, skops.io\n"
        "known = pathlib.Path(__file__).parent / 'model.skops'\n"
        "inner = skops.io.load(known, trusted=skops.io.get_untrusted_types(file=known))\n"
        "class Model:\n"
        "    classes_ = ['no', 'yes']\n"
        "    def predict_proba(self, table): return inner.predict_proba(table[['income', 'rate']])\n"
        "    def predict(self, table):\n"
        "        return ['yes' if row[1] > 0.5 else 'no' for row in self.predict_proba(table)]\n"
        "model = Model()\n"
    )
    skops.io.dump(model, tmp_path / "model.skops")
    table.to_csv(tmp_path / "known.csv", index=False)
    (tmp_path / "own.toml").write_text(
        'links = ["rate <= income", { when = { job = "cook" }, then = { size = ["small", "large 🐘"] } }]\n'
        '[columns.income]\nstep = 5\n[columns.size]\norder = ["small", "large 🐘"]\nincrease = true\n'
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["open", "--model", "hired:model", "--data", "known.csv", "--constraints", "own.toml"]
    arguments += ["--want", "yes>=0.8", "--setting", "varied", "-k", "2"]
    calls = calls_of(parser("open").parse_args(arguments))
    case = calls.call("row", {"index": calls.call("about", {})["start"]})["values"]
    question = {"constraints": set_up(calls.session)}
    answers = ask(calls, "answers", case, **question)["answers"]
    assert {card["values"]["income"] % 5 for card in answers} == {0}
    command = ask(calls, "copies", case, **question)["command"]
    assert "may differ" not in command
    files, copied = command.rsplit("counterpoint explain", 1)
    subprocess.run(["bash", "-c", files], check=True)
    capsys.readouterr()
    assert main(["explain", *shlex.split(copied.replace("\\\n", "")), "--format", "json", "--quiet"]) in (
        0,
        1,
    )
    (printed,) = json.loads(capsys.readouterr().out)
    found = [each["values"] for each in printed["counterfactuals"]]
    assert found == [card["values"] for card in answers]


def test_the_command_says_that_answers_may_differ_where_limits_are_the_pages_own(
    calls: Calls, case: dict[str, Any]
) -> None:
    asked = set_up(calls.session)
    assert "may differ" not in ask(calls, "copies", case, constraints=asked)["command"]
    locked = asked | {"immutable": [*asked["immutable"], "job"]}
    assert "may differ" in ask(calls, "copies", case, constraints=locked)["command"]


def test_every_case_has_a_score_however_many_there_are() -> None:
    many = pd.DataFrame({"income": np.arange(6_000) % 97, "rate": np.arange(6_000) % 13})
    model = LogisticRegression(max_iter=500).fit(many, many["income"] > 60)
    calls = Calls(Session.of(cp.Ensemble(size=2).fit(model, many, progress=False)))
    told = calls.call("rows", {"limit": 3})["rows"]
    expected = model.predict_proba(many[:3]).max(axis=1)
    assert [row["score"] for row in told] == pytest.approx(expected.tolist(), abs=1e-6)
    scores = [row["score"] for row in calls.call("rows", {"sort": "score", "descending": True})["rows"]]
    assert scores == sorted(scores, reverse=True)
    assert calls.call("about", {})["score_kind"] == "probability"


def test_notes_have_no_words_of_the_library() -> None:
    table = TABLE[["income", "rate"]]
    model = LogisticRegression(max_iter=500).fit(table, table["income"] > 60)
    calls = Calls(Session.of(cp.Ensemble(size=2).fit(model, table, progress=False)))
    kept = {"immutable": ["income"]}
    told = ask(calls, "answers", {"income": 20, "rate": 0.5}, constraints=kept)
    assert told["answers"] == []
    assert (
        "changes were tried, and none leads to another decision. The closest is not enough: if"
        in told["note"]
    )
    for word in ("candidate", "counterfactual", "miss", "selection", "constraint"):
        assert word not in told["note"]
    nothing = ask(
        calls, "answers", {"income": 20, "rate": 0.5}, constraints={"immutable": ["income", "rate"]}
    )
    assert nothing["note"] == "No answer: the limits leave nothing to try."


def test_cases_are_searched_by_the_beginnings_of_words_and_sorted_with_gaps_last(calls: Calls) -> None:
    found = calls.call("rows", {"search": "smi true", "sort": "debt", "limit": 200})
    assert found["total"] == int(((TABLE["job"] == "smith") & TABLE["member"]).sum())
    debts = [row["cells"][5] for row in found["rows"]]
    gaps = [text == "missing" for text in debts]
    assert gaps == sorted(gaps)
    known = [float(text) for text in debts if text != "missing"]
    assert known == sorted(known)


def test_numbers_are_found_with_and_without_separators() -> None:
    X = pd.DataFrame({"amount": [3632, 15653, 4000], "age": [20, 30, 40]})
    cases = Calls(Session.of(cp.Neighbours().fit(lambda X: X["age"] > 25, X))).cases
    for search in ("3632", "15653", "15,653", "156"):
        assert cases.page({"search": search})["total"] == 1


def test_dates_booleans_and_gaps_are_told_as_people_write_them(calls: Calls) -> None:
    columns = {column["name"]: column for column in calls.call("about", {})["columns"]}
    assert columns["since"]["kind"] == "date"
    assert columns["since"]["low"].startswith(str(TABLE["since"].min().date()))
    assert columns["member"]["fixed"]["lock"]
    assert columns["debt"]["missing"]
    assert sum(columns["income"]["bars"]) == len(TABLE)
    usual = calls.call("row", {"index": None})["values"]
    assert usual["job"] == TABLE["job"].mode()[0]


def test_why_names_what_to_release(calls: Calls, case: dict[str, Any]) -> None:
    every = {"immutable": list(TABLE), "max_changes": 1}
    ways = ask(calls, "why", case, constraints=every)["ways"]
    assert ways[0]["release"][0]["kind"] == "lock"
    assert "may not change" in ways[0]["text"]
    freed = [name for name in TABLE if name != ways[0]["release"][0]["feature"]]
    assert ask(calls, "answers", case, constraints={"immutable": freed, "max_changes": 1})["answers"]


def test_the_map_places_every_answer_and_tells_the_known(calls: Calls, case: dict[str, Any]) -> None:
    found = ask(calls, "answers", case)["answers"]
    placed = ask(calls, "map", case, {"answers": [card["values"] for card in found]})
    assert len(placed["answers"]) == len(found)
    assert len(placed["known"]) == len(placed["wanted"]) == 300
    job = placed["cases"]["columns"][2]
    assert {job["texts"][which] for which in job["which"]} == {"clerk", "smith", "cook"}


def test_the_report_is_a_page(calls: Calls, case: dict[str, Any]) -> None:
    assert ask(calls, "report", case)["html"].startswith("<!doctype html>")


def test_an_older_question_of_a_page_is_stopped(calls: Calls, case: dict[str, Any]) -> None:
    from counterpoint.search.stopping import StoppedError

    class Late(Calls):
        """Another question of the same page comes in before this one is worked on."""

        def _asked(self, body: Any) -> Any:
            self.turns.take("page", "answers")
            return super()._asked(body)

    with pytest.raises(StoppedError):
        Late(calls.session).call("answers", {"question": {"values": case}}, "page")


class TestKindsOfModelsAndTables:
    def page_of(self, model: Any, X: Any, **options: Any) -> tuple[Calls, dict[str, Any]]:
        calls = Calls(Session.of(cp.Ensemble(size=3).fit(model, X, progress=False), k=2, **options))
        return calls, calls.call("row", {"index": calls.call("about", {})["start"]})["values"]

    def check(self, calls: Calls, case: dict[str, Any], **question: Any) -> dict[str, Any]:
        found = ask(calls, "answers", case, **question)
        values = [card["values"] for card in found["answers"]]
        assert values
        ask(calls, "scores", case, {"answers": values}, **question)
        ask(calls, "map", case, {"answers": values}, **question)
        ask(calls, "flips", case, **question)
        ask(calls, "decide", case, **question)
        ask(calls, "copies", case, **question)
        calls.call("rows", {"sort": calls.call("about", {})["columns"][0]["name"], "descending": True})
        return dict(found)

    def test_three_classes_with_one_wanted(self) -> None:
        X = TABLE[["income", "rate"]]
        model = RandomForestClassifier(20, random_state=0).fit(X, np.digitize(X["income"], [40, 70]))
        calls, case = self.page_of(model, X)
        assert [each["value"] for each in calls.call("about", {})["decisions"]].count(2) == 1
        found = self.check(calls, case, target=2)
        assert {card["decision"] for card in found["answers"]} == {2}
        found = self.check(calls, case, target=2, setting="safe")
        assert {card["decision"] for card in found["answers"]} == {2}

    def test_a_regressor(self) -> None:
        X = TABLE[["income", "rate"]]
        model = LinearRegression().fit(X, X["income"] * 2.0 - X["rate"])
        calls, case = self.page_of(model, X)
        told = calls.call("about", {})
        assert told["numbers"]
        assert not told["has_scores"]
        found = self.check(calls, case, target={"low": 150, "high": None})
        assert all(card["decision"] >= 150 for card in found["answers"])

    def test_polars_and_arrays(self) -> None:
        frame = pl.DataFrame({"income": TABLE["income"].to_numpy(), "job": TABLE["job"].to_list()})
        calls, case = self.page_of(lambda X: X["income"].to_numpy() > 50, frame)
        self.check(calls, case)
        calls, case = self.page_of(lambda X: X[:, 0] > 0, RNG.normal(size=(200, 3)))
        assert set(case) == {"x0", "x1", "x2"}
        self.check(calls, case)

    def test_new_cases_and_rows_that_cannot_be_read(self) -> None:
        X = TABLE[["income", "job"]]
        new = pd.DataFrame({"income": [20, 30, 40], "job": ["clerk", "pilot", "cook"]})
        calls, case = self.page_of(lambda X: X["income"].to_numpy() > 50, X, rows=new)
        assert (calls.call("about", {})["cases"], calls.session.skipped) == (2, 1)
        self.check(calls, case)

    def test_a_function_as_target_stays_on_the_server(self) -> None:
        X = TABLE[["income", "rate"]]
        calls, case = self.page_of(
            lambda X: np.where(X["income"] > 50, "yes", "no"), X, target=lambda out: out == "yes"
        )
        assert calls.call("about", {})["target"] == {"given": True}
        self.check(calls, case, target={"given": True})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["open"], "--model is missing"),
        (["open", "--demo", "--data", "x.csv"], "--demo brings a model and a table of its own"),
        (["open", "--model", "m.skops", "--data", "nowhere.csv"], "nowhere.csv does not exist"),
    ],
)
def test_the_command_says_what_is_missing(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert words in capsys.readouterr().err


def test_the_date_of_a_case_can_be_typed(calls: Calls, case: dict[str, Any]) -> None:
    moved = case | {"since": "2024-05-05"}
    assert ask(calls, "decide", moved)["decision"] in ("granted", "refused")
    answers = ask(calls, "answers", moved)["answers"]
    assert all(dt.date.fromisoformat(card["values"]["since"][:10]) for card in answers)

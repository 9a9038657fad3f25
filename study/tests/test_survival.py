"""Survival: answers are judged by models like the black box too, are reported, and nobody is ranked by it."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import made_up_signals
from counterpoint.data.types import Row, Rows
from counterpoint.metrics.evaluate import survival as of_evaluate
from counterpoint.model.target import Target
from counterpoint_study import published, runner
from counterpoint_study.findings.ranks import NAMES
from counterpoint_study.findings.survival import survival
from counterpoint_study.methods.base import Limits, Run
from counterpoint_study.methods.tables import METHODS, Own
from counterpoint_study.models import refits as models
from counterpoint_study.models.refits import Refits
from counterpoint_study.models.training import Trained, train
from counterpoint_study.page import figures, page
from counterpoint_study.plan import Plan
from counterpoint_study.recompute import recompute
from counterpoint_study.scenes.base import Scene
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import score
from counterpoint_study.topics import TOPICS
from made_up import rows, save_without_drawing, study, whole_run

FOREST = {"n_estimators": 3}


@cache
def credit() -> Trained:
    return train("german", "forest")


# --- the refits ------------------------------------------------------------------------------------------


@dataclass
class Learner:
    """Remembers what it was to learn from, and with which seed."""

    seed: int
    index: Any = None

    def fit(self, X: pd.DataFrame, y: pd.Series) -> "Learner":
        assert X.index.equals(y.index)
        self.index = X.index
        return self


@pytest.fixture
def learners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Learner]:
    """All that is trained, in a cache folder of the test's own."""
    made: list[Learner] = []

    def build(kind: str, categorical: Any, settings: Any, seed: int) -> Learner:
        assert (kind, settings) == ("forest", FOREST)
        made.append(Learner(seed))
        return made[-1]

    monkeypatch.setattr(models, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(models, "build", build)
    return made


def test_each_refit_has_a_sample_and_a_seed_of_its_own(learners: list[Learner]) -> None:
    known = credit().known
    list(Refits(credit(), FOREST, seed=4, count=3))
    assert [each.seed for each in learners] == [5, 6, 7]
    for each in learners:
        assert len(each.index) == len(known)
        # A bootstrap sample has about 63 % of the rows, some of them more than once.
        assert 0.5 < each.index.nunique() / len(known) < 0.75
    assert len({tuple(each.index) for each in learners}) == 3


def test_a_refit_is_trained_once(learners: list[Learner]) -> None:
    Refits(credit(), FOREST, seed=4, count=2).train()
    assert len(learners) == 2
    first = list(Refits(credit(), FOREST, seed=4, count=3))
    assert len(learners) == 3
    assert [each.seed for each in first] == [5, 6, 7]
    Refits(credit(), FOREST, seed=4, count=3).train()
    assert len(learners) == 3


def test_refits_are_read_once(learners: list[Learner], monkeypatch: pytest.MonkeyPatch) -> None:
    again = Refits(credit(), FOREST, seed=4, count=2)
    first = list(again)
    monkeypatch.setattr(models, "kept", None)  # nothing is read any more
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_some_refits_can_be_trained_elsewhere(learners: list[Learner]) -> None:
    Refits(credit(), FOREST, seed=4, count=3).train([1])
    assert [each.seed for each in learners] == [6]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("forest", FOREST), ("network", {"hidden": [8], "epochs": 10, "learning_rate": 0.01})],
)
def test_refits_are_models_of_the_same_kind_that_decide_differently(
    kind: str, settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "cache_folder", lambda: tmp_path)
    again = Refits(replace(credit(), kind=kind), settings, seed=0, count=2)
    one, two = (model.predict(credit().data.X_test) for model in again)
    assert set(one) == set(two) == set(credit().data.y_train)
    assert (one != two).any()
    assert [model.predict(credit().data.X_test).tolist() for model in again] == [one.tolist(), two.tolist()]


# --- the score -------------------------------------------------------------------------------------------


@dataclass
class Says:
    """A model that gives one label to all instances up to an age, and another to older ones."""

    young: Any
    old: Any
    age: float = 0.0

    def predict(self, X: pd.DataFrame) -> Any:
        return np.where(X["age"] <= self.age, self.young, self.old)


def scene(*others: Any) -> TableScene:
    return TableScene(credit(), credit().instances(3), others=others)


def flipping(place: int, count: int = 2) -> pd.DataFrame:
    """Known instances of different ages that are decided otherwise than the instance at a place, by age."""
    known = credit().known
    other = known[credit().model.predict(known) != scene().decisions[place]]
    return other.drop_duplicates("age").head(count).sort_values("age").reset_index(drop=True)


def labels(place: int) -> tuple[Any, Any]:
    """The instance's own decision, and the other one."""
    own = scene().decisions[place]
    return own, next(each for each in set(credit().data.y_train) if each != own)


def test_survival_is_the_share_of_answers_and_models_as_wanted() -> None:
    own, wanted = labels(0)
    answer = flipping(0)
    never, always, half = Says(own, own), Says(wanted, wanted), Says(wanted, own, answer["age"][0])
    for others, share in [([never], 0), ([always], 1), ([half], 0.5), ([never, always, half, half], 0.5)]:
        (scored,) = score(scene(*others), [answer], [], k=5)
        assert scored.survival == share
    (first,) = score(scene(half), [answer], [], k=1)
    assert first.survival == 1


def test_only_valid_answers_can_survive() -> None:
    own, wanted = labels(0)
    answer = pd.concat([flipping(0, count=1), scene().X.iloc[[0]]], ignore_index=True)
    (scored,) = score(scene(Says(own, own), Says(wanted, wanted)), [answer], [], k=5)
    assert (scored.valid, scored.survival) == (1, 0.5)


def test_without_answers_or_other_models_there_is_no_survival() -> None:
    none = scene().X[:0]
    first, second = score(scene(credit().model), [none, flipping(1)], [], k=5)
    assert np.isnan(first.survival)
    assert second.survival == 1
    assert all(np.isnan(each.survival) for each in score(scene(credit().model), [none, none], [], k=5))
    assert all(np.isnan(each.survival) for each in score(scene(), [flipping(0)], [], k=5))
    assert score(scene(credit().model), [], [], k=5) == []


def test_series_are_not_measured() -> None:
    some = made_up_signals.scene()
    scores = score(some, [some.X[[0], ::-1]], [], k=1)
    assert scores[0].valid == 1
    assert np.isnan(scores[0].survival)


@dataclass
class Answer:
    row: Row
    decision: Any
    rows: Rows
    labels: Any = None


def test_it_is_what_evaluate_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "cache_folder", lambda: tmp_path)
    others = Refits(credit(), FOREST, seed=0, count=3)
    some = replace(scene(), others=others)
    tables = [flipping(place, count=5) for place in range(3)]
    answers = [
        Answer(some.rows[place], some.decisions[place], some.read(table))
        for place, table in enumerate(tables)
    ]
    measured = [each.survival for each in score(some, tables, [], k=5)]
    assert 0 < np.mean(measured) < 1
    assert np.mean(measured) == pytest.approx(of_evaluate(answers, some.schema, list(others), Target()))


# --- cells -----------------------------------------------------------------------------------------------

TABLES = replace(Plan.small("tables"), sets=("german",), black_boxes=("forest",))
SMALL = replace(TABLES, methods=("BCE-N",), ks=(2,), instances=2)


class Spent(Own):
    """A method that cannot be run again."""

    def run(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        raise AssertionError("The answers were there.")


def test_what_was_run_before_survival_was_measured_is_measured_and_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = SMALL.jobs()
    without, two = replace(SMALL, refits=0), replace(SMALL, refits=2)
    path = runner.path_of(without, tmp_path, job)
    assert runner.path_of(two, tmp_path, job) == path
    runner.work(without, job, path)
    assert runner.collect(without, tmp_path)["survival"].isna().all()
    _as_of_old(path)
    before = runner.collect(without, tmp_path)
    assert before["survival"].isna().all()
    own = METHODS["BCE-N"]
    assert isinstance(own, Own)
    monkeypatch.setattr(type(own), "run", Spent.run)
    runner.work(two, job, path)
    after = runner.collect(two, tmp_path)
    assert after["survival"].between(0, 1).all()
    pd.testing.assert_frame_equal(after.drop(columns="survival"), before.drop(columns="survival"))
    written = path.stat().st_mtime_ns
    runner.work(two, job, path)
    assert path.stat().st_mtime_ns == written


def _as_of_old(path: Path) -> None:
    """Take out of a cell's file what older ones do not have."""
    plain = json.loads(path.read_text())
    del plain["refits"]
    for scores in plain["scores"].values():
        for each in scores:
            del each["survival"]
    path.write_text(json.dumps(plain))


def test_images_and_series_have_no_refits() -> None:
    with pytest.raises(ValueError, match="refits must be at least 0, and 0 for images and series, got 1"):
        replace(Plan.small("series"), refits=1)


# --- what is shown ---------------------------------------------------------------------------------------


def test_each_method_has_its_survival_beside_its_distance() -> None:
    near = rows("Counterpoint", survival=0.25, dis_dist=0.5)
    near[0] |= {"survival": float("nan"), "dis_dist": float("nan")}  # an instance without an answer
    near[1] |= {"survival": 0.75, "dis_dist": 9.0}
    far = rows("FAT", survival=1.0, dis_dist=2.0)
    unmeasured = rows("NICE")
    table = survival(study(near, far, unmeasured), ["FAT", "NICE", "Counterpoint"])
    assert table["method"].tolist() == ["FAT", "Counterpoint"]
    # One of four cells has .75, the others .25; a single cell far away does not move the median.
    assert table["survival"].tolist() == [1.0, 0.375]
    assert table["median distance"].tolist() == [2.0, 0.5]
    assert table["instances"].tolist() == [8, 7]


def test_the_page_shows_it_and_ranks_nobody_by_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "save", save_without_drawing)
    assert "survival" not in NAMES
    whole_run(4).to_parquet(tmp_path / "new.parquet", index=False)
    whole_run(4).drop(columns="survival").to_parquet(tmp_path / "old.parquet", index=False)
    whole_run(5).drop(columns="survival").to_parquet(tmp_path / "old5.parquet", index=False)
    pages = {}
    for name, given in {"new": ["new"], "old": ["old"], "both": ["new", "old5"]}.items():
        (shown,) = recompute([tmp_path / f"{each}.parquet" for each in given], tmp_path / name)
        pages[name] = shown
    tables = {name: path.parent / "tables" for name, path in pages.items()}
    assert "no method is ranked by it" in pages["new"].read_text("utf-8")
    assert "trained again" not in pages["old"].read_text("utf-8")
    assert not (tables["old"] / "survival.csv").exists()
    table = pd.read_csv(tables["new"] / "survival.csv")
    assert set(table["survival"]) == {0.25}
    assert "+ whole pool" not in set(table["method"])
    pd.testing.assert_frame_equal(pd.read_csv(tables["both"] / "survival.csv"), table)
    for name in ("mean_ranks", "claims", "cells"):
        assert (tables["new"] / f"{name}.csv").read_bytes() == (tables["old"] / f"{name}.csv").read_bytes()


def test_where_it_is_not_measured_the_page_has_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "save", save_without_drawing)
    results = study(
        *(rows(name, "network", survival=float("nan")) for name in ("Counterpoint", "CEM", "CEGP"))
    )
    published.write(results, tmp_path / "small.parquet")
    accuracies = pd.DataFrame(columns=["set", "black_box", "accuracy", "paper"])
    page.write(
        TOPICS["images"], published.read(tmp_path / "small.parquet"), accuracies, tmp_path, "a command"
    )
    assert not (tmp_path / "tables" / "survival.md").exists()

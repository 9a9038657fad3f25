"""The study's black boxes: trained once and alike, kept, and ready for explainers; and how they are tuned."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from counterpoint.datasets import TABLES, Dataset, load
from counterpoint_study.models import training as blackboxes
from counterpoint_study.models import tuning
from counterpoint_study.models.training import KINDS, PAPER_ACCURACY, Trained, accuracies, build, train, tuned


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own models out of the tests, and the tests' out of the user's cache."""
    monkeypatch.setattr(blackboxes, "cache_folder", lambda: folder)


@pytest.fixture
def settings_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, object]], None]:
    """Have german's forest tuned otherwise."""

    def settle(settings: dict[str, object]) -> None:
        path = tmp_path / "tuned.json"
        path.write_text(json.dumps({"german": {"forest": {"settings": settings}}}))
        for module in (blackboxes, tuning):
            monkeypatch.setattr(module, "TUNED", path)

    return settle


@pytest.fixture
def quick_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have settings judged on few rows, and once."""
    for name, value in {"FOLDS": 2, "SEARCH_ROWS": 200, "JUDGED_ROWS": 1}.items():
        monkeypatch.setattr(tuning, name, value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_black_box_labels_test_rows_better_than_the_commonest_label(kind: str) -> None:
    trained = train("german", kind)
    test, truth = trained.data.X_test, trained.data.y_test
    assert trained.accuracy == (trained.model.predict(test) == truth).mean()
    assert trained.accuracy > 0.72  # 0.70 of the rows have the commonest label
    assert trained.model.predict_proba(test).shape == (300, 2)
    assert trained.model.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_black_box_is_trained_once_and_then_kept(kind: str, folder: Path) -> None:
    first = train("german", kind)
    path = folder / "models" / f"{first.key}.joblib"
    written = path.stat().st_mtime_ns
    second = train("german", kind)
    assert path.stat().st_mtime_ns == written
    assert second.key == first.key
    assert _shares(second) == pytest.approx(_shares(first), abs=0)
    assert not list(folder.glob("**/*.part"))


@pytest.mark.parametrize("kind", KINDS)
def test_training_anew_gives_the_same_black_box(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = train("german", kind)
    monkeypatch.setattr(blackboxes, "cache_folder", lambda: tmp_path)
    fresh = train("german", kind)
    assert fresh.key == kept.key
    assert _shares(fresh) == pytest.approx(_shares(kept), abs=0)


def test_other_settings_or_another_seed_are_another_black_box(
    settings_of: Callable[[dict[str, object]], None],
) -> None:
    settings_of({"n_estimators": 5, "max_depth": 3})
    small = train("german", "forest")
    assert len(small.model[-1].estimators_) == 5
    assert train("german", "forest", seed=1).key != small.key
    settings_of({"n_estimators": 6, "max_depth": 3})
    assert train("german", "forest").key != small.key


def test_instances_are_a_fixed_draw_of_test_rows() -> None:
    forest, network = (train("german", kind) for kind in KINDS)
    ten = forest.instances(10)
    assert ten.equals(forest.instances(30).iloc[:10])
    assert ten.equals(network.instances(10))
    assert len(ten.merge(forest.data.X_test, how="inner").drop_duplicates()) == 10
    with pytest.raises(ValueError, match=r"german has \d+ test instances, 301 were asked for"):
        forest.instances(301)


def test_instances_hold_only_categories_that_are_known() -> None:
    data = load("adult")
    rare = data.X_test["native_country"].iloc[0]
    without = data.X_train[data.X_train["native_country"] != rare]
    parts = {**vars(data), "X_train": without}
    trained = Trained(Dataset(**parts), "forest", model=None, accuracy=np.nan, key="")
    with pytest.raises(ValueError, match="test instances"):
        trained.instances(len(data.X_test))
    assert rare not in set(trained.instances(500)["native_country"])


def test_the_schema_is_of_the_training_part() -> None:
    trained = train("german", "forest")
    assert trained.schema.names == tuple(trained.known.columns)
    fixed = set(range(20)) - set(trained.schema.actionable)
    assert {trained.schema.names[place] for place in fixed} == set(trained.data.immutable)


def test_accuracies_stand_beside_the_papers() -> None:
    table = accuracies(["german"])
    assert table.columns.tolist() == ["set", "black_box", "accuracy", "paper"]
    assert table["black_box"].tolist() == list(KINDS)
    assert table["paper"].tolist() == [0.76, 0.81]
    assert table["accuracy"].iloc[0] == train("german", "forest").accuracy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_every_black_box_is_tuned(name: str, kind: str) -> None:
    settings = tuned(name, kind)
    made = build(kind, (), settings, seed=3)
    parameters = (made if kind == "network" else made[-1]).get_params()
    assert parameters.items() >= settings.items()
    assert parameters.get("n_jobs") is None
    assert 0 < PAPER_ACCURACY[name, kind] < 1


def test_what_is_unknown_is_named() -> None:
    with pytest.raises(ValueError, match="got 'tree'"):
        train("german", "tree")
    with pytest.raises(ValueError, match="got 'tree'"):
        build("tree", (), {}, seed=0)
    with pytest.raises(ValueError, match="known data set, got 'iris'"):
        train("iris", "forest")
    with pytest.raises(ValueError, match=r"run python -m counterpoint_study\.models\.tuning iris"):
        tuned("iris", "forest")


@pytest.mark.usefixtures("quick_search")
def test_a_search_gives_the_best_of_its_draws(capsys: pytest.CaptureFixture[str]) -> None:
    data = load("german")
    blind = Dataset(**{**vars(data), "X_test": None, "y_test": None})  # type: ignore[arg-type]
    best = tuning.search(blind, "network", draws=3)
    assert 0.6 < best.cv_accuracy < 1
    choices = tuning.space("network", features=20)
    assert all(value in choices[name] for name, value in best.settings.items())
    said = [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    assert len(said) == 3
    assert max(said, key=lambda line: float(line[:6])) == f"{best.cv_accuracy:.4f} {best.settings}"
    with pytest.raises(ValueError, match="at least 1, got 0"):
        tuning.search(data, "forest", draws=0)


@pytest.mark.usefixtures("quick_search")
def test_tuning_writes_one_set_down_and_leaves_the_others(
    settings_of: Callable[[dict[str, object]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings_of({"n_estimators": 5})
    monkeypatch.setitem(tuning.DRAWS, "compas", 1)
    tuning.tune(["compas"])
    assert tuned("german", "forest") == {"n_estimators": 5}
    assert build("forest", (), tuned("compas", "forest"), seed=0)
    assert tuned("compas", "network")["hidden"]


def _shares(trained: Trained) -> np.ndarray:
    shares: np.ndarray = trained.model.predict_proba(trained.data.X_test)
    return shares


def test_accuracies_are_those_of_the_seed_and_the_black_boxes_that_are_asked_for() -> None:
    table = accuracies(("german",), ("forest",), seed=1)
    assert table[["set", "black_box"]].values.tolist() == [["german", "forest"]]
    assert table["accuracy"].item() == train("german", "forest", seed=1).accuracy
    assert table["accuracy"].item() != train("german", "forest", seed=0).accuracy

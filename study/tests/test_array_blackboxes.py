"""The study's black boxes of images and series: trained once, kept, and ready for explainers."""

import json
from pathlib import Path

import numpy as np
import pytest

from counterpoint.datasets import IMAGES, SERIES, load
from counterpoint_study.models import training as blackboxes
from counterpoint_study.models.convolution import ConvNetwork
from counterpoint_study.models.training import (
    PAPER_ACCURACY,
    TrainedOnArrays,
    accuracies,
    kinds,
    train,
    tuned,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own models out of the tests, and the tests' out of the user's cache."""
    monkeypatch.setattr(blackboxes, "cache_folder", lambda: folder)


@pytest.fixture
def power() -> TrainedOnArrays:
    return train("power", "network")


def test_a_network_labels_series_as_well_as_it_says(power: TrainedOnArrays) -> None:
    data = power.data
    assert power.accuracy == np.mean(power.model.predict(data.X_test) == data.y_test)
    assert power.accuracy > 0.9  # half of the series have the commonest label
    assert power.model.classes_.tolist() == data.classes.tolist()
    assert power.known is data.X_train


def test_a_network_is_trained_once_and_then_kept(power: TrainedOnArrays, folder: Path) -> None:
    path = folder / "models" / f"{power.key}.joblib"
    written = path.stat().st_mtime_ns
    again = train("power", "network")
    assert path.stat().st_mtime_ns == written
    assert (again.key, again.accuracy) == (power.key, power.accuracy)
    X = power.instances(20)
    assert (again.model.predict_proba(X) == power.model.predict_proba(X)).all()


def test_other_settings_or_another_seed_are_another_network(
    power: TrainedOnArrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "tuned.json"
    path.write_text(json.dumps({"power": {"network": {"settings": {"epochs": 1}}}}))
    monkeypatch.setattr(blackboxes, "TUNED", path)
    keys = {power.key, train("power", "network").key, train("power", "network", seed=1).key}
    assert len(keys) == 3


def test_instances_are_a_fixed_draw_of_the_test_part(power: TrainedOnArrays) -> None:
    ten = power.instances(10)
    assert ten.shape == (10, 24)
    assert ten.dtype == power.data.X_test.dtype
    assert (ten == power.instances(30)[:10]).all()
    assert all((power.data.X_test == x).all(axis=1).any() for x in ten)
    assert len(np.unique(ten, axis=0)) == 10
    with pytest.raises(ValueError, match="power has 1029 test instances, 1030 were asked for"):
        power.instances(1030)


def test_accuracies_stand_beside_the_papers(power: TrainedOnArrays) -> None:
    table = accuracies(["power"])
    assert table.to_dict("records") == [
        {"set": "power", "black_box": "network", "accuracy": power.accuracy, "paper": 0.98}
    ]


@pytest.mark.parametrize("name", [*IMAGES, *SERIES])
def test_every_network_is_tuned(name: str) -> None:
    settings = tuned(name, "network")
    assert ConvNetwork(**settings).get_params().items() >= settings.items()
    assert 0 < PAPER_ACCURACY[name, "network"] < 1
    assert kinds(name) == ("network",)


def test_there_are_no_forests_for_arrays() -> None:
    with pytest.raises(ValueError, match=r"one of \['network'\], got 'forest'"):
        train("power", "forest")


def test_the_data_decides_the_key() -> None:
    data = load("power")
    changed = type(data)(**{**vars(data), "X_train": data.X_train + 1e-9})
    assert blackboxes._array_key(changed, {}, 0) != blackboxes._array_key(data, {}, 0)

"""The dense network: what it learns, what it leaves alone, and that others can rebuild it."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from counterpoint_study.models import dense_blueprint as blueprints
from counterpoint_study.models.dense import Blueprint, Column, DenseNetwork
from counterpoint_study.peers.worker import blueprint as worker


def people(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "job": rng.choice(["clerk", "artist", "nurse"], count),
            "income": rng.normal(3000, 800, count),
        }
    )


def decisions(frame: pd.DataFrame) -> pd.Series:
    """Three classes; what age says depends on the job, so no single column gives it away."""
    old = frame["age"] > 48
    return pd.Series(np.where(frame["job"] == "artist", "maybe", np.where(old, "yes", "no")), frame.index)


@pytest.fixture(scope="module")
def network() -> DenseNetwork:
    frame = people(600)
    return DenseNetwork(hidden=(16, 8), dropout=0.1, learning_rate=0.01).fit(frame, decisions(frame))


def test_learns_numbers_and_categories_of_several_classes(network: DenseNetwork) -> None:
    fresh = people(500, seed=1)
    assert network.classes_.tolist() == ["maybe", "no", "yes"]
    assert network.score(fresh, decisions(fresh)) > 0.93


def test_the_label_is_the_likeliest_class(network: DenseNetwork) -> None:
    fresh = people(50, seed=1)
    shares = network.predict_proba(fresh)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (network.predict(fresh) == network.classes_[shares.argmax(axis=1)]).all()


def test_no_scores_are_too_large_for_the_softmax() -> None:
    columns = (Column("x", None),)
    steep = Blueprint(columns, ((np.array([[1e6, -1e6]]), np.zeros(2)),))
    assert steep.predict_proba(pd.DataFrame({"x": [1.0, -1.0]})).tolist() == [[1, 0], [0, 1]]


def test_the_seed_decides_all() -> None:
    frame = people(100)

    def weights(seed: int) -> np.ndarray:
        network = DenseNetwork(hidden=(6,), dropout=0.3, epochs=3, seed=seed).fit(frame, decisions(frame))
        return network.blueprint().layers[0][0]

    first = weights(1)
    torch.manual_seed(99)
    assert (weights(1) == first).all()
    assert not np.allclose(weights(2), first)


def test_torch_is_left_as_it_was() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    frame = people(50)
    DenseNetwork(hidden=(4,), dropout=0.5, epochs=2).fit(frame, decisions(frame))
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


def test_a_row_is_answered_alike_alone_and_among_many(network: DenseNetwork) -> None:
    many = people(2 * blueprints.BLOCK + 7, seed=2)
    together = network.predict_proba(many)
    for place in (0, blueprints.BLOCK - 1, blueprints.BLOCK, len(many) - 1):
        alone = network.predict_proba(many.iloc[[place]])
        assert np.allclose(alone, together[place], rtol=0, atol=1e-13)


def test_no_rows_have_no_labels(network: DenseNetwork) -> None:
    assert network.predict(people(5).iloc[:0]).shape == (0,)
    assert network.predict_proba(people(5).iloc[:0]).shape == (0, 3)


def test_numbers_are_standardised_and_levels_sorted(network: DenseNetwork) -> None:
    age, job, income = network.blueprint().columns
    assert job == Column("job", ("artist", "clerk", "nurse"))
    encoded = network.blueprint().encode(people(600))
    assert np.allclose(encoded[:, [0, 4]].mean(axis=0), 0)
    assert np.allclose(encoded[:, [0, 4]].std(axis=0), 1)
    assert (age.levels, income.levels) == (None, None)


def test_what_is_new_or_missing_says_nothing(network: DenseNetwork) -> None:
    row = pd.DataFrame({"age": [np.nan], "job": ["pilot"], "income": [None]}).astype({"income": float})
    assert network.blueprint().encode(row).tolist() == [[0, 0, 0, 0, 0]]
    assert network.blueprint().encode(row.assign(job=None))[0, 1:4].tolist() == [0, 0, 0]


@pytest.mark.parametrize("values", [[7, 7, 7], [np.nan, np.nan, np.nan]])
def test_a_column_that_never_varies_is_all_zeros(values: list[float]) -> None:
    series = pd.Series(values, name="x")
    assert (Column.of(series).encode(series) == 0).all()


def test_categories_may_be_of_any_type() -> None:
    series = pd.Series([10, 9, 10], name="zone", dtype="category")
    column = Column.of(series)
    assert column.levels == ("10", "9")
    assert column.encode(series).tolist() == [[1, 0], [0, 1], [1, 0]]


def test_columns_are_found_by_name(network: DenseNetwork) -> None:
    fresh = people(20, seed=3)
    shuffled = fresh[["income", "job", "age"]].assign(more=1)
    assert (network.predict_proba(shuffled) == network.predict_proba(fresh)).all()
    with pytest.raises(ValueError, match=r"lacks the columns \['age', 'job'\]"):
        network.predict(fresh[["income"]])


def test_a_saved_blueprint_is_what_a_worker_reads(network: DenseNetwork, tmp_path: Path) -> None:
    network.blueprint().save(tmp_path / "network")
    read = worker.Blueprint.load(tmp_path / "network")
    columns = tuple(Column(each.name, each.levels, each.mean, each.scale) for each in read.columns)
    assert columns == network.blueprint().columns
    fresh = people(30, seed=4)
    again = Blueprint(columns, read.layers)
    assert (again.predict_proba(fresh) == network.predict_proba(fresh)).all()


def test_torch_rebuilds_the_network_from_the_file_alone(network: DenseNetwork, tmp_path: Path) -> None:
    network.blueprint().save(tmp_path / "network.npz")
    file = np.load(tmp_path / "network.npz", allow_pickle=False)
    assert file["names"].tolist() == ["age", "job", "income"]
    assert [key for key in file if key.startswith("levels")] == ["levels_1"]
    fresh = people(40, seed=5)
    signal = np.zeros((40, 5))
    signal[:, 0] = (fresh["age"] - file["means"][0]) / file["scales"][0]
    signal[:, 1:4] = fresh["job"].to_numpy(dtype=object)[:, None] == file["levels_1"].astype(object)
    signal[:, 4] = (fresh["income"] - file["means"][2]) / file["scales"][2]
    rebuilt = torch.from_numpy(signal)
    for place in range(3):
        rebuilt = rebuilt @ torch.from_numpy(file[f"weights_{place}"])
        rebuilt = rebuilt + torch.from_numpy(file[f"biases_{place}"])
        rebuilt = rebuilt.relu() if place < 2 else rebuilt.softmax(dim=1)
    assert np.allclose(rebuilt.numpy(), network.predict_proba(fresh))


def test_is_an_estimator_like_others(network: DenseNetwork) -> None:
    twin = clone(network)
    assert twin.get_params() == network.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(people(3))
    fresh = people(10, seed=6)
    kept = pickle.loads(pickle.dumps(network))
    assert (kept.predict(fresh) == network.predict(fresh)).all()


def test_bad_labels_are_named() -> None:
    with pytest.raises(ValueError, match=r"two classes, got only \['yes'\]"):
        DenseNetwork().fit(people(3), ["yes"] * 3)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        DenseNetwork().fit(people(3), ["yes", "no"])


def test_without_torch_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'counterpoint\[torch\]'"):
        DenseNetwork().fit(people(9), decisions(people(9)))


def test_a_trained_network_answers_without_torch(network: DenseNetwork, tmp_path: Path) -> None:
    path = tmp_path / "network.pickle"
    path.write_bytes(pickle.dumps((network, people(3))))
    program = (
        "import pickle, sys; network, rows = pickle.load(open(sys.argv[1], 'rb')); "
        "print(*network.predict(rows), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*network.predict(people(3)), "False"]

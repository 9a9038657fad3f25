"""The data sets of the paper's experiments, ready to be learned from and explained.

No data comes with the library: a raw file is found or downloaded when its data set is first loaded, and kept
in the user's cache folder. For work offline, put the raw files into a folder and name it in the environment
variable ``COUNTERPOINT_DATA``.
"""

from counterpoint.datasets.fetch import DatasetError
from counterpoint.datasets.tables import TABLES, Dataset

__all__ = ["NAMES", "Dataset", "DatasetError", "load"]

NAMES: tuple[str, ...] = tuple(TABLES)
"""What can be loaded."""


def load(name: str, *, seed: int = 0) -> Dataset:
    """Load a data set, split 70/30 with the classes in equal shares.

    Parameters
    ----------
    name
        ``"adult"``, ``"compas"``, ``"fico"`` or ``"german"``.
    seed
        Decides which rows are in which part of the split.

    Returns
    -------
    Dataset
        All rows, their labels, the split, and which features are categories or may not change.

    Raises
    ------
    ValueError
        If there is no data set of that name.
    DatasetError
        If its raw file cannot be had.

    Examples
    --------
    >>> from counterpoint.datasets import load
    >>> german = load("german")
    >>> german.X_train.shape, german.X_test.shape
    ((700, 20), (300, 20))
    >>> german.y.value_counts().to_dict()
    {0: 700, 1: 300}
    """
    if name not in TABLES:
        raise ValueError(f"name must be a known data set, got {name!r}. Known: {list(NAMES)}.")
    return TABLES[name].load(name, seed)

"""The study's black boxes, trained once and kept: a forest and a network for a table, a network for arrays.

Their settings are in `tuned.json`. Those for tables were found by `tuning`. Those for images and series were
chosen by hand; that for power was chosen among 53 by cross-validation. No test instance was used for any.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast, overload

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint._util.atomic import replacing
from counterpoint.datasets import IMAGES, SERIES, TABLES, ArrayDataset, ArrayName, Dataset, TableName, load
from counterpoint.datasets.fetch import cache_folder
from counterpoint_study.models.convolution import ConvNetwork
from counterpoint_study.models.dense import DenseNetwork

KINDS = ("forest", "network")
"""The kinds of black box. Images and series have the network only."""

PAPER_ACCURACY: Mapping[tuple[str, str], float] = {
    ("adult", "forest"): 0.85,
    ("adult", "network"): 0.84,
    ("compas", "forest"): 0.56,
    ("compas", "network"): 0.61,
    ("fico", "forest"): 0.68,
    ("fico", "network"): 0.67,
    ("german", "forest"): 0.76,
    ("german", "network"): 0.81,
    ("mnist", "network"): 0.99,
    ("fashion", "network"): 0.97,
    ("gunpoint", "network"): 0.72,
    ("power", "network"): 0.98,
    ("ecg200", "network"): 0.76,
}
"""The share of test instances that the paper's own black boxes label rightly, by data set and kind."""

TUNED = Path(__file__).with_name("tuned.json")

# What a kind's training depends on, beside its settings and data.
PACKAGES = {"forest": ("scikit-learn",), "network": ("torch",)}

# The order in which test rows are taken; the same for every black box, so that all explain the same rows.
ORDER_SEED = 0

Settings: TypeAlias = Mapping[str, Any]
Data = TypeVar("Data", Dataset, ArrayDataset)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Trained(Generic[Data]):
    """A data set and a black box trained on its training part.

    Parameters
    ----------
    data
        The data set.
    kind
        ``"forest"`` or ``"network"``.
    model
        The black box: has ``predict``, ``predict_proba`` and ``classes_``, and takes instances as the data
        set has them.
    accuracy
        The share of test instances that it labels rightly.
    key
        Names the data, the settings and the versions that the model comes from, for caches.
    """

    data: Data
    kind: str
    model: Any
    accuracy: float
    key: str

    def _drawn(self, count: int, total: int) -> NDArray[np.intp]:
        """Draw places of test instances; a smaller draw is the beginning of a larger one."""
        if count > total:
            raise ValueError(f"{self.data.name} has {total} test instances, {count} were asked for.")
        return np.random.default_rng(ORDER_SEED).permutation(total)[:count]


class Trained(_Trained[Dataset]):
    """A table and a black box trained on its training part, which takes frames."""

    @property
    def known(self) -> pd.DataFrame:
        """The known instances: what the model was trained on."""
        return self.data.X_train

    @cached_property
    def schema(self) -> cp.Schema:
        """What the known instances show of each feature, with the paper's immutable ones."""
        return cp.Schema.infer(self.known, categorical=self.data.categorical, immutable=self.data.immutable)

    def instances(self, count: int) -> pd.DataFrame:
        """Draw test instances; a smaller draw is the beginning of a larger one."""
        test = self.data.X_test
        for name in self.data.categorical:
            # No explainer here takes a category that the known instances do not have.
            test = test[test[name].isin(self.known[name].unique())]
        return test.iloc[self._drawn(count, len(test))].reset_index(drop=True)


class TrainedOnArrays(_Trained[ArrayDataset]):
    """Images or series and a network trained on their training part, which takes arrays."""

    @property
    def known(self) -> NDArray[Any]:
        """The known instances: what the model was trained on."""
        return self.data.X_train

    def instances(self, count: int) -> NDArray[Any]:
        """Draw test instances; a smaller draw is the beginning of a larger one."""
        test = self.data.X_test
        drawn: NDArray[Any] = test[self._drawn(count, len(test))]
        return drawn


AnyTrained: TypeAlias = Trained | TrainedOnArrays


@overload
def train(name: TableName, kind: str, seed: int = 0, settings: Settings | None = None) -> Trained: ...
@overload
def train(name: ArrayName, kind: str, seed: int = 0, settings: Settings | None = None) -> TrainedOnArrays: ...
@overload
def train(name: str, kind: str, seed: int = 0, settings: Settings | None = None) -> AnyTrained: ...
def train(name: str, kind: str, seed: int = 0, settings: Settings | None = None) -> AnyTrained:
    """Train a black box with its tuned settings, or take it from the user's cache folder.

    Parameters
    ----------
    name
        The data set, one of `counterpoint.datasets.NAMES`.
    kind
        ``"forest"`` or ``"network"``; images and series have the network only.
    seed
        Decides the split of a table and everything random in the training.
    settings
        What the black box is made with, instead of its tuned settings.

    Examples
    --------
    >>> credit = train("german", "forest")
    >>> credit.model.predict(credit.instances(3)).shape
    (3,)
    """
    data = load(name, seed=seed)
    settings = tuned(name, kind) if settings is None else settings
    if isinstance(data, ArrayDataset):
        return _train_on_arrays(data, kind, seed, settings)
    return _train_on_table(data, kind, seed, settings)


def _train_on_table(data: Dataset, kind: str, seed: int, settings: Settings) -> Trained:
    key = _key(data, kind, settings, seed)
    model = _kept(key, lambda: build(kind, data.categorical, settings, seed).fit(data.X_train, data.y_train))
    accuracy = float(np.mean(model.predict(data.X_test) == data.y_test.to_numpy()))
    return Trained(data, kind, model, accuracy, key)


def _train_on_arrays(data: ArrayDataset, kind: str, seed: int, settings: Settings) -> TrainedOnArrays:
    def fit() -> tuple[ConvNetwork, float]:
        model = ConvNetwork(**settings, seed=seed).fit(data.X_train, data.y_train)
        return model, float(model.score(data.X_test, data.y_test))

    key = _array_key(data, settings, seed)
    # The accuracy is kept as well: the labels of 10,000 images take seconds.
    model, accuracy = _kept(key, fit)
    return TrainedOnArrays(data, kind, model, accuracy, key)


def accuracies(names: Sequence[str] = TABLES, boxes: Sequence[str] = KINDS, seed: int = 0) -> pd.DataFrame:
    """Compare the black boxes of a seed with the paper's own, on test instances.

    Returns
    -------
    pandas.DataFrame
        A row for each black box, with the columns set, black_box, accuracy and paper.
    """
    rows = [
        (name, kind, train(name, kind, seed=seed).accuracy, PAPER_ACCURACY[name, kind])
        for name in names
        for kind in kinds(name)
        if kind in boxes
    ]
    return pd.DataFrame(rows, columns=["set", "black_box", "accuracy", "paper"])


def kinds(name: str) -> tuple[str, ...]:
    """List the kinds of black box that a data set has.

    Examples
    --------
    >>> kinds("german"), kinds("mnist")
    (('forest', 'network'), ('network',))
    """
    return ("network",) if name in (*IMAGES, *SERIES) else KINDS


def build(kind: str, categorical: Sequence[str], settings: Settings, seed: int) -> Any:
    """Make an untrained black box for a table.

    Parameters
    ----------
    kind
        ``"forest"`` or ``"network"``.
    categorical
        Names of the features that are categories.
    settings
        What `RandomForestClassifier` or `DenseNetwork` is to be made with.
    seed
        Decides everything random in the training.
    """
    if kind == "forest":
        return _forest(categorical, settings, seed)
    if kind == "network":
        return DenseNetwork(**settings, seed=seed)
    raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")


def tuned(name: str, kind: str) -> dict[str, Any]:
    """Look up the settings that were found for a black box.

    Examples
    --------
    >>> tuned("german", "tree")
    Traceback (most recent call last):
        ...
    ValueError: kind must be one of ['forest', 'network'], got 'tree'.
    """
    if kind not in kinds(name):
        raise ValueError(f"kind must be one of {list(kinds(name))}, got {kind!r}.")
    found = json.loads(TUNED.read_text(encoding="utf-8")).get(name, {})
    if kind not in found:
        raise ValueError(
            f"No settings for {name}'s {kind}: run python -m counterpoint_study.models.tuning {name}."
        )
    settings: dict[str, Any] = found[kind]["settings"]
    return settings


def _forest(categorical: Sequence[str], settings: Settings, seed: int) -> Pipeline:
    encoder = OneHotEncoder(handle_unknown="ignore")
    # Never sparse: the trees are the same, and learning adult's takes two thirds of the time.
    columns = make_column_transformer(
        (encoder, list(categorical)), remainder="passthrough", sparse_threshold=0.0
    )
    return make_pipeline(columns, RandomForestClassifier(**settings, random_state=seed))


def _key(data: Dataset, kind: str, settings: Settings, seed: int) -> str:
    """Name a table's model by all that decides what it learns."""
    digest = hashlib.sha256()
    for part in (data.X_train, data.y_train):
        digest.update(pd.util.hash_pandas_object(part).to_numpy().tobytes())
    versions = _versions(kind)
    digest.update(json.dumps([list(data.X_train.columns), settings, seed, versions], sort_keys=True).encode())
    return f"{data.name}-{kind}-{digest.hexdigest()[:12]}"


def _array_key(data: ArrayDataset, settings: Settings, seed: int) -> str:
    """Name a network for arrays by all that decides what it learns."""
    digest = hashlib.sha256()
    for part in (data.X_train, data.y_train, data.X_test, data.y_test):
        digest.update(np.ascontiguousarray(part).data)
    versions = _versions("network")
    digest.update(json.dumps([data.X_train.shape, settings, seed, versions], sort_keys=True).encode())
    return f"{data.name}-network-{digest.hexdigest()[:12]}"


def _versions(kind: str) -> list[str]:
    """List what else decides whether a cached model fits: a pickle names the modules of its classes."""
    return [__package__ or "", cp.__version__, *map(_version, PACKAGES[kind])]


def _version(package: str) -> str:
    """Tell an installed package's version, or how to install it."""
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise ImportError(f"The network needs {package}: pip install 'counterpoint[{package}]'") from error


def _kept(key: str, fit: Callable[[], Any]) -> Any:
    return kept(cache_folder() / "models" / f"{key}.joblib", fit)


def kept(path: Path, make: Callable[[], T], fresh: bool = False, compress: int = 0) -> T:
    """Read what was made before, or make it and write it so that other processes see all of it or nothing.

    With `compress`, from 1 to 9, it takes less space and more time.
    """
    if path.exists() and not fresh:
        return cast(T, joblib.load(path))
    thing = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        joblib.dump(thing, file, compress=compress)
    return thing

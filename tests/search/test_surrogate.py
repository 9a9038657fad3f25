"""The surrogate's word on single changes is the one it has on whole rows, and costs little."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.single_changes import Singles
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Task


def task(people: pd.DataFrame, count: int) -> Task:
    """Ask about the first people of a table who are decided alike."""

    def decide(table: pd.DataFrame) -> np.ndarray:
        return (table["job"].str[1:].astype(int) % 2 == 0).to_numpy() | (table["age"] > 50).to_numpy()

    fitted = cp.Neighbours().fit(decide, people).fitted_
    alike = np.flatnonzero(~fitted.known.labels)[:count]
    return fitted.task(fitted.known.rows[alike], fitted.known.labels[alike], stream=(0,))


def people(jobs: int, size: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, size).astype(float)
    age[rng.uniform(size=size) < 0.1] = np.nan
    return pd.DataFrame(
        {"age": age, "job": [f"j{i}" for i in rng.permutation(size) % jobs], "debt": rng.normal(size=size)}
    )


def test_the_gain_of_a_change_is_the_difference_of_scores() -> None:
    asked = task(people(jobs=7, size=300), count=12)
    singles, surrogate = Singles.of(asked, bins=10), Surrogate.of(asked)
    gain = surrogate.gain(singles.values, asked.x[:, singles.feature], singles.feature)
    for one in range(len(asked)):
        instance = np.full(len(singles.feature), one)
        rows = singles.rows(asked, instance, np.arange(len(instance)))
        difference = surrogate.score(rows) - surrogate.score(asked.x[[one]])
        assert gain[one] == pytest.approx(difference)
    assert np.ptp(gain) > 1


def test_a_feature_of_thousands_of_categories_takes_little_memory() -> None:
    asked = task(people(jobs=3000, size=6000), count=30)
    singles, surrogate = Singles.of(asked, bins=10), Surrogate.of(asked)
    assert singles.values.shape[1] > 1000
    tracemalloc.start()
    surrogate.gain(singles.values, asked.x[:, singles.feature], singles.feature)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30e6

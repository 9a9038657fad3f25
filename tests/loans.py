"""Tables of people who want loans, and models that decide about them."""

import numpy as np
import pandas as pd
import polars as pl

import counterpoint as cp

LEVELS = ["school", "college", "doctorate"]
EDUCATION = pd.CategoricalDtype(LEVELS, ordered=True)
ENSEMBLE_AND_PARTS = [
    cp.Ensemble(),
    cp.BruteForce(features=2),
    cp.Tree(),
    cp.Sphere(),
    cp.Neighbours(),
    cp.CaseBased(),
]
TABLES = {
    "float": np.random.default_rng(0).normal(size=(80, 3)),
    "float32": np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32),
    "int": np.random.default_rng(0).integers(-9, 9, size=(80, 3)),
    "small int": np.random.default_rng(0).integers(-9, 9, size=(80, 3)).astype(np.int8),
    "object": np.column_stack(
        [
            np.random.default_rng(0).normal(size=80).astype(object),
            np.random.default_rng(1).integers(-3, 3, size=80).astype(object),
            np.random.default_rng(2).choice(["a", "b"], size=80).astype(object),
        ]
    ),
}


def people(size=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=size),
            "income": rng.normal(50, 15, size=size),
            "job": rng.choice(["clerk", "smith", "cook"], size=size),
            "owner": rng.uniform(size=size) < 0.5,
            "education": pd.Categorical(rng.choice(LEVELS[:2], size=size), dtype=EDUCATION),
        }
    )


def polars_people(size=200):
    frame = people(size)
    columns = {name: frame[name].tolist() for name in frame.columns}
    return pl.DataFrame(columns).with_columns(pl.col("education").cast(pl.Enum(LEVELS)))


def decide(frame):
    """Grant a loan by income and age, more easily to smiths; for pandas and polars frames."""
    income, age, job = (frame[name].to_numpy() for name in ("income", "age", "job"))
    return np.where(income + age / 2 + 10 * (job == "smith") > 80, "granted", "refused")


def decide_array(rows):
    return np.where(rows[:, 0].astype(float) + rows[:, 1].astype(float) > 0, "high", "low")


def refused(frame=None):
    frame = people() if frame is None else frame
    return frame[decide(frame) == "refused"].reset_index(drop=True)


class Spy:
    """A model that remembers the tables it was given."""

    def __init__(self, model):
        self.model = model
        self.tables = []

    def predict(self, table):
        self.tables.append(table)
        return self.model(table)


def grade(frame):
    return np.array(["A", "B", "C", "D"])[np.digitize(frame["income"], [40, 50, 60])]


def probability(frame):
    return 1 / (1 + np.exp(-(frame["income"].to_numpy() - 50) / 10))

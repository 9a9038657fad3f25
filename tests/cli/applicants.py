"""A small table of applicants, a rule that decides on them, and a model of it."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


def applicants(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "amount": rng.uniform(500, 9000, count).round(2),
            "duration": rng.integers(6, 60, count),
            "job": rng.choice(["clerk", "smith", "nurse"], count),
            "sex": rng.choice(["f", "m"], count),
        }
    )


def decisions(table: pd.DataFrame) -> np.ndarray:
    score = table["amount"] / 4000 + table["duration"] / 40 - (table["job"] == "nurse") / 2
    return np.where(score > 2.2, "refused", "granted")


def trained(table: pd.DataFrame) -> Pipeline:
    coding = make_column_transformer((OneHotEncoder(), ["job", "sex"]), remainder=StandardScaler())
    return make_pipeline(coding, LogisticRegression()).fit(table, decisions(table))

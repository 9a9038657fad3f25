"""What all engines are tested with: loans, a forest that decides about them, and rows with traps."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp

LEVELS = pd.CategoricalDtype(["school", "college", "doctorate"], ordered=True)


def loans(size: int, seed: int = 0) -> pd.DataFrame:
    """Make up people who want a loan; `education` is a category."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size),
            "income": rng.normal(50, 15, size).round(2),
            "job": rng.choice(["clerk", "smith", "cook"], size),
            "owner": rng.uniform(size=size) < 0.5,
            "education": pd.Categorical(rng.choice(LEVELS.categories[:2], size), dtype=LEVELS),
        }
    )


def numbers(frame: pd.DataFrame) -> np.ndarray:
    """Turn people into numbers; the codes of categories need their dtype."""
    return np.column_stack(
        [frame["age"], frame["income"], frame["job"] == "smith", frame["education"].cat.codes]
    )


class Forest:
    """A forest that fails on an income of 666, and kills its worker once at an income of 777."""

    def __init__(self, mark: Path | None = None) -> None:
        known = loans(400)
        truth = known["income"] + known["age"] / 2 + 10 * (known["job"] == "smith") > 80
        labels = np.where(truth, "granted", "refused")
        self.forest = RandomForestClassifier(10, random_state=0).fit(numbers(known), labels)
        self.mark, self.parent = mark, os.getpid()

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        if not isinstance(frame["education"].dtype, pd.CategoricalDtype):
            raise TypeError("education must be a category")
        if (frame["income"] == 666.0).any():
            raise RuntimeError("no 666")
        deadly = (frame["income"] == 777.0).any() and os.getpid() != self.parent
        if deadly and self.mark is not None and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.forest.predict(numbers(frame))


def fitted(mark: Path | None = None) -> cp.Explainer:
    """Fit a quick explainer."""
    return cp.Neighbours().fit(Forest(mark), loans(400), immutable=["age"], progress=False)


def rows(size: int) -> pd.DataFrame:
    """Make rows to explain: one that the model fails on, one that is invalid, and ids that are no index."""
    frame = loans(size, seed=7)
    frame.insert(0, "application", [f"a{i:06}" for i in range(size)])
    frame["job"] = frame["job"].astype(object)
    frame.loc[3, "income"] = 666.0
    frame.loc[5, "job"] = "king"
    frame["job"] = frame["job"].astype("str")
    return frame


def in_order(frame: pd.DataFrame) -> pd.DataFrame:
    """Bring answers into one order; engines give partitions in any."""
    return frame.sort_values(["application", "counterfactual"], ignore_index=True)


def same(found: pd.DataFrame, one_process: pd.DataFrame) -> None:
    """Check that answers are equal to the last bit, and that the traps are reported."""
    pd.testing.assert_frame_equal(in_order(found), in_order(one_process), check_exact=True, check_dtype=False)
    states = found.drop_duplicates("application").set_index("application")["status"]
    assert states["a000003"] == "failed"
    assert states["a000005"] == "invalid"
    assert (states.drop(["a000003", "a000005"]) == "found").all()

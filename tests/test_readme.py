"""The examples in the README and the contributing guide run as they stand."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]


def blocks(name: str) -> list[str]:
    """Find the Python examples of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)


def applicants(count: int) -> pd.DataFrame:
    """Make a table with the features that the examples speak of."""
    rng = np.random.default_rng(0)
    schools = pd.CategoricalDtype(["school", "college", "university"], ordered=True)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 70, count),
            "sex": rng.choice(["f", "m"], count),
            "amount": rng.integers(600, 19_000, count),
            "duration": rng.integers(6, 60, count),
            "rate": rng.uniform(1, 6, count).round(2),
            "purpose": rng.choice(["car", "furniture"], count),
            "education": pd.Series(rng.choice(schools.categories, count), dtype=schools),
        }
    )


class Bank:
    """Grants small credits for a short time."""

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        small = table["amount"] / 10_000 + table["duration"] / 40 - table["education"].cat.codes / 5 < 1.5
        return np.where(small, "granted", "refused")


def test_the_readme_runs() -> None:
    X_train, X_test, model = applicants(400), applicants(40), Bank()
    refused = np.flatnonzero(model.predict(X_test) == "refused")
    names = {"model": model, "X_train": X_train, "X_test": X_test, "x": X_test.iloc[[refused[0]]]}
    for block in blocks("README.md"):
        exec(block, names)
    assert names["explanation"].sentences()
    assert len(names["explanations"]) == 40


def test_the_contributing_guide_runs() -> None:
    (block,) = blocks("CONTRIBUTING.md")
    names: dict[str, object] = {"__name__": "guide"}
    exec(block, names)
    assert "Mixture" in names

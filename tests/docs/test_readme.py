"""The examples in the README and the contributing guide run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROOT = Path(__file__).parents[2]


def blocks(name: str, language: str = "python") -> list[str]:
    """Find the examples of a page."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


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


@pytest.mark.parametrize("kind", [LogisticRegression(), RandomForestClassifier(50, random_state=0)])
def test_three_commands_lead_from_a_csv_and_a_skops_file_to_a_report(tmp_path: Path, kind: Any) -> None:
    table = applicants(300).drop(columns="education")
    granted = np.where(table["amount"] / 10_000 + table["duration"] / 40 < 1.5, "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["sex", "purpose"]), remainder=StandardScaler())
    model = make_pipeline(encoder, kind).fit(table, granted)
    skops.io.dump(model, tmp_path / "credit.skops")
    table.assign(granted=granted).to_csv(tmp_path / "train.csv", index=False)
    refused = table[model.predict(table) == "no"]
    refused.head(30).to_csv(tmp_path / "refused.csv", index=False)
    (tmp_path / "applicant.json").write_text(refused.iloc[0].to_json())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (block,) = blocks("README.md", "sh")
    commands = block.strip().splitlines()
    assert len(commands) == 3
    for command in commands:
        subprocess.run(command, shell=True, check=True, cwd=tmp_path, env={**os.environ, "PATH": path})
    found = pd.read_csv(tmp_path / "found.csv")
    assert (model.predict(found[table.columns]) == "yes").all()
    assert "Costs by group" in (tmp_path / "found.html").read_text(encoding="utf-8")


def test_the_contributing_guide_runs() -> None:
    (block,) = blocks("CONTRIBUTING.md")
    names: dict[str, object] = {"__name__": "guide"}
    exec(block, names)
    assert "Mixture" in names

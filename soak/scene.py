"""What a user has: tables, models and constraints in a folder, small enough for thousands of runs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import counterpoint as cp

NUMBERS = ["age", "amount", "months"]
TOML = "[columns.age]\nimmutable = true\n[columns.amount]\nrange = [500, 9000]\nincrease = false\n"
YAML = """\
columns:
  age: {immutable: true}
  amount: {range: [500, 9000]}
  job: &j {kind: category}
  sex: *j
"""


def people(count: int, seed: int) -> pd.DataFrame:
    """Draw a table of applicants."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "amount": rng.uniform(500, 9_000, count).round(2),
            "months": rng.integers(6, 60, count),
            "job": rng.choice(["clerk", "smith", "nurse"], count),
            "sex": rng.choice(["f", "m"], count),
        }
    )


def decide(table: Any) -> NDArray[Any]:
    """Refuse large or long loans: a model that needs no file."""
    score = table["amount"].to_numpy() / 4_000 + table["months"].to_numpy() / 40
    return np.where(score > 2, "refused", "granted")


MODEL = """
import numpy as np
def decide(table):
    score = table["amount"].to_numpy() / 4_000 + table["months"].to_numpy() / 40
    return np.where(score > 2, "refused", "granted")
"""


def make(folder: Path) -> int:
    """Write all kinds of inputs, each a file that works."""
    warnings.simplefilter("ignore")
    known, rows = people(120, 0), people(12, 1)
    rows = rows[decide(rows) == "refused"].reset_index(drop=True)
    (folder / "rule.py").write_text(MODEL)
    known.to_csv(folder / "known.csv", index=False)
    rows.to_csv(folder / "rows.csv", index=False)
    rows[:3].to_json(folder / "rows.json", orient="records")
    rows[:3].to_json(folder / "rows.jsonl", orient="records", lines=True)
    rows[:3].to_parquet(folder / "rows.parquet")
    rows[:3].to_feather(folder / "rows.arrow", compression="uncompressed")
    (folder / "limits.toml").write_text(TOML)
    (folder / "limits.yaml").write_text(YAML)
    _models(folder, known[NUMBERS], decide(known))
    fitted = cp.Ensemble(size=3).fit(decide, known, progress=False)
    cp.save(fitted, folder / "saved.cp")
    (folder / "answers.cpjson").write_text(fitted.explain_many(rows[:3], 2, progress=False).to_json())
    return 0


def _models(folder: Path, X: pd.DataFrame, y: NDArray[Any]) -> None:
    import lightgbm
    import skops.io
    import torch
    import xgboost
    from skl2onnx import to_onnx
    from sklearn.ensemble import RandomForestClassifier

    X.to_csv(folder / "numbers.csv", index=False)
    X[y == "refused"][:3].to_csv(folder / "few.csv", index=False)
    forest = RandomForestClassifier(3, max_depth=4, random_state=0, n_jobs=1).fit(X, y)
    skops.io.dump(forest, folder / "model.skops")
    single = X.to_numpy(dtype=np.float32)
    onnx = to_onnx(RandomForestClassifier(2, max_depth=3, n_jobs=1).fit(single, y), single[:1])
    (folder / "model.onnx").write_bytes(onnx.SerializeToString())
    truth = (y == "refused").astype(int)
    booster = xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, truth), 3)
    booster.save_model(folder / "model.json")
    booster.save_model(folder / "model.ubj")
    options = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    lightgbm.train(options, lightgbm.Dataset(X, truth), 3).save_model(folder / "model.txt")
    network = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    torch.jit.script(network).save(str(folder / "model.pt"))

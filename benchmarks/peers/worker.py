"""Run one peer on one job. A script for the peers' environment: ``python worker.py JOB_FOLDER``.

The folder holds ``job.json`` and the joblib files ``model``, ``train``, ``labels`` and ``test``. The script
adds ``answers.joblib`` (one frame per instance) and ``report.json`` (time, model calls and errors of each).

A peer runs with its library's defaults. What a peer cannot take is bridged here, and the time that the bridge
needs (turning the peer's rows into rows of the model's data frame) is not charged to the peer.
"""

import json
import random
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

Explain = Callable[[pd.DataFrame], pd.DataFrame]


# -- rows: X's data frame on one side, what a peer works with on the other ---


class Rows:
    """Convert between the model's data frames, code arrays, and the loosely typed frames of a peer."""

    def __init__(self, train: pd.DataFrame, test: pd.DataFrame, categorical: list[str]) -> None:
        self.dtypes = train.dtypes
        self.columns = list(train.columns)
        self.categorical = [name for name in self.columns if name in set(categorical)]
        self.continuous = [name for name in self.columns if name not in set(categorical)]
        self.seen = {name: train[name].nunique() for name in self.columns}
        self.levels = {name: _levels(train[name], test[name]) for name in self.categorical}
        # Peers turn categories into strings, so a category is recognised by its string.
        self.by_text = {name: {str(v): v for v in levels} for name, levels in self.levels.items()}
        self.codes = {name: {text: i for i, text in enumerate(d)} for name, d in self.by_text.items()}

    def encode(self, frame: pd.DataFrame) -> np.ndarray:
        """Return floats: a category's number, a continuous feature's value."""
        columns = []
        for name in self.columns:
            values = frame[name]
            if name in self.codes:
                values = values.map(lambda value, codes=self.codes[name]: codes[str(value)])
            columns.append(values.to_numpy(dtype=float))
        return np.column_stack(columns)

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Undo `encode`."""
        codes = np.asarray(codes, dtype=float)
        data = {}
        for j, name in enumerate(self.columns):
            if name in self.levels:
                data[name] = self._typed(name, self.levels[name][codes[:, j].astype(int)])
            else:
                data[name] = self._number(name, codes[:, j])
        return pd.DataFrame(data)

    def restore(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Give a peer's frame X's columns and dtypes again."""
        data = {}
        for name in self.columns:
            values = frame[name].to_numpy()
            if name in self.by_text:
                known = self.by_text[name]
                data[name] = self._typed(name, [known.get(str(value), value) for value in values])
            else:
                data[name] = self._number(name, values.astype(float))
        return pd.DataFrame(data)

    def texts(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with every category as a string."""
        return frame.assign(**{name: frame[name].map(str).astype(str) for name in self.categorical})

    def empty(self) -> pd.DataFrame:
        """Return a frame of X's columns and dtypes without rows."""
        return pd.DataFrame({name: pd.Series(dtype=self.dtypes[name]) for name in self.columns})

    def _typed(self, name: str, values: Any) -> pd.Series:
        return pd.Series(values, dtype=self.dtypes[name])

    def _number(self, name: str, values: np.ndarray) -> pd.Series:
        # CFNOW moves whole-numbered features by fractions. Rounding would undo its answer, so they stay.
        whole = pd.api.types.is_integer_dtype(self.dtypes[name])
        keep_float = whole and not np.array_equal(values, np.round(values))
        return pd.Series(values, dtype=float if keep_float else self.dtypes[name])


def _levels(train: pd.Series, test: pd.Series) -> np.ndarray:
    """Return a feature's categories: those of the training data, then those only the instances have."""
    known = sorted(train.unique().tolist(), key=str)
    new = sorted(set(test.unique().tolist()) - set(known), key=str)
    levels = np.empty(len(known) + len(new), dtype=object)
    levels[:] = known + new
    return levels


# -- the model, counted ---


class Counted:
    """The pipeline behind the two methods that peers call, with a count of calls, rows and bridging time."""

    def __init__(self, pipeline: Any, rows: Rows) -> None:
        self.pipeline = pipeline
        self.rows = rows
        self.n_classes = len(pipeline.classes_)
        self.reset()

    def reset(self) -> None:
        """Start counting at zero."""
        self.n_calls = self.n_rows = 0
        self.bridging = 0.0

    def predict(self, X: Any) -> np.ndarray:
        """Return labels."""
        return self.pipeline.predict(self._frame(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class."""
        return self.pipeline.predict_proba(self._frame(X))

    def _frame(self, X: Any) -> pd.DataFrame:
        self.n_calls += 1
        self.n_rows += len(X)
        with self.bridge():
            return self.rows.restore(X) if isinstance(X, pd.DataFrame) else self.rows.decode(X)

    @contextmanager
    def bridge(self) -> Iterator[None]:
        """Time a conversion that no user of the peer would need."""
        start = time.process_time()
        try:
            yield
        finally:
            self.bridging += time.process_time() - start


@dataclass(frozen=True)
class Task:
    """All that a peer is given."""

    model: Counted
    rows: Rows
    train: pd.DataFrame
    labels: np.ndarray  # numbers of the classes, in the order of the model's `classes_`
    job: dict[str, Any]

    @property
    def k(self) -> int:
        """How many counterfactuals to ask for."""
        return int(self.job["k"])

    @property
    def mutable(self) -> list[str]:
        """Features that may change and have something to change to."""
        fixed = set(self.job["immutable"])
        return [name for name in self.rows.columns if name not in fixed and self.rows.seen[name] > 1]


# -- the peers ---


def dice_random(task: Task) -> Explain:
    """DiCE's random search.

    Its "opposite" class is for two classes only. With more, the class asked for is the runner-up: the most
    probable of the others, the one nearest at hand. `random_seed` is left out, because DiCE restarts its
    generators with it for every feature, which ties the features' draws together: the worker seeds them.
    Categories go in as strings, which is what DiCE makes of them anyway, but without the way back.
    """
    import dice_ml

    target = "the class"
    frame = task.rows.texts(task.train).assign(**{target: task.labels})
    data = dice_ml.Data(dataframe=frame, continuous_features=task.rows.continuous, outcome_name=target)
    model = dice_ml.Model(model=task.model, backend="sklearn")
    explainer = dice_ml.Dice(data, model, method="random")

    def explain(x: pd.DataFrame) -> pd.DataFrame:
        wanted = "opposite" if task.model.n_classes == 2 else _runner_up(task.model, x)
        with task.model.bridge():
            query = task.rows.texts(x)
        found = explainer.generate_counterfactuals(
            query, total_CFs=task.k, desired_class=wanted, features_to_vary=task.mutable
        )
        example = found.cf_examples_list[0]
        sparse = example.final_cfs_df_sparse
        with task.model.bridge():
            return task.rows.restore(example.final_cfs_df if sparse is None else sparse)

    return explain


def _runner_up(model: Counted, x: pd.DataFrame) -> int:
    return int(np.argsort(-model.predict_proba(x)[0], kind="stable")[1])


def nice_sparsity(task: Task) -> Explain:
    """NICE with its sparsity reward. It gives one answer whatever k is, and cannot hold a feature fixed."""
    from nice import NICE

    rows = task.rows
    position = {name: j for j, name in enumerate(rows.columns)}
    explainer = NICE(
        predict_fn=task.model.predict_proba,
        X_train=rows.encode(task.train),
        cat_feat=[position[name] for name in rows.categorical],
        num_feat=[position[name] for name in rows.continuous],
        y_train=task.labels,
        optimization="sparsity",
        justified_cf=True,
    )

    def explain(x: pd.DataFrame) -> pd.DataFrame:
        with task.model.bridge():
            codes = rows.encode(x)
        answer = explainer.explain(codes)
        with task.model.bridge():
            return rows.decode(answer)

    return explain


def cfnow_greedy(task: Task) -> Explain:
    """CFNOW's greedy search."""
    return _cfnow(task, "greedy")


def cfnow_random(task: Task) -> Explain:
    """CFNOW's random search."""
    return _cfnow(task, "random")


def _cfnow(task: Task, strategy: str) -> Explain:
    """CFNOW has no parameter for fixed features: it is shown the others only, and the model the whole row."""
    from cfnow import find_tabular

    def explain(x: pd.DataFrame) -> pd.DataFrame:
        with task.model.bridge():
            space = OneHot(task, x)
        found = find_tabular(
            factual=space.factual,
            model_predict_proba=space.predict_proba,
            count_cf=task.k,
            feat_types=space.kinds,
            has_ohe=True,
            cf_strategy=strategy,
            limit_seconds=task.job["limit_seconds"],
        )
        # The answers come sorted, nearest first, and there are more than were asked for.
        with task.model.bridge():
            answers = np.array([space.codes(row) for row in found.cfs[: task.k]])
            return task.rows.decode(answers) if len(answers) else task.rows.empty()

    return explain


class OneHot:
    """One instance's mutable features as CFNOW wants them: a column per category, ``feature_category``."""

    def __init__(self, task: Task, x: pd.DataFrame) -> None:
        self.model = task.model
        self.x = task.rows.encode(x)[0]
        # (position in x, column), and (position in x, columns, the columns' categories)
        self.numbers: list[tuple[int, int]] = []
        self.groups: list[tuple[int, list[int], np.ndarray]] = []
        values: dict[str, float] = {}
        # CFNOW groups columns by what stands before "_", so features go by their numbers.
        position = {name: j for j, name in enumerate(task.rows.columns)}
        for name in task.mutable:
            j = position[name]
            if name in task.rows.levels:
                # Training categories, and the instance's own where training has not seen it.
                codes = np.union1d(np.arange(task.rows.seen[name]), [int(self.x[j])])
                self.groups.append((j, [len(values) + i for i in range(len(codes))], codes))
                values |= {f"c{j}_{code}": float(code == self.x[j]) for code in codes}
            else:
                self.numbers.append((j, len(values)))
                values[f"n{j}"] = float(self.x[j])
        self.factual = pd.Series(values, dtype=float)
        self.kinds = {column: "cat" if column.startswith("c") else "num" for column in values}

    def predict_proba(self, X: pd.DataFrame | np.ndarray) -> np.ndarray:
        """Return the model's probabilities for one-hot rows."""
        with self.model.bridge():
            codes = self.codes(np.asarray(X, dtype=float))
        return self.model.predict_proba(codes)

    def codes(self, rows: np.ndarray) -> np.ndarray:
        """Return code rows for one-hot rows (or one for one), the immutable features as in the instance."""
        codes = np.broadcast_to(self.x, (*rows.shape[:-1], len(self.x))).copy()
        for j, column in self.numbers:
            codes[..., j] = rows[..., column]
        for j, columns, categories in self.groups:
            codes[..., j] = categories[rows[..., columns].argmax(axis=-1)]
        return codes


def fat_brute_force(task: Task) -> Explain:
    """FAT Forensics' grid search over single features and pairs (its default length).

    Its default step of 1 in raw units would give millions of rows for an amount of money, and its default
    distance would add up raw units, so a step is a twentieth of a feature's range and a distance is relative
    to the range.
    """
    from fatf.transparency.predictions.counterfactuals import CounterfactualExplainer

    rows = task.rows
    train = rows.encode(task.train)
    position = {name: j for j, name in enumerate(rows.columns)}
    numbers = [name for name in task.mutable if name in rows.continuous]
    spans = {position[name]: float(np.ptp(train[:, position[name]])) for name in numbers}
    explainer = CounterfactualExplainer(
        predictive_function=task.model.predict,
        dataset=train,
        categorical_indices=[position[name] for name in rows.categorical],
        numerical_indices=[position[name] for name in rows.continuous],
        counterfactual_feature_indices=[position[name] for name in task.mutable],
        step_sizes={position[name]: _step(task.train[name]) for name in numbers} or None,
        distance_functions={j: _relative_distance(span) for j, span in spans.items()} or None,
    )

    def explain(x: pd.DataFrame) -> pd.DataFrame:
        with task.model.bridge():
            codes = rows.encode(x)[0]
        answers, _, _ = explainer.explain_instance(codes)
        with task.model.bridge():
            return rows.decode(answers[: task.k]) if len(answers) else rows.empty()

    return explain


def _step(values: pd.Series) -> float:
    step = float(values.max() - values.min()) / 20
    return max(1.0, float(round(step))) if pd.api.types.is_integer_dtype(values.dtype) else step


def _relative_distance(span: float) -> Callable[[float, float], float]:
    return lambda a, b: abs(a - b) / span


PEERS: dict[str, Callable[[Task], Explain]] = {
    "dice_random": dice_random,
    "nice_sparsity": nice_sparsity,
    "cfnow_greedy": cfnow_greedy,
    "cfnow_random": cfnow_random,
    "fat_brute_force": fat_brute_force,
}


# -- the run ---


class TimeLimit(BaseException):
    """The instance's time is up. Not an `Exception`, so that no peer's own handler swallows it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TimeLimit` in the block once the seconds are over."""

    def stop(signum: int, frame: object) -> None:
        raise TimeLimit(f"time limit of {seconds:g} s")

    signal.signal(signal.SIGALRM, stop)
    # Repeated, because an exception raised inside a destructor is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def explain_one(explain: Explain, task: Task, x: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the answers for one instance and what they cost. What goes wrong costs this instance only."""
    answers, error = task.rows.empty(), None
    task.model.reset()
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with limited(task.job["time_limit"]):
            answers = explain(x)
    except (Exception, TimeLimit) as problem:
        error = f"{type(problem).__name__}: {problem}"
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    cost = {
        "cpu_seconds": cpu - task.model.bridging,
        "wall_seconds": wall,
        "calls": task.model.n_calls,
        "rows": task.model.n_rows,
        "error": error,
    }
    return answers, cost


def load(folder: Path) -> tuple[Task, pd.DataFrame]:
    """Return the task and the instances to explain."""
    job = json.loads((folder / "job.json").read_text())
    pipeline, train, labels, test = (
        joblib.load(folder / f"{name}.joblib") for name in ("model", "train", "labels", "test")
    )
    rows = Rows(train, test, job["categorical"])
    numbers = pd.Index(pipeline.classes_).get_indexer(pd.Index(labels))
    return Task(Counted(pipeline, rows), rows, train, numbers, job), test


def seed_everything(seed: int) -> None:
    """Seed the global generators, which are what the peers draw from."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


def main(folder: Path) -> None:
    """Do the job in the folder."""
    warnings.simplefilter("ignore")
    task, test = load(folder)
    start = time.process_time()
    explain = PEERS[task.job["method"]](task)
    setup_seconds = time.process_time() - start
    answers, costs = [], []
    for i in range(len(test)):
        # By instance, so that an answer does not depend on the instances before it.
        seed_everything(task.job["seed"] + i)
        found, cost = explain_one(explain, task, test.iloc[[i]].reset_index(drop=True))
        answers.append(found)
        costs.append(cost)
    joblib.dump(answers, folder / "answers.joblib")
    (folder / "report.json").write_text(json.dumps({"setup_seconds": setup_seconds, "instances": costs}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

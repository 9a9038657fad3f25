"""The promises of every answer, as checks for any explainer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from operator import eq, ge, gt, le, lt
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.data.costs import Cost
from counterpoint.data.distance import changed
from counterpoint.data.links import Compares, Link, implies
from counterpoint.data.schema import Feature, Schema
from counterpoint.data.types import Rows
from counterpoint.explainers.base import Explainer
from counterpoint.explanation.explanation import Explanation
from counterpoint.model.target import Between
from counterpoint.search.engine import step
from counterpoint.search.task import Search

# A search that asks more questions than this delays all others that run with it.
ROUNDS = 50


@dataclass(frozen=True)
class Check:
    """One promise checked on one problem: whether it was kept, the details, and the number of answers."""

    name: str
    passed: bool
    detail: str
    found: int = 0

    def __str__(self) -> str:
        return f"{'kept  ' if self.passed else 'BROKEN'} {self.name}: {self.detail}"


@dataclass(frozen=True)
class Report:
    """The results of all checks of an explainer.

    Examples
    --------
    >>> print(Report("Mine()", [Check("flips, on loans", True, "6 counterfactuals of 3 instances")]))
    Mine(): 1 of 1 checks passed.
    kept   flips, on loans: 6 counterfactuals of 3 instances
    """

    explainer: str
    checks: list[Check]

    @property
    def failures(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if not check.passed]

    def __str__(self) -> str:
        passed = len(self.checks) - len(self.failures)
        head = f"{self.explainer}: {passed} of {len(self.checks)} checks passed."
        return "\n".join([head, *map(str, self.checks)])


def check_explainer(explainer: Explainer, *, seed: int = 0, strict: bool = True) -> Report:
    """Check the promises that every answer of an explainer must keep, on small problems of many kinds.

    The problems: a mixed table with every kind of constraint, arrays of numbers, several classes and a
    target, missing values, a model that returns numbers, decisions that nothing or hardly anything flips.

    Parameters
    ----------
    explainer
        An explainer; only copies of it are fitted.
    seed
        Seed of the problems' tables.
    strict
        Raise an `AssertionError` that lists the broken promises; otherwise they are only in the report.

    Examples
    --------
    A custom explainer: random mixes of x with the nearest known instances that are decided differently. All
    instances get the same draws, because an answer may not depend on the other instances.

    >>> import counterpoint as cp
    >>> @dataclass
    ... class Mix(cp.Explainer):
    ...     count: int = 50
    ...     rounds: int = 2
    ...     seed: int = 0
    ...
    ...     def search(self, task: cp.Task) -> cp.Search:
    ...         rng = task.rng()
    ...         donors, of = task.nearest_unlike(self.count)
    ...         for share in np.linspace(0.5, 0.8, self.rounds):
    ...             each = rng.uniform(size=(len(of) // len(task), donors.shape[1])) < share
    ...             keep = np.tile(each, (len(task), 1))
    ...             yield task.project(np.where(keep, task.x[of], donors), of)
    >>> print(cp.testing.check_explainer(Mix()))
    Mix(count=50, rounds=2, seed=0): 64 of 64 checks passed.
    kept   answers within 50 questions, on loans: ... counterfactuals of 3 instances
    kept   every counterfactual flips, on loans: ... counterfactuals of 3 instances
    ...
    """
    checks = [check for problem in _problems(seed) for check in _checks(explainer, problem)]
    checks.append(_finds_something(checks))
    report = Report(str(explainer), checks)
    if strict and report.failures:
        count = len(report.failures)
        listed = "\n".join(str(check) for check in report.failures)
        raise AssertionError(f"{report.explainer} breaks {count} of {len(checks)} checks:\n{listed}")
    return report


def _finds_something(checks: list[Check]) -> Check:
    """Check that there were answers to check: an explainer that finds nothing breaks no promise."""
    found = max(check.found for check in checks)
    detail = "some were found" if found else "nothing was found on any problem, so nothing was checked"
    return Check("finds counterfactuals", found > 0, detail, found)


class _EndlessError(BaseException):
    """Ends an endless search; not an Exception, so that it is not taken for an error of the model."""

    def __init__(self) -> None:
        super().__init__(f"still asks after {ROUNDS} questions")


class _Model:
    """A model that remembers the rows it was asked about, and limits the number of questions."""

    def __init__(self, problem: _Problem) -> None:
        self.decide = self.__wrapped__ = problem.predict  # an explainer may look at what it wraps
        self.schema = Schema.infer(problem.X)
        self.asked: set[bytes] = set()
        self.left = ROUNDS

    def __call__(self, table: Any) -> Any:
        if not self.left:
            raise _EndlessError
        self.left -= 1
        self.asked.update(self.keys(table))
        return self.decide(table)

    def keys(self, table: Any) -> list[bytes]:
        return [bytes(row) for row in self.schema.encode(table) + 0.0]


class _Trial:
    """An explainer fitted on a problem, with its answers."""

    def __init__(self, explainer: Explainer, problem: _Problem) -> None:
        self.problem, self.model = problem, _Model(problem)
        self.before = deepcopy((problem.X, problem.instances))
        self.explainer = self.fitted(explainer)
        self.schema = self.explainer.fitted_.schema
        self.answers = self.explain(self.explainer, problem.instances)

    def fitted(self, explainer: Explainer) -> Explainer:
        """Fit a copy with a limit on the questions of its searches."""
        self.model.left = ROUNDS
        copy = explainer.clone()
        vars(copy)["search"] = lambda task: _bounded(type(copy).search(copy, task))
        return copy.fit(self.model, self.problem.X, **self.problem.constraints)

    def explain(self, explainer: Explainer, instances: Any, alone: bool = False) -> Any:
        self.model.left = ROUNDS
        asked = {"k": self.problem.k, "target": self.problem.target, "max_changes": self.problem.max_changes}
        if alone:
            return explainer.explain(instances, **asked)
        return explainer.explain_many(instances, progress=False, **asked)

    def each(self) -> Iterator[tuple[str, Explanation, Rows]]:
        """Yield each answer with its name and its rows, which are read from the caller's table."""
        for index, answer in enumerate(self.answers):
            yield f"X[{index}]", answer, answer.schema.encode(answer.counterfactuals)


def _bounded(search: Search) -> Search:
    """Run a search with a limit on its questions."""
    labels = None
    for _ in range(ROUNDS + 1):
        if (question := step(search, labels)) is None:
            return
        labels = yield question
    raise _EndlessError


def _checks(explainer: Explainer, problem: _Problem) -> Iterator[Check]:
    """Check all promises on one problem."""
    try:
        trial = _Trial(explainer, problem)
    except (Exception, _EndlessError) as error:
        yield Check(f"answers within {ROUNDS} questions, on {problem.name}", False, _raised(explainer, error))
        return
    found = sum(map(len, trial.answers))
    seen = f"{found} counterfactuals of {len(trial.answers)} instances"
    yield Check(f"answers within {ROUNDS} questions, on {problem.name}", True, seen, found)
    for name, promise in _PROMISES.items():
        try:
            complaints = list(promise(trial))
        except (Exception, _EndlessError) as error:
            complaints = [_raised(explainer, error)]
        shown = "; ".join(complaints[:3]) + f" (and {len(complaints) - 3} more)" * (len(complaints) > 3)
        yield Check(f"{name}, on {problem.name}", not complaints, shown or seen, found)


def _raised(explainer: Explainer, error: BaseException) -> str:
    return f"{type(explainer).__name__} raised {type(error).__name__}: {error}"


def _flips(trial: _Trial) -> Iterator[str]:
    """Ask the model again about each counterfactual, in its final form; it must have been labelled before."""
    target = trial.problem.target
    for where, answer, rows in trial.each():
        if not len(rows):
            continue
        labels = np.asarray(trial.problem.predict(answer.counterfactuals))
        kept = labels == answer.decision if target is None else labels != target
        kept = ~target(labels) if callable(target) else kept
        keys = trial.model.keys(answer.counterfactuals)
        for i, row in enumerate(rows):
            if keys[i] not in trial.model.asked:
                yield f"counterfactual {i + 1} of {where} was never labelled: {_say(trial, row)}"
            if kept[i] or labels[i] != answer.labels[i]:
                said = f"{labels[i]!r} (said to be {answer.labels[i]!r}, x is {answer.decision!r})"
                yield f"counterfactual {i + 1} of {where} is decided as {said}: {_say(trial, row)}"


def _say(trial: _Trial, row: Rows) -> str:
    return str({f.name: f.label(value) for f, value in zip(trial.schema.features, row, strict=True)})


def _keeps_constraints(trial: _Trial) -> Iterator[str]:
    for where, answer, rows in trial.each():
        for feature, old, column in zip(trial.schema.features, answer.row, rows.T, strict=True):
            for i, new in enumerate(column):
                if broken := _broken(feature, old, new):
                    values = f"from {feature.label(old)!r} to {feature.label(new)!r}"
                    yield f"counterfactual {i + 1} of {where} moves {feature.name!r} {values}, but {broken}"
        follows = np.array([feature.follows for feature in trial.schema.features])
        most, counts = trial.problem.max_changes, (changed(rows, answer.row) & ~follows).sum(axis=1)
        if most is not None and (counts > most).any():
            yield f"a counterfactual of {where} changes {counts.max()} features, but max_changes is {most}"
        for link in answer.schema.links:
            for i, row in enumerate(rows):
                if not _keeps(
                    link, {f.name: f.label(v) for f, v in zip(answer.schema.features, row, strict=True)}
                ):
                    yield f"counterfactual {i + 1} of {where} breaks the link {link}: {_say(trial, row)}"
        rule = trial.problem.constraints.get("rule")
        if rule and len(rows) and not np.all(rule(answer.counterfactuals, answer.x)):
            yield f"a counterfactual of {where} breaks the rule"


def _broken(feature: Feature, old: float, new: float) -> str | None:
    """Say which constraint a value breaks; x's value breaks none, unless it lies outside a range."""
    same = np.float64(old).tobytes() == np.float64(new).tobytes()
    if feature.immutable:
        return None if same else "it is immutable"
    was, now = feature.label(old), feature.label(new)
    if feature.follows:
        return _outside(feature, now, new)
    if not feature.may_change:
        return None if same else "it never changes"
    if same:
        return _outside(feature, now, new)
    if old == new or (np.isnan(old) and np.isnan(new)):
        return "it is x's own value, but not written as x has it"
    if (feature.never_falls or feature.never_rises) and (was is None or now is None):
        return "it is one-way, and has no value"
    if (feature.never_falls and new < old) or (feature.never_rises and new > old):
        return f"it may only {'rise' if feature.never_falls else 'fall'}"
    if feature.max_change is not None and not abs(new - old) <= min(
        feature.reach[0], feature.reach[1] * abs(old) if np.isfinite(feature.reach[1]) else np.inf
    ):
        return f"it may change by at most {feature.max_change}"
    if feature.is_categorical and np.isinf(feature.cost.of(was, now, new > old)):
        return "this change never happens"
    if now is None:
        return None if feature.may_lose and was is not None else "it may not go missing"
    if feature.is_categorical:
        return None if feature.allows(now) else f"allowed are {feature.range}"
    low, high = feature.range or feature.seen
    if not low <= new <= high:
        return f"its range is {low} to {high}"
    steps = new / (feature.step or new or 1)
    # A step such as 0.1 is not exact as a float, so its multiples need not be exact either.
    return None if abs(steps - round(steps)) <= 1e-6 * max(1, abs(steps)) else f"its step is {feature.step}"


def _keeps(link: Link, values: dict[Any, Any]) -> bool:
    """Tell whether values keep a link between columns; a missing number breaks no comparison."""
    if isinstance(link, Compares):
        left, right = values[link.left], values[link.right]
        return left is None or right is None or _COMPARE[link.operator](left, right)
    return not all(_has(values, *each) for each in link.when) or all(
        _has(values, *each) for each in link.then
    )


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq}


def _has(values: dict[Any, Any], name: Any, wanted: tuple[Any, ...]) -> bool:
    value = values[name]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return bool(wanted[0] <= value <= wanted[-1])
    return value in wanted


def _outside(feature: Feature, value: Any, number: float) -> str | None:
    """Say which of the user's ranges a value lies outside of; a missing value lies inside every range."""
    if feature.range is None or value is None:
        return None
    low, high = (feature.range[0], feature.range[-1])
    inside = feature.allows(value) if feature.is_categorical else low <= number <= high
    return None if inside else f"its range is {feature.range}"


def _is_a_set(trial: _Trial) -> Iterator[str]:
    for where, answer, rows in trial.each():
        if len(rows) > trial.problem.k:
            yield f"{where} has {len(rows)} counterfactuals, but k is {trial.problem.k}"
        if len({bytes(row) for row in rows + 0.0}) < len(rows):
            yield f"{where} has a counterfactual twice"
        if not changed(rows, answer.row).any(axis=1).all():
            yield f"{where} is its own counterfactual: {_say(trial, answer.row)}"


def _says_why(trial: _Trial) -> Iterator[str]:
    k, most = trial.problem.k, trial.problem.most
    for where, answer, rows in trial.each():
        short, found = answer.shortfall, len(rows)
        said = None if short is None else (short.asked, short.found, bool(short.reason))
        if said != (None if found >= k else (k, found, True)):
            yield f"{where} has {found} of {k} counterfactuals, but its shortfall is {short!r}"
        if most is not None and found > most:
            yield f"{where} has {found} counterfactuals, but only {most} exist"


def _is_repeatable(trial: _Trial) -> Iterator[str]:
    """Explain alone, in another order, and with a clone: the answers must be the same."""
    instances, last = trial.problem.instances, len(trial.answers) - 1
    turned = trial.explain(trial.explainer, instances[::-1])
    clone = trial.fitted(trial.explainer)
    for index in range(last, -1, -1):
        one = instances[index : index + 1]
        for way, answer in (
            ("in another order", turned[last - index]),
            ("alone", trial.explain(trial.explainer, one, alone=True)),
            ("alone with a clone", trial.explain(clone, one, alone=True)),
        ):
            if different := _difference(trial.answers[index], answer):
                yield f"X[{index}] explained {way} gets different {different} than in the batch"


def _difference(a: Explanation, b: Explanation) -> str | None:
    """Name the first difference between two answers."""
    if a.rows.tobytes() != b.rows.tobytes():
        return "counterfactuals"
    if not np.array_equal(a.labels, b.labels):
        return "labels"
    return None if (a.found_by, a.shortfall) == (b.found_by, b.shortfall) else "finders or shortfall"


def _leaves_inputs(trial: _Trial) -> Iterator[str]:
    now = (trial.problem.X, trial.problem.instances)
    for name, a, b in zip(("X", "the instances"), trial.before, now, strict=True):
        if not (a.tobytes() == b.tobytes() if isinstance(a, np.ndarray) else a.equals(b)):
            yield f"{name} changed"


_PROMISES: dict[str, Callable[[_Trial], Iterator[str]]] = {
    "every counterfactual flips": _flips,
    "every constraint holds": _keeps_constraints,
    "at most k, each once, never x": _is_a_set,
    "fewer than k are explained": _says_why,
    "same inputs, same answer": _is_repeatable,
    "inputs are left as they are": _leaves_inputs,
}


@dataclass(frozen=True)
class _Problem:
    """Known instances, a model, a question and constraints; `most` is the number of answers that exist."""

    name: str
    predict: Callable[[Any], Any]
    X: Any
    instances: Any
    k: int
    constraints: dict[str, Any] = field(default_factory=dict)
    target: Any = None
    max_changes: int | None = None
    most: int | None = None


def _problems(seed: int) -> Iterator[_Problem]:
    """Make small problems of many kinds."""
    from sklearn.datasets import load_diabetes, load_iris, load_wine
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    loans = _loans(seed)
    some = loans[loans["job"] != "nurse"][:3]
    bounds: dict[str, Any] = {
        "schema": Schema.infer(loans).replace("amount", step=100),
        "immutable": ["sex"],
        "ranges": {"income": (0, 120), "job": ["none", "clerk", "smith"]},
        "increase": ["age", "school"],
        "decrease": ["amount"],
        "costs": {
            "school": 3,
            "income": Cost(up=1, down=np.inf),
            "job": Cost(changes={("none", "smith"): 2}),
        },
        "max_change": {"age": 10, "amount": "80%"},
        "links": [implies(job="clerk", then={"school": ["secondary", "college"]}), "age <= amount"],
        "rule": lambda table, x: table["amount"] <= 100 * table["income"],
    }
    yield _Problem("loans", _grant, loans, some, 4, bounds, max_changes=3)
    strict = {"ranges": {"income": (30, 120), "amount": (100, 3000), "job": ["clerk", "smith"]}}
    out = loans[loans["job"].eq("none") & loans["amount"].gt(3000)][:3]
    yield _Problem("instances outside ranges", _grant, loans, out, 3, strict)
    job = loans["job"].where(loans["job"] != "none")
    gaps = loans.assign(income=loans["income"].where(loans.index % 4 > 0), job=job)
    yield _Problem("missing values", _grant, gaps, gaps[:3], 3, {"immutable": ["job"]})
    only = {"immutable": [name for name in loans if name != "job"]}
    idle = loans[loans["job"] == "none"][:2]
    yield _Problem("more asked than exist", lambda t: t["job"] == "none", loans, idle, 10, only, most=3)
    fixed = {"immutable": ["sex"]}
    yield _Problem("no counterfactual", lambda t: t["sex"] == "f", loans, some, 3, fixed, most=0)
    X, y = load_wine(return_X_y=True)
    wine = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(X, y)
    yield _Problem("an array, k=1", wine.predict, X, X[[0, 70, 150]], 1, {"immutable": [0], "increase": [1]})
    X, y = load_iris(return_X_y=True)
    iris = DecisionTreeClassifier(max_depth=4, random_state=seed).fit(X, y)
    yield _Problem("one class of three", iris.predict, X, X[[0, 60]], 5, target=2)
    X, y = load_diabetes(return_X_y=True)
    sugar = DecisionTreeRegressor(max_depth=5, random_state=seed).fit(X[:200], y[:200])
    low = X[sugar.predict(X) < 100][:2]
    yield _Problem("a number", sugar.predict, X[:200], low, 3, target=Between(low=150))
    yield _Problem("a target never seen", sugar.predict, X[:200], low, 3, target=Between(low=1e6), most=0)


def _loans(seed: int, size: int = 150) -> pd.DataFrame:
    """Draw a table with columns of every kind."""
    rng, schools = np.random.default_rng(seed), ["primary", "secondary", "college"]
    return pd.DataFrame(
        {
            "income": rng.gamma(4.0, 10.0, size).clip(1, 120).round(2),
            "amount": rng.integers(1, 60, size) * 100,
            "age": rng.integers(18, 80, size),
            "job": rng.choice(["none", "clerk", "smith", "nurse"], size),
            "school": pd.Categorical(rng.choice(schools, size), categories=schools, ordered=True),
            "married": rng.random(size) < 0.5,
            "sex": rng.choice(["f", "m"], size),
        }
    )


def _grant(loans: pd.DataFrame) -> Any:
    """Decide about loans by a sum of points."""
    points = loans["income"].fillna(20) / 10 - loans["amount"] / 1000 + loans["school"].cat.codes
    return np.where(points + 1 * loans["married"] + 2 * loans["job"].notna() > 5, "granted", "refused")

"""The six promises of every answer, on random tables, models and constraints, for every explainer."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint import testing
from counterpoint.explainers import run
from counterpoint.explainers.paper import PaperBruteForce, PaperSphere, PaperTree
from counterpoint.search.task import Question

EXPLAINERS = [
    cp.Neighbours(candidates=30),
    cp.BruteForce(),
    cp.BruteForce(features=2, bins=4, candidates=300),
    cp.Tree(),
    cp.Sphere(directions=20),
    cp.CaseBased(),
    cp.Guided(singles=20),
    cp.Evolution(population=20, generations=2, rounds=3),
    PaperBruteForce(n=2, r=4),
    PaperTree(),
    PaperSphere(draws=30),
]
SMALL = cp.Ensemble(size=5)
PAPER = cp.Ensemble.paper(
    [PaperBruteForce(n=2, r=4), PaperTree(), PaperSphere(draws=30), cp.Neighbours()], size=5
)
fast = partial(
    settings, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


# ---------------------------------------------------------------- random problems

LEVELS = ["low", "mid", "high"]
KINDS = {
    "pandas": [
        "float",
        "float32",
        "int",
        "bool",
        "text",
        "category",
        "ordered",
        "gaps",
        "text gaps",
        "Int64",
    ],
    "polars": ["float", "int", "bool", "text", "category", "gaps", "text gaps"],
    "array": ["float", "gaps"],
    "integers": ["int"],
}
NUMBERS = {"float", "float32", "int", "gaps", "Int64"}


def column(kind: str, rng: np.random.Generator, size: int) -> Any:
    """Draw a pandas column of a kind."""
    texts = np.array(["red", "green", "blue"], dtype=object)[rng.integers(3, size=size)]
    hole = rng.random(size) < 0.3
    hole[:2] = False, True
    if kind in ("float", "float32", "gaps"):
        values = rng.normal(size=size) * 10.0 ** rng.integers(-2, 4)
        return (
            np.where(hole, np.nan, values) if kind == "gaps" else values.astype(kind.replace("float32", "f4"))
        )
    if kind in ("int", "Int64"):
        values = rng.integers(-3, int(rng.choice([4, 50])), size=size)
        return values if kind == "int" else pd.array(values, dtype="Int64")
    if kind == "bool":
        return rng.random(size) < 0.5
    if kind == "ordered":
        return pd.Categorical(np.array(LEVELS)[rng.integers(3, size=size)], categories=LEVELS, ordered=True)
    if kind == "category":
        return pd.Categorical(texts, categories=["blue", "green", "red", "never seen"])
    return pd.Series(np.where(hole, None, texts)) if kind == "text gaps" else texts


def library(form: str, frame: pd.DataFrame) -> Any:
    """Turn a pandas frame into the table that is asked for."""
    if form == "pandas":
        return frame
    if form == "polars":
        plain = {
            n: frame[n].astype(object).where(frame[n].notna(), None).to_list()
            if frame[n].dtype.kind not in "if"
            else pl.Series(frame[n].to_numpy(), nan_to_null=True)
            for n in frame
        }
        enum = {n: pl.Enum(list(frame[n].cat.categories)) for n in frame if hasattr(frame[n], "cat")}
        return pl.DataFrame(plain, schema_overrides=enum)
    return frame.to_numpy()


class Model:
    """A deterministic model of any table: thresholds of a linear score, or a tree on random labels."""

    def __init__(self, X: Any, kind: str, seed: int) -> None:
        self.schema = cp.Schema.infer(X)
        rng = np.random.default_rng(seed)
        rows = self.rows(X)
        self.centre, self.scale = rows.mean(axis=0), np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        self.weights = rng.normal(size=rows.shape[1]) * (rng.random(rows.shape[1]) < 0.7)
        shares = [0.3, 0.7] if kind == "three" else [0.5]
        self.cuts = np.quantile(self.score(X), shares)
        self.names = np.array(["no", "yes", "maybe"] if kind == "three" else ["no", "certainly"])
        self.tree = None
        if kind == "tree":
            labels = self.names[rng.integers(2, size=len(rows))]
            self.tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)

    def rows(self, table: Any) -> np.ndarray:
        return np.nan_to_num(self.schema.encode(table))

    def score(self, table: Any) -> np.ndarray:
        # A sum feature by feature, as a matrix product may round differently in another batch.
        parts = (self.rows(table) - self.centre) / self.scale * self.weights
        return np.round(sum(parts.T), 9)

    def __call__(self, table: Any) -> np.ndarray:
        if self.tree is not None:
            return self.tree.predict(self.rows(table))
        return self.names[(self.score(table)[:, None] > self.cuts).sum(axis=1)]


def never(labels: np.ndarray) -> np.ndarray:
    """A target that no known instance meets."""
    return labels == "never"


def shuffled(X: pd.DataFrame, rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Mix known instances into new ones, of known values only."""
    places = rng.integers(len(X), size=(count, X.shape[1]))
    return pd.DataFrame({name: X[name].take(places[:, i]).array for i, name in enumerate(X)})


@st.composite
def problems(draw: st.DrawFn, forms: tuple[str, ...] = tuple(KINDS)) -> testing._Problem:
    form = draw(st.sampled_from(forms))
    kinds = draw(st.lists(st.sampled_from(KINDS[form]), min_size=1, max_size=9))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(8, 60))
    frame = pd.DataFrame({f"x{i}": column(kind, rng, size) for i, kind in enumerate(kinds)})
    few = shuffled(frame, rng, draw(st.integers(1, 3)))
    X, instances = library(form, frame), library(form, few)
    model = Model(X, draw(st.sampled_from(["linear", "tree", "three"])), seed)
    labels = model(X)
    assume(len(set(labels)) > 1)
    return testing._Problem(
        f"{form} {kinds} {seed}",
        model,
        X,
        instances,
        k=draw(st.integers(1, 6)),
        constraints=draw(constraints(X, frame, few, kinds)),
        target=draw(st.sampled_from([None, None, *sorted(set(labels.tolist())), never])),
        max_changes=draw(st.sampled_from([None, None, 1, 2])),
    )


@st.composite
def constraints(
    draw: st.DrawFn, X: Any, frame: pd.DataFrame, few: pd.DataFrame, kinds: list[str]
) -> dict[str, Any]:
    """Draw what may change; the instances themselves may lie outside of it."""
    schema, ranges = cp.Schema.infer(X), {}
    asked: dict[str, list[str]] = {"immutable": [], "increase": [], "decrease": []}
    free = draw(st.integers(0, len(kinds) - 1))
    for i, (name, kind) in enumerate(zip(frame, kinds, strict=True)):
        ways = ["free", "free", "limited"] + ["immutable"] * (i != free)
        ways += ["increase", "decrease"] * (
            kind in NUMBERS or (kind == "ordered" and form_is_ordered(schema, i))
        )
        way = draw(st.sampled_from(ways))
        if way in asked:
            asked[way].append(name)
        if way == "limited" and kind in NUMBERS:
            low, high = np.nanquantile(frame[name].astype(float), sorted([draw(SHARES), draw(SHARES)]))
            ranges[name] = (np.floor(low), np.ceil(high))  # a whole number lies between
            if draw(st.booleans()):
                ranges[name] = (
                    np.nanmin([low, *few[name].astype(float)]),
                    np.nanmax([high, *few[name].astype(float)]),
                )
        elif way == "limited":
            categories, inside = schema.features[i].categories, draw(st.booleans())
            kept = set(few[name]) if inside else set()
            ranges[name] = [c for c in categories if c in kept or draw(st.booleans())] or [categories[0]]
        if kind in NUMBERS and way != "limited" and draw(st.booleans()):
            schema = schema.replace(
                name, step=draw(st.sampled_from([0.1, 0.25, 1, 5])) if kind in ("float", "gaps") else 2
            )
    costs = {
        name: cost
        for i, (name, kind) in enumerate(zip(frame, kinds, strict=True))
        if (cost := draw(st.sampled_from(costs_of(schema.features[i], kind, i == free)))) is not None
    }
    most = {
        name: reach
        for i, (name, kind) in enumerate(zip(frame, kinds, strict=True))
        if kind in NUMBERS or form_is_ordered(schema, i)
        if (reach := draw(st.sampled_from([None, None, 0, 1, 2.5, *["20%"] * (kind in NUMBERS)]))) is not None
    }
    rule = draw(
        st.sampled_from([None, None, lambda table, x: np.sin(cp.Schema.infer(X).encode(table)).sum(1) > -1])
    )
    missing = draw(st.sampled_from(["keep", "keep", "allow"]))
    more = {"costs": costs, "max_change": most, "links": draw(links_of(schema, kinds))}
    return {"schema": schema, "ranges": ranges, "rule": rule, "missing": missing, **asked, **more}


@st.composite
def links_of(draw: st.DrawFn, schema: cp.Schema, kinds: list[str]) -> list[Any]:
    """Draw comparisons of numbers, and implications between any two features."""
    names, found = list(schema.names), []
    numbers = [name for name, kind in zip(names, kinds, strict=True) if kind in NUMBERS]
    if len(numbers) > 1 and draw(st.integers(0, 2)) == 0:
        left, right = draw(st.permutations(numbers))[:2]
        found.append(f"{left} {draw(st.sampled_from(['<', '<=', '>', '>=']))} {right}")
    if len(names) > 1 and draw(st.integers(0, 2)) == 0:
        one, other = draw(st.permutations(range(len(names))))[:2]
        values = [draw(st.sampled_from(values_of(schema.features[i]))) for i in (one, other)]
        found.append(cp.implies({names[one]: values[0]}, then={names[other]: values[1]}))
    return found


def values_of(feature: cp.Feature) -> list[Any]:
    if not feature.is_categorical:
        low, high = feature.seen
        return [(low, (low + high) / 2), ((low + high) / 2, high)]
    known = [category for category in feature.categories if category is not None]
    return [known[0], known[-1], known[:2]]


def costs_of(feature: cp.Feature, kind: str, is_free: bool) -> list[Any]:
    """List costs that changes of a feature can have; one feature stays free to change in every direction."""
    costs: list[Any] = [None, None, 0.2, 5, *[np.inf] * (not is_free)]
    if feature.is_categorical:
        first, last = feature.categories[0], feature.categories[-1]
        table = {(first, last): 3.0} | ({(last, first): np.inf} if first != last else {})
        costs.append(cp.Cost(changes=table, otherwise=2))
    if kind in NUMBERS or feature.ordered:
        costs += [cp.Cost(up=1, down=4), *[cp.Cost(up=np.inf), cp.Cost(down=np.inf)] * (not is_free)]
    return costs


SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


def form_is_ordered(schema: cp.Schema, place: int) -> bool:
    return schema.features[place].ordered


def keeps_promises(explainer: cp.Explainer, problem: testing._Problem) -> None:
    broken = [str(check) for check in testing._checks(explainer, problem) if not check.passed]
    assert not broken, "\n".join([problem.name, str(problem.constraints), *broken])


# ---------------------------------------------------------------- the promises


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=str)
def test_every_explainer_keeps_all_promises_on_random_problems(explainer: cp.Explainer) -> None:
    @fast(max_examples=25)
    @given(problems())
    def check(problem: testing._Problem) -> None:
        keeps_promises(explainer, problem)

    check()


@pytest.mark.parametrize("form", KINDS)
def test_the_ensemble_keeps_all_promises_on_random_problems(form: str) -> None:
    @fast(max_examples=6)
    @given(problems((form,)))
    def check(problem: testing._Problem) -> None:
        keeps_promises(SMALL, problem)
        keeps_promises(PAPER, problem)

    check()


@fast(max_examples=12)
@given(problems(), st.sampled_from([SMALL, PAPER, cp.BruteForce(), cp.Sphere(directions=20)]))
def test_any_wave_size_gives_identical_answers(problem: testing._Problem, explainer: cp.Explainer) -> None:
    answers = {}
    for wave in (1, 2, 128):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "WAVE", wave)
            patch.setattr(testing, "ROUNDS", 500)
            answers[wave] = testing._Trial(explainer, problem).answers
    for one, two, all_ in zip(answers[1], answers[2], answers[128], strict=True):
        assert testing._difference(one, two) is None
        assert testing._difference(one, all_) is None


@fast(max_examples=12)
@given(problems(), st.sampled_from([SMALL, PAPER, cp.Tree(), cp.CaseBased()]))
def test_earlier_questions_do_not_change_later_answers(
    problem: testing._Problem, explainer: cp.Explainer
) -> None:
    fresh = testing._Trial(explainer, problem)
    used = fresh.fitted(explainer)
    for k, max_changes in ((1, 1), (4, None), (2, 2)):
        used.explain_many(problem.instances, k, max_changes=max_changes, progress=False)
    for a, b in zip(fresh.answers, fresh.explain(used, problem.instances), strict=True):
        assert testing._difference(a, b) is None


def test_zero_is_the_same_zero_in_any_batch() -> None:
    X = np.array([[-0.3, 5.0], [-0.2, 4.0], [0.1, 1.0], [0.2, 1.5]])
    schema = cp.Schema.infer(X).replace("x0", step=1)
    explainer = cp.Neighbours(candidates=1).fit(lambda rows: rows[:, 1] > 2, X, schema=schema)
    many = explainer.explain_many(X[[2, 3, 2, 3, 2]], 2, progress=False)
    for x, answer in zip(X[[2, 3, 2, 3, 2]], many, strict=True):
        assert answer.rows.tobytes() == explainer.explain(x, 2).rows.tobytes()


@pytest.mark.parametrize("seed", range(3))
def test_a_column_that_hardly_any_known_instance_has_is_no_obstacle(seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(2000, 3))
    X[1:, 1] = np.nan
    explanation = cp.Ensemble(seed=seed).fit(lambda rows: rows[:, 0] > 0, X).explain(X[5], 3)
    assert len(explanation) == 3


def test_a_shortfall_does_not_blame_the_search_for_what_the_selection_leaves_out() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    picky = cp.Ensemble.paper(lambda_=100.0)
    explanation = picky.fit(lambda rows: rows[:, 0] > 0, X).explain(np.array([-1.0, 0.0, 0.0]), 3)
    assert explanation.shortfall is not None
    assert explanation.shortfall.why is cp.Why.NOT_WORTH_IT


def test_a_model_that_writes_to_its_table_changes_nothing() -> None:
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 3)), columns=list("abc"))

    def decide(table: pd.DataFrame) -> np.ndarray:
        return table["a"].to_numpy() > 0

    def writes(table: pd.DataFrame) -> np.ndarray:
        labels = decide(table)
        table.iloc[:, 2] = 7.0
        table.loc[:, "b"] = 8.0
        return labels

    before = X.copy()
    clean, dirty = (
        SMALL.clone().fit(model, X).explain_many(X[:3], 3, progress=False) for model in (decide, writes)
    )
    assert X.equals(before)
    for a, b in zip(clean, dirty, strict=True):
        assert testing._difference(a, b) is None


def test_read_only_inputs_are_enough() -> None:
    X = np.random.default_rng(0).normal(size=(80, 3))
    X.flags.writeable = False
    assert len(SMALL.clone().fit(lambda rows: rows[:, 0] > 0, X).explain_many(X[:3], 2, progress=False)) == 3


def test_targets_without_a_hash_are_told_apart() -> None:
    @dataclass
    class Above:
        low: float

        def __call__(self, outputs: np.ndarray) -> np.ndarray:
            return outputs > self.low

    X = np.random.default_rng(0).normal(size=(200, 2))

    def score(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] + 0.0

    used = cp.Neighbours(candidates=10).fit(score, X)
    for low in (0.1, 1.0, 1.9, 0.5):
        fresh = cp.Neighbours(candidates=10).fit(score, X)
        a, b = (explainer.explain(np.array([-1.0, 0.0]), 5, target=Above(low)) for explainer in (used, fresh))
        assert testing._difference(a, b) is None


def test_merged_searches_share_the_models_calls() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    calls = []

    def model(rows: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        return rows[:, 0] > 0

    explainer = cp.Ensemble(size=5).fit(model, X)
    calls.clear()
    alone = [len(calls) for x in X[:10] if not calls.clear() and explainer.explain(x, 3)]
    calls.clear()
    explainer.explain_many(X[:10], 3, progress=False)
    assert len(calls) <= max(alone)


# ---------------------------------------------------------------- check_explainer finds out who cheats


@dataclass
class Honest(cp.Explainer):
    """Asks about the nearest unlike instances; those below break one promise each."""

    seed: int = 0

    def search(self, task: cp.Task) -> cp.Search:
        yield task.project(*task.nearest_unlike(50))


class Spoils(Honest):
    """Answers with what it likes, past everything that checks an answer."""

    def _explain(self, *args: Any) -> Any:
        answers = super()._explain(*args)
        return cp.Explanations([self.spoiled(answer) for answer in answers], answers.schema)

    def spoiled(self, answer: cp.Explanation) -> cp.Explanation:
        if not len(answer):
            return answer
        rows = self.spoil(answer)
        names, labels = (answer.found_by * 9)[: len(rows)], np.resize(answer.labels, len(rows))
        away = np.resize(answer.distance, len(rows))
        return replace(answer, rows=rows, labels=labels, found_by=names, distance=away)

    def spoil(self, answer: cp.Explanation) -> Any:
        raise NotImplementedError


class NeverAsked(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        rows, numbers = answer.rows.copy(), answer.schema.continuous
        rows[:, numbers] = rows[:, numbers] + 1e-9
        return rows


class DoesNotFlip(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        known = self.fitted_.known
        return known.rows[known.labels == answer.decision][:1]


class TouchesImmutable(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        known = self.fitted_.known
        return known.rows[known.labels != answer.decision][:1]


class TooMany(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        return self.fitted_.known.rows[: answer.k + 1]


class Twice(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        return np.repeat(answer.rows[:1], 2, axis=0)


class Itself(Spoils):
    def spoil(self, answer: cp.Explanation) -> Any:
        return answer.row[None]


class Silent(Spoils):
    def spoiled(self, answer: cp.Explanation) -> cp.Explanation:
        return replace(answer, shortfall=None)


class Moody(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        question = task.project(*task.nearest_unlike(50))
        some = np.random.default_rng().random(len(question.instance)) < 0.5
        yield Question(question.rows[some], question.instance[some])


class Remembers(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        self.count = getattr(self, "count", 0) + 1
        yield task.project(*task.nearest_unlike(self.count))


class DrawsForAllTogether(Honest):
    """Draws fresh numbers for each instance, so that the second of a batch gets others than alone."""

    def search(self, task: cp.Task) -> cp.Search:
        rows, instance = task.nearest_unlike(50)
        keep = task.rng().random(rows.shape) < 0.3
        yield task.project(np.where(keep, task.x[instance], rows), instance)


class WritesToX(Honest):
    def fit(self, model: Any, X: Any, **options: Any) -> Any:
        super().fit(model, X, **options)
        if isinstance(X, pd.DataFrame):
            X.loc[0, "age"] += 1
        else:
            X[0, 0] += 1
        return self


class WritesToKnown(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        task.known.rows[0, task.known.schema.continuous] += 1e-3
        return super().search(task)


class WorksInPlace(Honest):
    """Moves x itself, which all other searches see too."""

    def search(self, task: cp.Task) -> cp.Search:
        rows = task.x
        rows[:, task.features] = task.known.rows[task.unlike()[0], task.features]
        yield Question(rows, np.arange(len(task)))


class FindsNothing(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        yield task.question([x[None] for x in task.x])


class NeverEnds(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        while True:
            yield task.project(*task.nearest_unlike(5))


class NeverAdmissible(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        while True:
            yield Question(task.x, np.arange(len(task)))


class NeverEndsAtAll(Honest):
    def gather(self, task: cp.Task, pool: Any) -> Any:
        while True:
            yield task.project(*task.nearest_unlike(5))


class GivesUpLoudly(Honest):
    def search(self, task: cp.Task) -> cp.Search:
        labels = yield task.project(*task.nearest_unlike(50))
        if not task.flips(labels).any():
            raise LookupError("no counterfactual found")


CHEATS = {
    NeverAsked: "was never labelled",
    DoesNotFlip: "is decided as",
    TouchesImmutable: "but it is immutable",
    TooMany: "but k is",
    Twice: "each counterfactual once",
    Itself: "its own counterfactual",
    Silent: "but its shortfall is None",
    Moody: "gets different counterfactuals",
    Remembers: "gets different counterfactuals",
    DrawsForAllTogether: "gets different counterfactuals",
    WritesToX: "X changed",
    WritesToKnown: "read-only",
    WorksInPlace: "read-only",
    FindsNothing: "nothing was found",
    NeverEnds: "still asks after 50 questions",
    NeverAdmissible: "still asks after 50 questions",
    NeverEndsAtAll: "still asks after 50 questions",
    GivesUpLoudly: "no counterfactual found",
}


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.__name__)
def test_check_explainer_finds_out(cheat: type[Honest]) -> None:
    with pytest.raises(AssertionError, match=CHEATS[cheat]) as caught:
        testing.check_explainer(cheat())
    assert cheat.__name__ in str(caught.value)


@pytest.mark.parametrize("explainer", [Honest(), cp.CaseBased(), SMALL], ids=lambda e: type(e).__name__)
def test_check_explainer_passes_the_honest(explainer: cp.Explainer) -> None:
    report = testing.check_explainer(explainer)
    assert not report.failures
    assert "checks passed" in str(report)
    assert not hasattr(explainer, "fitted_")


def test_a_report_says_what_ran_without_raising_if_asked() -> None:
    report = testing.check_explainer(TooMany(), strict=False)
    assert {check.name for check in report.failures} >= {"at most k, each once, never x, on loans"}
    assert len(report.checks) > 40


# ---------------------------------------------------------------- probabilities and nearest misses


class Probable:
    """A model with probabilities, by which it decides; `ask` says which of them, as a target does."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, model: Model) -> None:
        self.model = model

    def predict_proba(self, table: Any) -> np.ndarray:
        share = 1 / (1 + np.exp(-np.clip(self.model.score(table) - self.model.cuts[0], -30, 30)))
        return np.column_stack([1 - share, share])

    def predict(self, table: Any) -> np.ndarray:
        return self.classes_[(self.predict_proba(table)[:, 1] > 0.5).astype(int)]


TARGETS = [
    cp.Probability("yes", at_least=0.3),
    cp.Probability("yes", at_least=0.9),
    cp.Probability("no", at_most=0.4),
    cp.Probability("yes", at_least=0.45, at_most=0.55),
    "yes",
    None,
]


@fast(max_examples=40)
@given(problems(), st.sampled_from(TARGETS))
def test_probabilities_and_nearest_misses_hold_alone_and_together(
    problem: testing._Problem, target: Any
) -> None:
    model = Probable(problem.predict)
    assume(len(set(model.predict(problem.X))) > 1)
    explainer = SMALL.clone().fit(model, problem.X, **problem.constraints)
    asked = {"k": problem.k, "target": target, "max_changes": problem.max_changes}
    together = explainer.explain_many(problem.instances, progress=False, **asked)
    wanted = explainer.fitted_.read_target(target)
    for answer in together:
        alone = explainer.explain(answer.x, **asked)
        assert testing._difference(alone, answer) is None
        for row, label in zip(answer.rows, answer.labels, strict=True):
            table = answer.schema.decode(row[None])
            if wanted.probability is None:
                assert model.predict(table)[0] == label != answer.decision
            else:
                column = list(model.classes_).index(wanted.probability.classes[0])
                assert wanted.probability(model.predict_proba(table)[:, column]).all()
        check_miss(explainer, model, answer, alone, wanted)


def check_miss(
    explainer: cp.Explainer, model: Probable, answer: cp.Explanation, alone: cp.Explanation, wanted: Any
) -> None:
    """Check that a nearest miss keeps the constraints, does not flip, and does not depend on the batch."""
    miss = answer.nearest_miss
    assert (miss is None) == (alone.nearest_miss is None)
    if miss is None:
        return
    assert not len(answer)
    assert miss.row.tobytes() == alone.nearest_miss.row.tobytes()
    task = explainer.fitted_.task(answer.row[None], np.array([answer.decision]), (0,))
    assert task.admissible(miss.row[None], np.array([0])).all()
    assert task.linked(miss.row[None]).all()
    assert not wanted.flips(np.asarray(miss.decision)[None], answer.decision)[0]
    share = model.predict_proba(answer.schema.decode(miss.row[None]))[0]
    assert miss.score == pytest.approx(share[list(model.classes_).index(miss.standing.wanted[0])])

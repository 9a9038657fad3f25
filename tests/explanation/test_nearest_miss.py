"""What came nearest where no counterfactual was found: within the constraints, and no counterfactual."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import counterpoint as cp
from counterpoint import report
from counterpoint.model.scores import ScoreKind
from loans import decide, grade, people


def trained(labels: Any = decide, kind: Any = LogisticRegression) -> Any:
    coding = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "income"]))
    return make_pipeline(coding, kind()).fit(people(), labels(people()))


MODEL = trained()
FAR = people()[MODEL.predict_proba(people())[:, 0] < 0.01].reset_index(drop=True)


@pytest.fixture(scope="module")
def locked() -> cp.Ensemble:
    return cp.Ensemble().fit(MODEL, people(), immutable=["income"], ranges={"age": (18, 60)})


def test_it_keeps_the_constraints_and_is_the_best_of_what_was_tried(locked):
    answers = [each for each in locked.explain_many(FAR, k=3, progress=False) if not len(each)]
    assert len(answers) > 20
    for answer in answers:
        miss = answer.nearest_miss
        assert miss.decision == "refused"
        assert not miss.is_counterfactual
        assert miss.table["income"].item() == answer.x["income"].item()
        assert 18 <= miss.table["age"].item() <= 60
        assert miss.score == pytest.approx(MODEL.predict_proba(miss.table)[0, 0])
        assert miss.score > MODEL.predict_proba(answer.x)[0, 0]
        # A smith of 60 is the best that the constraints allow: half of the way there was found.
        best = MODEL.predict_proba(answer.x.assign(age=60, job="smith"))[0, 0]
        assert miss.score >= best / 2
        assert miss.needed == 0.5


def test_it_does_not_depend_on_the_batch(locked):
    together = locked.explain_many(FAR, k=3, progress=False)
    for place in range(len(FAR)):
        alone, miss = locked.explain(FAR.iloc[place], k=3), together[place].nearest_miss
        assert (alone.nearest_miss is None) == (miss is None)
        assert miss is None or alone.nearest_miss.row.tolist() == miss.row.tolist()
        # Some are older than 60, which the others' searches must not notice.
        assert alone.model_rows == together[place].model_rows


def test_there_is_none_where_there_is_an_answer(locked):
    answer = cp.Ensemble().fit(MODEL, people()).explain(FAR.iloc[0], k=2)
    assert len(answer) == 2
    assert answer.nearest_miss is None
    granted = people()[MODEL.predict(people()) == "granted"].iloc[0]
    assert locked.explain(granted, target="granted").nearest_miss is None


def test_there_is_none_without_scores():
    explainer = cp.Ensemble().fit(decide, people(), immutable=["income"])
    answer = explainer.explain(FAR.iloc[0], k=2)
    assert not len(answer)
    assert answer.nearest_miss is None


def test_there_is_none_where_only_a_function_tells_what_is_wanted(locked):
    answer = locked.explain(FAR.iloc[0], k=2, target=lambda labels: labels == "granted")
    assert not len(answer)
    assert answer.nearest_miss is None


def test_scores_without_probabilities_are_told_as_scores():
    model = trained(kind=LinearSVC)
    answer = cp.Ensemble().fit(model, people(), immutable=["income"]).explain(FAR.iloc[0], k=2)
    miss = answer.nearest_miss
    assert miss.standing.kind is ScoreKind.SCORE
    assert miss.needed == 0.0
    assert miss.score == pytest.approx(-model.decision_function(miss.table)[0])
    assert "the score of 'granted' would be -" in str(miss)
    assert str(miss).endswith("and more than 0 is needed.")


def test_of_several_classes_the_strongest_other_is_named():
    model = trained(grade)
    answer = (
        cp.Ensemble()
        .fit(model, people(), immutable=["income"])
        .explain(people().sort_values("income").iloc[0], k=2, target="D")
    )
    miss = answer.nearest_miss
    shares = dict(zip(model.classes_, model.predict_proba(miss.table)[0], strict=True))
    assert (miss.standing.wanted, miss.standing.rival) == (("D",), max(shares, key=shares.get))
    assert (miss.score, miss.needed) == pytest.approx((shares["D"], max(shares.values())))
    assert f", and {miss.standing.rival!r} has " in str(miss)


def test_a_model_with_a_threshold_of_its_own_does_not_say_what_is_needed():
    strict = FixedThresholdClassifier(
        MODEL, threshold=0.9, pos_label="granted", response_method="predict_proba"
    )
    strict.fit(people(), decide(people()))
    X = people()[strict.predict_proba(people())[:, 0] > 0.6]
    X = X[strict.predict(X) == "refused"]
    answer = cp.Ensemble().fit(strict, people(), immutable=["income", "age", "job"]).explain(X.iloc[0], k=1)
    assert answer.nearest_miss.score > 0.5
    assert answer.nearest_miss.needed is None
    assert str(answer.nearest_miss).endswith(", and the decision is the same.")


@pytest.mark.parametrize("target", [cp.Between(low=200), cp.Between(high=-100), cp.Between(-50, -40)])
def test_the_output_of_a_regressor_is_as_near_to_the_interval_as_anything_tried(target):
    X = people()[["age", "income"]]
    line = LinearRegression().fit(X, X["income"] + X["age"] / 2)
    seen: list[float] = []

    class Remembering:
        def predict(self, table):
            outputs = line.predict(table)
            seen.extend(outputs.tolist())
            return outputs

    explainer = cp.Ensemble().fit(Remembering(), X)
    seen.clear()
    answer = explainer.explain(X.iloc[0], k=2, target=target)
    miss = answer.nearest_miss
    gaps = np.maximum(target.low - np.array(seen), np.array(seen) - target.high)
    assert max(target.low - miss.score, miss.score - target.high) == pytest.approx(gaps.min())
    assert miss.needed in (target.low, target.high)
    limit = "least" if miss.score < target.low else "most"
    assert f"the output would be {miss.score:.3g}"[:20] in str(miss)
    assert f"and at {limit} " in str(miss)


def test_a_probability_is_told_as_one(locked):
    miss = locked.explain(FAR.iloc[0], target=cp.Probability("granted", at_least=0.7)).nearest_miss
    assert "the probability of 'granted' would be " in str(miss)
    assert str(miss).endswith("and at least 0.7 is needed.")


@pytest.mark.parametrize("most", [30, 100, 400])
def test_max_rows_holds_with_it(most):
    rows = []

    class Counting:
        classes_ = MODEL.classes_

        def predict(self, table):
            rows.append(len(table))
            return MODEL.predict(table)

        def predict_proba(self, table):
            rows.append(len(table))
            return MODEL.predict_proba(table)

    explainer = cp.Ensemble().fit(Counting(), people(), immutable=["income"])
    rows.clear()
    answer = explainer.explain(FAR.iloc[0], max_rows=most)
    assert not len(answer)
    assert sum(rows) <= most + 1
    assert answer.model_rows == sum(rows)


def test_max_changes_holds_for_it():
    explainer = cp.Ensemble().fit(MODEL, people(), immutable=["income"])
    miss = explainer.explain(FAR.iloc[0], max_changes=1).nearest_miss
    assert len(miss.changes) == 1


def test_json_keeps_it_marked_as_no_counterfactual(locked):
    answer = locked.explain(FAR.iloc[0], k=2)
    text = answer.to_json()
    assert '"is_counterfactual": false' in text
    read = cp.Explanation.from_json(text)
    assert str(read) == str(answer)
    assert read.nearest_miss.table.equals(answer.nearest_miss.table)
    assert read.nearest_miss.standing == answer.nearest_miss.standing


def test_answers_of_several_runs_are_joined_with_it():
    known = people().assign(name=[f"n{i}" for i in range(200)])
    model = trained()
    explainer = cp.Neighbours().fit(lambda X: decide(X), known, immutable=["name", "income"])
    explainer = cp.Ensemble().fit(model, known, immutable=["name", "income"])
    items = [explainer.explain(FAR.iloc[0].to_dict() | {"name": name}, k=1) for name in ("new", "newer")]
    joined = cp.Explanations(items)
    assert [each.nearest_miss.table["name"].item() for each in joined] == ["new", "newer"]


def test_cards_and_reports_show_it(locked):
    answer = locked.explain(FAR.iloc[0], k=2)
    words = "The nearest miss is not a counterfactual: if "
    assert words in " ".join(str(answer).split())
    assert words in answer._repr_html_()
    assert words in report.html(report.one(answer, locked))
    assert list(answer.nearest_miss.changes.columns) == ["feature", "from", "to"]
    assert repr(answer.nearest_miss).endswith("not a counterfactual>")


def test_images_have_one_too():
    rng = np.random.default_rng(0)
    X = rng.random((60, 6, 6)).round(2)

    class Brightness:
        classes_ = np.array(["dark", "bright"])

        def predict_proba(self, images):
            share = 1 / (1 + np.exp(-20 * (images.mean(axis=(1, 2)) - 0.5)))
            return np.column_stack([1 - share, share])

        def predict(self, images):
            return self.classes_[self.predict_proba(images).argmax(axis=1)]

    fixed = np.ones((6, 6), dtype=bool)
    fixed[0, :2] = False
    x = X[np.argmin(X.mean(axis=(1, 2)))]
    miss = cp.Ensemble(codec=cp.Kernel(2)).fit(Brightness(), X, immutable=fixed).explain(x).nearest_miss
    assert (miss.table[fixed] == x[fixed]).all()
    assert "of 36 cells were different" in str(miss)
    assert miss.score == pytest.approx(Brightness().predict_proba(miss.table[None])[0, 1])


def test_a_frame_of_polars_stays_one():
    import polars as pl

    model = trained()
    X = pl.DataFrame(people().to_dict("list"))
    asking = cp.Ensemble().fit(_Pandas(model), X, immutable=["income"])
    miss = asking.explain(FAR.iloc[0].to_dict()).nearest_miss
    assert isinstance(miss.table, pl.DataFrame)


class _Pandas:
    def __init__(self, model: Any) -> None:
        self.model, self.classes_ = model, model.classes_

    def predict(self, table: Any) -> Any:
        return self.model.predict(self._pandas(table))

    def predict_proba(self, table: Any) -> Any:
        return self.model.predict_proba(self._pandas(table))

    def _pandas(self, table: Any) -> pd.DataFrame:
        return pd.DataFrame(table.to_dict(as_series=False))

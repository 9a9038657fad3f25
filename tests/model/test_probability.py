"""Targets that ask how probable a class is, and models whose probabilities decide."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint import report
from loans import decide, grade, people

SURE = cp.Probability("granted", at_least=0.9)


def trained(labels=decide, kind=LogisticRegression) -> Pipeline:
    coding = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "income"]))
    return make_pipeline(coding, kind()).fit(people(), labels(people()))


def probability(model, table, *classes):
    columns = [list(model.classes_).index(each) for each in classes]
    return model.predict_proba(table)[:, columns].sum(axis=1)


@pytest.fixture(scope="module")
def model():
    return trained()


@pytest.fixture(scope="module")
def explainer(model):
    return cp.Ensemble().fit(model, people())


def unsure(model, table, least=0.9):
    return table[probability(model, table, "granted") < least].reset_index(drop=True)


def test_every_answer_is_as_probable_as_asked_for_alone_and_in_any_batch(model, explainer):
    X = unsure(model, people(60, seed=1))
    answers = explainer.explain_many(X, k=3, target=SURE, progress=False)
    assert sum(map(len, answers)) == 3 * len(X)
    assert (probability(model, pd.concat([a.counterfactuals for a in answers]), "granted") >= 0.9).all()
    for answer in answers:
        alone = [probability(model, answer.counterfactuals.iloc[[i]], "granted") for i in range(len(answer))]
        assert min(alone) >= 0.9
        assert np.allclose(np.ravel(alone), answer.decisions)


def test_answers_do_not_depend_on_the_batch(model, explainer):
    X = unsure(model, people(20, seed=1))
    together = explainer.explain_many(X, k=3, target=SURE, progress=False)
    for place in range(len(X)):
        assert np.array_equal(explainer.explain(X.iloc[place], k=3, target=SURE).rows, together[place].rows)


def test_constraints_hold_as_with_any_other_target(model):
    X = unsure(model, people(30, seed=1))
    explainer = cp.Ensemble().fit(model, people(), immutable=["age"], decrease=["income"])
    for answer in explainer.explain_many(X, k=3, target=SURE, max_changes=2, progress=False):
        assert (answer.counterfactuals["age"] == answer.x["age"].item()).all()
        assert (answer.counterfactuals["income"] <= answer.x["income"].item()).all()
        assert (answer.changes.groupby("counterfactual").size() <= 2).all()


def test_a_class_that_is_decided_for_may_still_not_be_probable_enough(model, explainer):
    shares = probability(model, people(), "granted")
    x = people()[(shares > 0.5) & (shares < 0.8)].iloc[0]
    assert explainer.explain(x, target="granted").shortfall.already
    assert len(explainer.explain(x, k=2, target=SURE)) == 2


def test_what_is_probable_enough_has_nothing_to_change(model, explainer):
    x = people()[probability(model, people(), "granted") > 0.95].iloc[0]
    shortfall = explainer.explain(x, target=SURE).shortfall
    assert shortfall.already
    assert shortfall.reason == "the model already gives a probability of 'granted' of at least 0.9"


def test_probabilities_of_several_classes_add_up():
    model = trained(grade)
    explainer = cp.Ensemble().fit(model, people())
    target = cp.Probability(["C", "D"], at_least=0.8)
    X = people()[probability(model, people(), "C", "D") < 0.8][:20]
    for answer in explainer.explain_many(X, k=2, target=target, progress=False):
        assert len(answer) == 2
        assert (probability(model, answer.counterfactuals, "C", "D") >= 0.8).all()


def test_a_probability_can_have_a_most_too(model, explainer):
    target = cp.Probability("granted", at_least=0.5, at_most=0.6)
    answer = explainer.explain(people().iloc[0], k=3, target=target)
    assert len(answer) == 3
    shares = probability(model, answer.counterfactuals, "granted")
    assert ((shares >= 0.5) & (shares <= 0.6)).all()


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, KNeighborsClassifier], ids=["tree", "neighbours"])
def test_probabilities_that_take_few_values_are_no_classes(kind):
    model = trained(kind=kind)
    explainer = cp.Ensemble().fit(model, people())
    X = unsure(model, people(20, seed=1))
    for answer in explainer.explain_many(X, k=2, target=SURE, progress=False):
        assert len(answer) == 2
        assert (probability(model, answer.counterfactuals, "granted") >= 0.9).all()
        assert "the probability of 'granted' would be " in answer.sentences()[0]


def test_words_name_the_probability(model, explainer):
    answer = explainer.explain(people()[decide(people()) == "refused"].iloc[0], k=1, target=SURE)
    assert "Wanted: a probability of 'granted' of at least 0.9" in str(answer)
    assert "probability of 'granted'" in str(answer)
    assert "the probability of 'granted' would be 0.9" in answer.sentences()[0]


def test_json_keeps_the_probability_that_was_asked_for(explainer):
    answer = explainer.explain(people().iloc[0], k=1, target=SURE)
    read = cp.Explanation.from_json(answer.to_json())
    assert read.probability == SURE
    assert str(read) == str(answer)


def test_a_report_and_measures_are_about_probabilities(explainer, model):
    answer = explainer.explain(unsure(model, people()).iloc[0], k=2, target=SURE)
    facts = report.one(answer, explainer)
    assert facts.statements[0].text == "2 of the 2 asked for were found."
    assert "a probability of &#39;granted&#39; of at least 0.9" in report.html(facts)
    table = cp.evaluate(explainer, unsure(model, people(20)), k=2, target=SURE)
    assert table["size"].item() == 1


def test_known_instances_are_asked_about_once(model):
    calls = []

    class Counting:
        classes_ = model.classes_

        def predict(self, table):
            return model.predict(table)

        def predict_proba(self, table):
            calls.append(len(table))
            return model.predict_proba(table)

    explainer = cp.Neighbours().fit(Counting(), people())
    x = unsure(model, people()).iloc[0]
    first = explainer.explain(x, target=SURE)
    assert max(calls) == len(people())
    calls.clear()
    assert explainer.explain(x, target=SURE).rows.tolist() == first.rows.tolist()
    assert max(calls) < len(people())


def test_a_saved_explainer_takes_probabilities(model, explainer, tmp_path):
    cp.save(explainer, tmp_path / "explainer.zip")
    x = unsure(model, people()).iloc[0]
    loaded = cp.load(tmp_path / "explainer.zip", model)
    assert loaded.explain(x, target=SURE).rows.tolist() == explainer.explain(x, target=SURE).rows.tolist()


def test_a_bound_method_leads_to_its_model(model):
    x = unsure(model, people()).iloc[0]
    answer = cp.Ensemble().fit(model.predict, people()).explain(x, k=1, target=SURE)
    assert probability(model, answer.counterfactuals, "granted") >= 0.9


def test_images_can_have_probabilities():
    rng = np.random.default_rng(0)
    X = rng.random((60, 6, 6)).round(2)

    class Brightness:
        classes_ = np.array(["dark", "bright"])

        def predict_proba(self, images):
            share = 1 / (1 + np.exp(-20 * (images.mean(axis=(1, 2)) - 0.5)))
            return np.column_stack([1 - share, share])

        def predict(self, images):
            return self.classes_[self.predict_proba(images).argmax(axis=1)]

    model, target = Brightness(), cp.Probability("bright", at_least=0.8)
    x = X[model.predict(X) == "dark"][0]
    answer = cp.Ensemble(codec=cp.Kernel(2)).fit(model, X).explain(x, k=2, target=target)
    assert len(answer) == 2
    assert (model.predict_proba(answer.counterfactuals)[:, 1] >= 0.8).all()


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("give", "message"),
    [
        (lambda: cp.Probability("granted"), "such as at_least=0.7"),
        (lambda: cp.Probability("granted", at_least=70), "0 <= at_least <= at_most <= 1, got 70"),
        (lambda: cp.Probability("granted", at_least=0.7, at_most=0.6), "got 0.7 and 0.6"),
        (lambda: cp.Probability("granted", at_least="0.7"), "got '0.7'"),
        (lambda: cp.Probability([], at_least=0.7), "at least one class"),
    ],
)
def test_a_probability_that_cannot_be_is_refused(give, message):
    with pytest.raises(ValueError, match=message):
        give()


def test_a_class_that_the_model_does_not_know_is_refused(explainer):
    with pytest.raises(ValueError, match=r"\['granted', 'refused'\], got \['given'\]"):
        explainer.explain(people().iloc[0], target=cp.Probability("given", at_least=0.7))


@pytest.mark.parametrize("kind", ["a function", "scores only", "a regressor"])
def test_a_model_without_probabilities_is_refused_with_the_cure(kind):
    X = people()
    line = LinearRegression().fit(X[["age", "income"]], X["income"])
    models = {"a function": decide, "scores only": trained(kind=LinearSVC), "a regressor": line}
    X = X[["age", "income"]] if kind == "a regressor" else X
    explainer = cp.Neighbours().fit(models[kind], X)
    with pytest.raises(
        TypeError, match=r"model with predict_proba, and \w+ has none.*CalibratedClassifierCV"
    ):
        explainer.explain(X.iloc[0], target=SURE)


def test_a_single_number_in_float32_that_depends_on_the_batch_is_kept_off_the_edge():
    class Wobbling:
        """A network of float32: the last digit of its output depends on how many rows there are."""

        def predict(self, rows):
            outputs = (rows[:, 0] / 100).astype(np.float32)
            return outputs if len(rows) > 1 else np.nextafter(outputs, np.float32(-1))

    X = np.random.default_rng(0).integers(0, 100, (200, 2))
    answer = (
        cp.BruteForce(bins=100)
        .fit(Wobbling(), X)
        .explain(np.array([30, 5]), k=20, target=cp.Between(low=0.5))
    )
    assert len(answer)
    assert all(Wobbling().predict(row[None])[0] >= 0.5 for row in answer.counterfactuals)

"""Trees in skops files: those that training made need no word, and malformed ones are refused."""

import pandas as pd
import pytest
import skops.io
from applicants import applicants, decisions
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from counterpoint.cli.errors import InputError
from counterpoint.cli.trees import TREE, check_trees

NUMBERS = ["age", "amount", "duration"]
KNOWN = applicants(200)
LABELS = decisions(KNOWN)


def forest(**more):
    return RandomForestClassifier(5, random_state=0, **more)


MODELS = {
    "forest": (forest(), lambda m: m.estimators_[3].tree_),
    "tree": (DecisionTreeClassifier(random_state=0), lambda m: m.tree_),
    "extra trees": (ExtraTreesClassifier(5, random_state=0), lambda m: m.estimators_[4].tree_),
    "boosting": (GradientBoostingClassifier(n_estimators=5), lambda m: m.estimators_[2, 0].tree_),
    "pipeline": (make_pipeline(StandardScaler(), forest()), lambda m: m[1].estimators_[0].tree_),
    "bagging": (
        BaggingClassifier(forest(), 3, max_features=2),
        lambda m: m.estimators_[1].estimators_[0].tree_,
    ),
    "bagged trees": (
        BaggingClassifier(DecisionTreeClassifier(), 3, max_features=2),
        lambda m: m.estimators_[2].tree_,
    ),
    "ada boost": (AdaBoostClassifier(n_estimators=3), lambda m: m.estimators_[1].tree_),
    "calibrated": (
        CalibratedClassifierCV(forest(), cv=2),
        lambda m: m.calibrated_classifiers_[1].estimator.estimators_[2].tree_,
    ),
    "stacked": (
        StackingClassifier([("a", forest()), ("b", DecisionTreeClassifier())], forest()),
        lambda m: m.final_estimator_.estimators_[0].tree_,
    ),
}


def cycle(tree):
    tree.children_left[tree.children_left[0]] = 0
    tree.children_right[tree.children_left[0]] = 0


def out_of_range(tree):
    tree.children_right[0] = tree.node_count


def half_a_leaf(tree):
    tree.children_right[0] = -1


def two_ways(tree):
    tree.children_left[0] = tree.children_right[0]


def unknown_feature(tree):
    tree.feature[0] = tree.n_features


def negative_feature(tree):
    tree.feature[0] = -5


def too_many_nodes(tree):
    tree.node_count = tree.capacity + 1


def shallow(tree):
    tree.max_depth = 0


def load(model):
    skops.io.dump(model, "trees.skops")
    return skops.io.load("trees.skops", trusted=skops.io.get_untrusted_types(file="trees.skops"))


@pytest.mark.parametrize("name", MODELS)
def test_what_training_makes_is_accepted_and_one_wrong_tree_anywhere_is_not(here, name):
    model, tree_of = MODELS[name]
    loaded = load(model.fit(KNOWN[NUMBERS], LABELS))
    check_trees(loaded)
    out_of_range(tree_of(loaded))
    with pytest.raises(InputError, match="malformed decision tree"):
        check_trees(loaded)


@pytest.mark.parametrize(
    "spoil",
    [
        cycle,
        out_of_range,
        half_a_leaf,
        two_ways,
        unknown_feature,
        negative_feature,
        too_many_nodes,
        shallow,
    ],
)
def test_every_kind_of_malformed_tree_is_refused(here, spoil):
    loaded = load(forest().fit(KNOWN[NUMBERS], LABELS))
    spoil(loaded.estimators_[1].tree_)
    with pytest.raises(InputError, match="malformed decision tree"):
        check_trees(loaded)


def test_a_forest_gives_its_trees_the_features_they_ask_for(here):
    loaded = load(forest().fit(KNOWN[NUMBERS], LABELS))
    loaded.n_features_in_ = 2
    with pytest.raises(InputError, match="asks about 3 features, and is given 2"):
        check_trees(loaded)
    del loaded.n_features_in_  # then scikit-learn takes a table of any width
    with pytest.raises(InputError, match="asks about 3 features, and is given None"):
        check_trees(loaded)


def test_a_chain_gives_its_trees_more_features_than_it_gets(here):
    two = pd.DataFrame({"a": LABELS == "refused", "b": KNOWN["age"] > 40}).astype(int)
    check_trees(load(ClassifierChain(DecisionTreeClassifier(random_state=0)).fit(KNOWN[NUMBERS], two)))


@pytest.fixture
def asked(explain, here):
    """Explain refused rows by a model in a skops file; give the exit code."""

    def run(model, *more):
        skops.io.dump(model, "trees.skops")
        KNOWN[NUMBERS].to_csv("numbers.csv", index=False)
        pd.read_csv("refused.csv")[NUMBERS][:10].to_csv("rows.csv", index=False)
        options = ["--rows", "rows.csv", "-k", "2", "--out", "found.csv", "--quiet", *more]
        return explain(*options, model="trees.skops", data="numbers.csv", target="")

    return run


def test_a_forest_in_a_file_needs_no_trust(asked):
    model = forest().fit(KNOWN[NUMBERS], LABELS)
    assert asked(model) == 0
    found = pd.read_csv("found.csv")
    assert (model.predict(found[NUMBERS]) == found["decision"]).all()


@pytest.mark.parametrize("spoil", [cycle, out_of_range])
@pytest.mark.parametrize("trust", [(), ("--trust", TREE)])
def test_a_tampered_file_is_refused_before_it_is_asked(asked, capsys, spoil, trust):
    model = forest().fit(KNOWN[NUMBERS], LABELS)
    spoil(model.estimators_[0].tree_)
    assert asked(model, *trust) == 2
    error = capsys.readouterr().err
    assert "trees.skops" in error
    assert "malformed decision tree" in error

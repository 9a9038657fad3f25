"""Peers in processes of their own: answers, costs, limits and troubles, all with a real process."""

import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterpoint_study.models.dense_blueprint import Blueprint, Column
from counterpoint_study.peers import PEERS, Peer, PeerError, run_peer, workers
from counterpoint_study.peers.coding import Codebook
from counterpoint_study.peers.worker.limits import Clock, TimeLimit

MODULE = Path(__file__).with_name("peer_for_tests.py")
TRAIN = pd.DataFrame(
    {
        "age": [20, 30, 40, 50],
        "income": [10.0, 20.5, 80.0, 90.0],
        "job": ["cook", "clerk", "cook", "clerk"],
        "town": pd.Categorical(["B", "A", "A", "B"], categories=["B", "A", "C"]),
    }
)


class Rich:
    """Says yes to those with an income above 50; takes no missing income."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, seconds=0.0):
        self.seconds = seconds
        self.asked = []

    def predict(self, X):
        return self.classes_[self.predict_proba(X)[:, 1].round().astype(int)]

    def predict_proba(self, X):
        self.asked.append(X)
        if X["income"].isna().any():
            raise ArithmeticError("no income")
        time.sleep(self.seconds)
        return np.where(X["income"].to_numpy()[:, None] > 50, [0.2, 0.8], [0.9, 0.1])


def people(*ages):
    count = len(ages)
    town = pd.Categorical(["A"] * count, categories=["B", "A", "C"])
    return pd.DataFrame({"age": ages, "income": [30.0] * count, "job": ["cook"] * count, "town": town})


def run(what, X, model=None, gradient=False, **options):
    model = Rich() if model is None else model
    peer = Peer(what, str(MODULE), environment=None, library="tests 1", gradient=gradient)
    asked = {"k": 2, "immutable": ["town"], "categorical": ["job", "town"], **options}
    return run_peer(peer, model, TRAIN, model.predict(TRAIN), X, **asked)


# -- answers ---


def test_answers_are_the_peers_rows_in_the_models_frame():
    X = people(25, 45)
    X.loc[1, "income"] = 85.0
    X.loc[1, "job"] = "queen"  # of whom training knows nothing
    model = Rich()
    found = run("opposite", X, model)
    assert found.errors == [None, None]
    assert [table["income"].tolist() for table in found.tables] == [[80.0, 90.0], [20.5, 10.0]]
    assert [table["job"].tolist() for table in found.tables] == [["cook", "clerk"], ["clerk", "cook"]]
    assert all((table.dtypes == TRAIN.dtypes).all() for table in found.tables)
    assert all((frame.dtypes == TRAIN.dtypes).all() for frame in model.asked)
    assert (found.calls, found.rows) == ([2, 2], [5, 5])


def test_an_instance_has_its_own_seed():
    both, second = run("random", people(1, 2), seed=5), run("random", people(2), seed=6)
    assert np.array_equal(both.answers[1], second.answers[0])
    assert not np.array_equal(both.answers[0], both.answers[1])


def test_codes_keep_what_is_missing():
    frame = pd.DataFrame({"age": [1.5, np.nan], "job": ["cook", None]})
    codebook = Codebook.of(frame, frame, categorical=["job"])
    pd.testing.assert_frame_equal(codebook.decode(codebook.encode(frame)), frame)


def test_a_column_that_holds_no_numbers_must_be_named():
    with pytest.raises(TypeError, match=r"'job' holds no numbers but .*: name it in categorical"):
        run("opposite", people(25), categorical=["town"])


def test_the_networks_weights_reach_the_peer():
    columns = (
        Column("age", None, mean=40.0, scale=10.0),
        Column("income", None, mean=50.0, scale=30.0),
        Column("job", ("clerk", "cook")),
        Column("town", ("A", "B")),
    )
    weights = np.random.default_rng(0).normal(size=(6, 2))
    found = run("network", people(25), Network(Blueprint(columns, ((weights, np.array([0.1, 0.2])),))))
    assert len(found.answers[0]) == 1


class Network:
    classes_ = np.array([0, 1])

    def __init__(self, blueprint):
        self._blueprint = blueprint

    def blueprint(self):
        return self._blueprint

    def predict_proba(self, X):
        return self._blueprint.predict_proba(X)

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


# -- troubles of single instances ---

TROUBLES = {
    "none": 25,
    "killed": 101,
    "raises": 102,
    "nonsense": 103,
    "too slow": 104,
    "deaf": 105,
    "strange question": 106,
    "model failed": 107,
    "no answer": 108,
    "too many": 109,
    "strange answer": 110,
    "variables": 111,
    "none again": 26,
}


@pytest.fixture(scope="module")
def troubled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "GRACE", 0.5)
        patch.setenv("PYTHONWARNINGS", "ignore")
        return run("by age", people(*TROUBLES.values()), time_limit=0.5)


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("none", None),
        ("killed", "Died: its process was ended by SIGKILL."),
        ("raises", "LookupError: nothing here"),
        ("nonsense", "ValueError: the peer answered with an array of shape (3,), not with rows of 4"),
        ("too slow", "TimeLimit: time limit of 0.5 s"),
        ("deaf", "TimeLimit: time limit of 0.5 s, and it did not stop by itself"),
        ("strange question", "ModelFailed: CodeError: 'job' has no category number 100."),
        ("model failed", "ModelFailed: ArithmeticError: no income"),
        ("no answer", None),
        ("none again", None),
    ],
)
def test_what_goes_wrong_costs_one_instance_only(troubled, trouble, error):
    place = list(TROUBLES).index(trouble)
    assert troubled.errors[place] == error
    assert len(troubled.answers) == len(TROUBLES)
    if trouble.startswith("none"):
        assert troubled.tables[place]["income"].tolist() == [130.0]


def test_only_k_rows_are_taken(troubled):
    assert len(troubled.answers[list(TROUBLES).index("too many")]) == 2


def test_fractions_stay_and_a_category_that_does_not_exist_is_missing(troubled):
    table = troubled.tables[list(TROUBLES).index("strange answer")]
    assert table["age"].tolist() == pytest.approx([109.45])
    assert table["job"].isna().all()


def test_a_peer_has_one_thread_and_nothing_of_the_callers_python(troubled):
    threads, variables = troubled.answers[list(TROUBLES).index("variables")][0, :2]
    assert (threads, variables) == (1, 1)  # the one is PYTHONHASHSEED


def test_the_dead_have_no_cpu_time(troubled):
    unknown = [name for name, cpu in zip(TROUBLES, troubled.cpu_seconds, strict=True) if np.isnan(cpu)]
    assert unknown == ["killed", "deaf"]
    assert max(troubled.wall_seconds) < 1


# -- costs and limits ---


def test_the_way_to_the_model_and_conversions_are_not_charged():
    found = run("slow", people(25), Rich(seconds=0.2), time_limit=1.0)
    assert found.errors == [None]  # though it took 1.3 s in all
    assert 0.3 <= found.wall_seconds[0] < 0.8
    assert found.cpu_seconds[0] < 0.2


def test_the_models_seconds_count_against_the_limit():
    found = run("slow", people(25), Rich(seconds=1.0), time_limit=0.5)
    assert found.errors == ["TimeLimit: time limit of 0.5 s"]


def test_no_instance_is_begun_when_the_budget_is_used_up():
    found = run("slow", people(*range(25, 45)), budget=1.6)
    assert [len(found.answers), len(found.errors), len(found.wall_seconds)] == [2, 2, 2]


def test_a_clock_is_not_fooled_by_nested_pauses():
    clock = Clock()
    clock.start(limit=0.2)
    with clock.paused(), clock.paused():
        time.sleep(0.3)
    with pytest.raises(TimeLimit):
        time.sleep(0.4)
    clock.stop()
    assert 0.2 <= clock.wall < 0.4
    assert 0.3 <= clock.pause < 0.5


# -- peers that cannot run ---


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("cannot", "cannot cannot be set up: This peer explains nothing at all."),
        ("unheard of", "unheard of cannot be set up: KeyError: 'unheard of'"),
        ("dies at once", "dies at once died when it was set up: its process ended with code 3: "),
        ("asks at once", "asks at once cannot be set up: ModelFailed: CodeError: 'job' has no category"),
        ("dies of everything", "dies of everything dies of every instance: .* ended by SIGKILL"),
    ],
)
def test_a_peer_that_cannot_run_says_why(what, message):
    with pytest.raises(PeerError, match=f"^{message}"):
        run(what, people(25, 26, 27))


def test_gradients_need_a_network():
    with pytest.raises(PeerError, match="opposite must differentiate the model, which has no gradients"):
        run("opposite", people(25), gradient=True)


def test_every_peer_has_its_files():
    own = [path for peer in PEERS.values() for path in peer.files]
    assert [path for path in own if not path.exists()] == []
    assert {"peer_nice.py", "bench.txt", "bench-nodeps.txt", "rows.py"} <= {
        path.name for path in PEERS["NICE"].files
    }


# -- those alike ---


def test_each_instance_is_followed_by_the_one_alike_in_the_same_process():
    found = run("by age", people(25, 45), alike=people(26, 46))
    alone = run("by age", people(26, 46))
    assert [each.tolist() for each in found.near_answers] == [each.tolist() for each in alone.answers]
    assert [table["age"].item() for table in found.near_tables] == [26, 46]


def test_one_alike_is_asked_about_only_where_there_is_an_answer():
    found = run("by age", people(TROUBLES["raises"], 25, TROUBLES["no answer"]), alike=people(26, 27, 28))
    assert [len(each) for each in found.near_answers] == [0, 1, 0]
    assert [len(each) for each in found.answers] == [0, 1, 0]


def test_seconds_for_those_alike_count_but_none_is_left_out_for_them():
    found = run("slow", people(*range(25, 45)), alike=people(*range(25, 45)), budget=0.5)
    assert [len(found.answers), len(found.near_answers[0])] == [1, 1]


def test_there_must_be_one_alike_for_each():
    with pytest.raises(ValueError, match="alike must have one instance for each of X, 2, got 1"):
        run("by age", people(25, 26), alike=people(25))

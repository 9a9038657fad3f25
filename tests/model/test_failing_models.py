"""Errors of models that fail."""

import pytest

import counterpoint as cp
from loans import decide, people, refused


def test_the_cause_of_a_failing_model_is_kept():
    with pytest.raises(cp.ModelError) as caught:
        cp.Ensemble().fit(lambda frame: 1 / 0, people())
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Fails:
    """A model that fails on some rows, once it has seen the known instances."""

    def __init__(self, when):
        self.when = when
        self.fitted = False

    def predict(self, frame):
        if self.fitted and self.when(frame):
            raise RuntimeError("out of memory")
        self.fitted = True
        return decide(frame)


def test_a_failing_model_names_the_explainer():
    # It answers about x itself and fails on the first candidates.
    explainer = cp.Ensemble([cp.Neighbours()]).fit(Fails(lambda frame: len(frame) > 1), people())
    with pytest.raises(
        cp.ModelError, match=r"The model raised RuntimeError: out of memory.*asked by Neighbours"
    ):
        explainer.explain(refused().iloc[0])


def test_a_failing_model_names_the_instance_and_the_others_are_not_lost():
    X = refused()[:6].assign(age=[30, 31, 32, 33, 34, 35])
    # A loan for anyone aged 33 breaks the model, and only x number 3 may not change its age away from it.
    model = Fails(lambda frame: ((frame["age"] == 33) & (frame["income"] > 70)).any())
    explainer = cp.Tree().fit(model, people(), immutable=["age"])
    with pytest.raises(
        cp.IncompleteError, match=r"1 of 6 .*X\[3\].*out of memory.*asked by Tree.*\.finished"
    ) as caught:
        explainer.explain_many(X, k=2, progress=False)
    assert list(caught.value.failed) == [3]
    assert isinstance(caught.value.failed[3], cp.ModelError)
    finished = caught.value.finished
    assert [int(answer.x["age"].iloc[0]) for answer in finished] == [30, 31, 32, 34, 35]
    assert all(len(answer) for answer in finished)


def test_a_model_that_fails_on_all_leaves_nothing_finished():
    explainer = cp.Ensemble().fit(Fails(lambda frame: len(frame) > 5), people())
    with pytest.raises(cp.IncompleteError, match="3 of 3") as caught:
        explainer.explain_many(refused()[:3], progress=False)
    assert len(caught.value.finished) == 0
    assert list(caught.value.failed) == [0, 1, 2]


def test_a_model_that_fails_on_the_instances_themselves_names_them():
    X = refused()[:4].assign(age=[30, 31, 99, 33])
    explainer = cp.Tree().fit(Fails(lambda frame: (frame["age"] == 99).any()), people())
    with pytest.raises((cp.IncompleteError, cp.ModelError), match="out of memory"):
        explainer.explain_many(X, progress=False)


def test_a_model_whose_labels_change_their_number_in_the_middle():
    def forgetful(frame):
        return decide(frame)[: -1 if len(frame) not in (1, 200) else None]

    with pytest.raises(cp.ModelError, match=r"must return one label per row"):
        cp.Tree().fit(forgetful, people()).explain(refused().iloc[0])

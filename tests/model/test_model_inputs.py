"""The tables that the model gets."""

import numpy as np
import pandas as pd

import counterpoint as cp
from loans import Spy, decide, people


def test_the_model_gets_frames_like_the_one_it_was_trained_on():
    X = people().astype({"age": "int16", "income": "float32"})
    X["code"] = pd.Categorical(X["age"] % 3, categories=[2, 1, 0, 9])
    X["note"] = pd.Series(np.where(X["age"] > 40, "a", "b"), dtype=object)
    X["count"] = pd.array(X["age"] % 5, dtype="Int64")
    X.loc[::7, "count"] = pd.NA
    spy = Spy(decide)
    explainer = cp.Ensemble().fit(spy, X)
    explainer.explain_many(X[:4], k=3, progress=False)
    assert len(spy.tables) > 3
    for table in spy.tables:
        pd.testing.assert_index_equal(table.columns, X.columns)
        pd.testing.assert_series_equal(table.dtypes, X.dtypes)


def test_known_instances_reach_the_model_as_they_are():
    X = people()
    spy = Spy(decide)
    cp.Ensemble().fit(spy, X)
    pd.testing.assert_frame_equal(spy.tables[0], X)


def test_the_model_is_asked_once_about_all_known_instances():
    spy = Spy(decide)
    cp.Ensemble().fit(spy, people())
    assert len(spy.tables) == 1

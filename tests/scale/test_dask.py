"""Dask, with two worker processes: the answers of one process, whatever happens to partitions and workers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from engines import LEVELS, Forest, fitted, loans, rows, same

import counterpoint as cp
from counterpoint import scale
from model_server import serving

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

SIZE = 5_000


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        with cluster, distributed.Client(cluster) as client:
            yield client


def test_two_workers_give_the_answers_of_one_process(client):
    explainer, frame = fitted(), rows(SIZE)
    found = scale.explain(dd.from_pandas(frame, npartitions=7), explainer, k=2, id="application")
    assert isinstance(found, dd.DataFrame)
    result = found.compute()
    assert result.dtypes.equals(found.dtypes)
    assert result.dtypes[1:].equals(explainer.explain_frame(frame[:0], id="application").dtypes[1:])
    same(result, explainer.explain_frame(frame, k=2, id="application"))
    assert result["education"].dtype == LEVELS
    assert result["age"].dtype == "Int64"


def test_two_questions_to_one_explainer_can_be_computed_together(client):
    explainer, frame = fitted(), rows(100)
    data = dd.from_pandas(frame, npartitions=2)
    one, two = (scale.explain(data, explainer, k=k, id="application") for k in (1, 2))
    for k, found in zip((1, 2), dask.compute(one, two), strict=True):
        same(found, explainer.explain_frame(frame, k=k, id="application"))


def test_workers_ask_a_remote_model_themselves(client):
    def decide(frame):
        if (frame["income"] == 666).any():
            raise ValueError("a trap")
        return np.where(frame["income"] + frame["age"] / 2 > 80, "granted", "refused")

    frame = rows(60)
    with serving(decide) as server:
        explainer = cp.Tree().fit(cp.RemoteModel(server.v2), loans(200))
        data = dd.from_pandas(frame, npartitions=3)
        found = scale.explain(data, explainer, k=1, id="application").compute()
        same(found, explainer.explain_frame(frame, k=1, id="application"))


def test_a_large_explainer_is_sent_without_a_warning(client):
    frame = rows(100)
    noise = np.random.default_rng(0).bytes(12_000_000)  # more than Dask likes in a graph

    class Large(Forest):
        weights = noise

    explainer = cp.Neighbours().fit(Large(), loans(400), immutable=["age"])
    data = dd.from_pandas(frame, npartitions=2)
    with warnings.catch_warnings(action="error", category=UserWarning):
        found = scale.explain(data, explainer, k=1, id="application").compute()
    same(found, fitted().explain_frame(frame, k=1, id="application"))


def test_a_worker_killed_in_the_middle_changes_nothing(client, tmp_path):
    explainer, frame = fitted(tmp_path / "died"), rows(600)
    frame.loc[400, "income"] = 777.0
    found = scale.explain(dd.from_pandas(frame, npartitions=6), explainer, k=2, id="application").compute()
    assert (tmp_path / "died").exists()
    same(found, explainer.explain_frame(frame, k=2, id="application"))


def test_empty_and_skewed_partitions(client):
    explainer, frame = fitted(), rows(700)
    parts = [frame[:0], frame[:680], frame[680:681], frame[681:], frame[:0]]
    data = dd.from_map(lambda part: part, parts, meta=frame[:0])
    found = scale.explain(data, explainer, k=2, id="application")
    same(found.compute(), explainer.explain_frame(frame, k=2, id="application"))
    empty = found.partitions[0].compute()
    assert len(empty) == 0
    assert empty.dtypes.equals(found.dtypes)


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_other_schedulers_and_the_index_as_id(scheduler):
    explainer, frame = fitted(), rows(300).drop(columns="application")
    data = dd.from_pandas(frame, npartitions=4)
    found = scale.explain(data, explainer, k=2).compute(scheduler=scheduler)
    expected = explainer.explain_frame(frame, k=2)
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected, check_exact=True)


def test_the_model_is_not_asked_before_there_are_rows():
    calls = []

    def model(frame):
        calls.append(len(frame))
        return frame["income"].to_numpy() > 50

    frame = rows(40).drop(index=[3, 5])
    explainer = cp.Neighbours().fit(model, frame.drop(columns="application"))
    calls.clear()
    scale.explain(dd.from_pandas(frame, npartitions=2), explainer, k=1, id="application", target=True)
    assert calls == []


def test_parquet_keeps_the_types(client, tmp_path):
    explainer, frame = fitted(), rows(300)
    data = dd.from_pandas(frame, npartitions=3)
    schema = explainer.frame_schema("arrow", id="application", id_dtype="str")
    scale.explain(data, explainer, k=2, id="application").to_parquet(tmp_path / "out", schema=schema)
    found = pd.read_parquet(tmp_path / "out")
    same(found, explainer.explain_frame(frame, k=2, id="application"))


def test_joblib_runs_jobs_on_dask(client):
    import joblib

    explainer, frame = fitted(), rows(400).drop(columns="application", index=[3, 5])
    with joblib.parallel_config("dask", client=client):
        found = explainer.explain_many(frame, k=2, progress=False, jobs=2)
    pd.testing.assert_frame_equal(found.frame, explainer.explain_many(frame, k=2, progress=False).frame)


def test_what_cannot_be_is_refused():
    explainer = fitted()
    with pytest.raises(TypeError, match=r"got DataFrame. For a pandas frame use explainer.explain_frame"):
        scale.explain(rows(9), explainer, id="application")
    data = dd.from_pandas(rows(9), npartitions=1)
    with pytest.raises(TypeError, match="progress is decided by the engine"):
        scale.explain(data, explainer, id="application", progress=True)
    with pytest.raises(ValueError, match="id must name a column that is not a feature"):
        scale.explain(data, explainer, id="age")
    assert np.isfinite(len(data))

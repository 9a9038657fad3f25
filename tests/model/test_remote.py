"""Models on servers: real ones on loopback, which can be slow, busy, down, or answer garbage."""

import os
import pickle
import socket
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.explainers.parallel import packed
from counterpoint.model.adapters.remote.address import protocol_of
from counterpoint.model.adapters.remote.columns import Column, columns_of
from loans import decide, people, polars_people, refused
from model_server import serving

pytest.importorskip("httpx")

QUICK = {"retries": 2, "backoff": 0.01}
PROTOCOLS = ("v1", "v2", "mlflow")
ADDRESSES = ("oip+http://host/v2/models/a", "http://host/v1/models/a:predict", "http://host/invocations")
KEYS = st.sampled_from(["outputs", "predictions", "data", "datatype", "shape", "name"])


def decide_frame(frame):
    """Decide about what came over the wire, and refuse types that were lost on the way."""
    assert list(frame.columns) == list(people(1).columns)
    assert frame["age"].dtype.kind == "i"
    assert frame["owner"].dtype == bool
    assert {type(value) for value in frame["job"]} == {str}
    return decide(frame)


def by_first(rows):
    return np.where(np.asarray(rows)[:, 0] > 0, 1, 0)


def unused_address():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1/models/credit:predict"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("make", [people, polars_people], ids=["pandas", "polars"])
def test_a_remote_model_decides_as_the_model_itself(protocol, make):
    frame = make(250)
    with serving(decide_frame) as server:
        model = cp.RemoteModel(getattr(server, protocol), batch=100)
        assert model.predict(frame).tolist() == decide(frame).tolist()
        # V1 finds the form of rows with a few of them.
        assert server.asked == [3] * (protocol == "v1") + [100, 100, 50]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_answers_are_those_of_the_model_itself(protocol):
    X, x = people(), refused()[:6]
    here = cp.Ensemble(seed=1).fit(decide, X, immutable=["age"]).explain_many(x, 3, progress=False)
    with serving(decide_frame) as server:
        model = cp.RemoteModel(getattr(server, protocol), batch=77)
        explainer = cp.Ensemble(seed=1).fit(model, X, immutable=["age"])
        there = explainer.explain_many(x, 3, progress=False)
        alone = explainer.explain(x.iloc[2], 3)
    assert there.frame.equals(here.frame)
    assert np.array_equal(alone.rows, there[2].rows)
    assert max(server.asked) <= 77


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_arrays_go_as_one_tensor(protocol):
    rows = np.random.default_rng(0).normal(size=(50, 3))
    with serving(by_first) as server:
        labels = cp.RemoteModel(getattr(server, protocol)).predict(rows)
    assert labels.tolist() == by_first(rows).tolist()
    assert labels.dtype.kind == "i"


@pytest.mark.parametrize("form", ["record", "cells", "list"])
def test_the_form_of_rows_is_found_by_trying_and_then_kept(form):
    frame = people(20)[["income", "age", "job"]]
    with serving(lambda table: [1] * len(table), rows=form) as server:
        model = cp.RemoteModel(server.v1).on(frame)
        assert model.protocol.row_form == form
        tried = len(server.paths)
        assert model.predict(frame).tolist() == [1] * 20
        assert len(server.paths) == tried + 1


def test_a_server_that_refuses_every_form_says_why():
    with serving(lambda _: 1 / 0) as server, pytest.raises(cp.ModelError) as caught:
        cp.RemoteModel(server.v1, **QUICK).on(people(5))
    assert f"The model at {server.v1} answered 500: ZeroDivisionError: division by zero" in str(caught.value)
    assert "trained on these columns: age, income" in str(caught.value)


def test_other_forms_are_not_tried_if_the_form_is_not_to_blame():
    with (
        serving(decide_frame, says=b"no such model", status=404) as server,
        pytest.raises(cp.ModelError, match=r"404: no such model\. Check the name of the model") as caught,
    ):
        cp.RemoteModel(server.v1, **QUICK).on(people(5))
    assert len(server.paths) == 1
    assert pickle.loads(pickle.dumps(caught.value)).args == caught.value.args


def test_metadata_decides_between_columns_and_a_matrix():
    frame = people(10)[["income", "age"]]
    matrix = [{"name": "dense", "datatype": "FP32", "shape": [-1, 2]}]
    with serving(lambda table: table[:, 1] > 40, inputs=matrix) as server:
        model = cp.RemoteModel(server.v2)
        assert model.feature_names() is None
        assert model.predict(frame).tolist() == (frame["age"] > 40).tolist()
        with pytest.raises(TypeError, match="columns that are not numbers: job"):
            model.predict(people(10)[["income", "job"]])
    both = [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in ("age", "income")]
    with serving(lambda table: table["age"] > 40, inputs=both) as server:
        model = cp.RemoteModel(server.v2)
        assert model.feature_names() == ("age", "income")
        assert model.predict(frame).tolist() == (frame["age"] > 40).tolist()
        with pytest.raises(TypeError, match=r"has the inputs age, income: X must .* got an array of shape"):
            model.predict(frame.to_numpy())


def test_images_take_the_shape_that_the_model_expects():
    images = np.random.default_rng(0).uniform(size=(5, 4, 4)).astype(np.float32)
    shapes = []

    def look(table):
        shapes.append(table.shape)
        return table.reshape(len(table), -1).mean(axis=1) > 0.5

    inputs = [{"name": "x", "datatype": "FP32", "shape": [-1, 1, 4, 4]}]
    with serving(look, inputs=inputs) as server:
        labels = cp.RemoteModel(server.v2, batch=3).predict(images)
    assert shapes == [(3, 1, 4, 4), (2, 1, 4, 4)]
    assert labels.tolist() == (images.astype(float).mean(axis=(1, 2)) > 0.5).tolist()


def test_missing_values_and_dates_are_sent_as_json_has_them():
    frame = pd.DataFrame(
        {
            "score": [1.5, np.nan],
            "visits": pd.array([2, None], dtype="Int64"),
            "job": ["clerk", None],
            "since": pd.to_datetime(["2024-05-01", None]),
            "kind": pd.Categorical([3, 4]),
            "small": np.array([1, 2], dtype=np.int8),
        }
    )
    assert columns_of(frame) == [
        Column("score", [1.5, None], "FP64"),
        Column("visits", [2.0, None], "FP64"),
        Column("job", ["clerk", None], "BYTES"),
        Column("since", ["2024-05-01T00:00:00", None], "datetime"),
        Column("kind", [3, 4], "INT64"),
        Column("small", [1, 2], "INT8"),
    ]
    assert columns_of(pl.from_pandas(frame[["job", "score"]]))[0] == Column("job", ["clerk", None], "BYTES")
    with pytest.raises(TypeError, match="got mixed-integer values in the column 'odd'"):
        columns_of(pd.DataFrame({"odd": [1, "a"]}, dtype=object))


def test_scores_become_labels_or_stay():
    def shares(rows):
        return np.stack([1 - rows[:, 0], rows[:, 0]], axis=1)

    rows = np.array([[0.25], [0.75]])
    with serving(shares) as server:
        for address in (server.v1, server.v2):
            assert cp.RemoteModel(address).predict(rows).tolist() == [0, 1]
            named = cp.RemoteModel(address, classes=["no", "yes"])
            assert named.predict(rows).tolist() == ["no", "yes"]
            assert cp.RemoteModel(address, output="scores").predict(rows).shape == (2, 2)
    with serving(lambda rows: rows[:, 0]) as server:
        for address in (server.v1, server.v2):
            assert cp.RemoteModel(address).predict(rows).tolist() == [0.25, 0.75]
            assert cp.RemoteModel(address, threshold=0.2).predict(rows).tolist() == [1, 1]
            assert cp.RemoteModel(address, classes=["no", "yes"]).predict(rows).tolist() == ["no", "yes"]


def test_requests_are_split_by_size_and_when_the_server_says_so():
    frame = people(200)
    with serving(decide_frame) as server:
        labels = cp.RemoteModel(server.mlflow, max_bytes=2_000).predict(frame)
        assert labels.tolist() == decide(frame).tolist()
        assert max(server.sizes) <= 2_000
        assert len(server.sizes) < 20
    with serving(decide_frame, largest=3_000) as server:
        assert cp.RemoteModel(server.mlflow).predict(frame).tolist() == decide(frame).tolist()
        assert sum(server.asked) == 200
    with serving(decide_frame, largest=5) as server, pytest.raises(cp.ModelError, match="single row"):
        cp.RemoteModel(server.mlflow).predict(frame)


@pytest.mark.parametrize("status", [503, 429, 502])
def test_a_busy_server_is_asked_again(status):
    with serving(by_first, first=[status, status]) as server:
        assert cp.RemoteModel(server.v1, **QUICK).predict(np.ones((2, 1))).tolist() == [1, 1]
        assert len(server.paths) == 3
    with (
        serving(by_first, first=[status] * 3) as server,
        pytest.raises(cp.ModelError, match=f"{status}: not yet, after 3 tries"),
    ):
        cp.RemoteModel(server.v1, **QUICK).predict(np.ones((2, 1)))


def test_waits_grow_and_heed_what_the_server_asks_for(monkeypatch):
    waits = []
    monkeypatch.setattr("counterpoint.model.adapters.remote.http.sleep", waits.append)
    with serving(by_first, first=[503, 503, 503]) as server:
        cp.RemoteModel(server.v1, retries=3, backoff=0.5).predict(np.ones((1, 1)))
    assert waits == [0.5, 1.0, 2.0]
    waits.clear()
    with serving(by_first, first=[503], headers={"retry-after": "7"}) as server:
        cp.RemoteModel(server.v1).predict(np.ones((1, 1)))
    assert waits == [7.0]


def test_an_error_of_the_model_is_not_tried_again():
    with serving(lambda _: 1 / 0) as server, pytest.raises(cp.ModelError, match="division by zero") as caught:
        cp.RemoteModel(server.v1).predict(np.ones((2, 1)))
    assert not caught.value.is_down
    assert len(server.paths) == 1


@pytest.mark.parametrize("how", [{"delay": 0.5}, {"drip": 0.05}], ids=["slow", "dripping"])
def test_a_slow_server_is_given_up(how):
    started = time.monotonic()
    with (
        serving(by_first, **how) as server,
        pytest.raises(cp.ModelError, match=r"answer within 0.2 s, after 2 tries") as caught,
    ):
        cp.RemoteModel(server.v1, timeout=0.2, retries=1, backoff=0).predict(np.ones((2, 1)))
    assert caught.value.is_down
    assert time.monotonic() - started < 2


def test_a_server_that_is_down_is_named_with_the_cure():
    address = unused_address()
    with pytest.raises(cp.ModelError, match=r"refused, after 3 tries\. Check that the server") as caught:
        cp.Tree().fit(cp.RemoteModel(address, **QUICK), people(50))
    assert f"The model at {address} cannot be reached" in str(caught.value)


def test_a_server_that_goes_down_is_not_asked_row_by_row():
    X, x = people(), refused()[:40]
    with serving(decide_frame) as server:
        explainer = cp.Tree().fit(cp.RemoteModel(server.mlflow, **QUICK), X)
        server.first = [503] * 10_000
        before = len(server.paths)
        with pytest.raises(cp.IncompleteError) as caught:
            explainer.explain_many(x, 2, progress=False)
        assert len(server.paths) - before == 3  # the tries of one request
    assert len(caught.value.failed) == len(x)
    assert all("cannot be reached" in str(error) for error in caught.value.failed.values())


def test_a_row_that_the_model_fails_on_harms_no_other():
    X, x = people(), refused()[:5]

    def fails_on_one(frame):
        if (frame["age"] == x["age"][3]).any():
            raise ValueError("an age that I cannot bear")
        return decide(frame)

    x.loc[x.index != 3, "age"] = [20, 21, 22, 23]
    x.loc[3, "age"] = 77
    X = X[X["age"] < 70]
    with serving(fails_on_one) as server:
        explainer = cp.Neighbours().fit(cp.RemoteModel(server.v2, **QUICK), X, immutable=["age"])
        with pytest.raises(cp.IncompleteError) as caught:
            explainer.explain_many(x, 1, progress=False)
    assert list(caught.value.failed) == [3]
    assert "an age that I cannot bear" in str(caught.value.failed[3])


@pytest.mark.parametrize(
    ("says", "error"),
    [
        (b"<html>hello</html>", "must answer with JSON, got '<html>hello</html>'"),
        (b"", "must answer with JSON, got 'nothing'"),
        (b"[" * 100_000, "must answer with JSON"),
        (b"[1, 2]", 'a JSON object that has a list of "predictions"'),
        (b'{"predictions": [1]}', "2 predictions, one per row, got '1'"),
        (b'{"predictions": [1, "a"]}', r"all texts, all numbers or all bools.*int, str"),
        (b'{"predictions": [1, 1%s]}' % (b"0" * 30), "all texts, all numbers or all bools"),
        (b'{"predictions": [null, 1]}', "all texts, all numbers or all bools"),
        (b'{"predictions": [[1, 2], [3]]}', "equally many numbers per row"),
        (b'{"predictions": [{"a": 1, "b": 2}, {"a": 1, "b": 2}]}', "dict"),
    ],
)
def test_garbage_is_said_to_be_garbage(says, error):
    with serving(by_first, says=says) as server, pytest.raises(cp.ModelError, match=error) as caught:
        cp.RemoteModel(server.v1).predict(np.ones((2, 1)))
    assert server.v1 in str(caught.value)


def test_texts_in_one_answer_and_numbers_in_another_are_refused():
    def changes_its_mind(rows):
        return ["yes"] if rows[0, 0] > 0 else [3]

    with (
        serving(changes_its_mind) as server,
        pytest.raises(cp.ModelError, match="texts to all requests, or to none"),
    ):
        cp.RemoteModel(server.v1, batch=1).predict(np.array([[1.0], [-1.0]]))


@pytest.mark.parametrize(
    "says",
    [
        b"{}",
        b"[]",
        b'{"outputs": []}',
        b'{"outputs": [{"datatype": "FP64"}]}',
        b'{"outputs": 3}',
        b"null",
        b'{"outputs": [{"datatype": "BYTES", "data": "ab"}]}',
    ],
)
def test_garbage_of_the_open_inference_protocol(says):
    with serving(by_first, says=says) as server, pytest.raises(cp.ModelError, match='JSON "outputs"'):
        cp.RemoteModel(server.v2).predict(np.ones((2, 1)))


def test_too_few_outputs_of_the_open_inference_protocol():
    says = b'{"outputs": [{"datatype": "INT64", "shape": [3], "data": [1, 2, 3]}]}'
    with serving(by_first, says=says) as server, pytest.raises(cp.ModelError, match="one output per row"):
        cp.RemoteModel(server.v2).predict(np.ones((2, 1)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(KEYS, parts, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(JSON, st.dictionaries(KEYS, JSON, max_size=4), st.sampled_from(["labels", "scores"]))
def test_whatever_a_server_says_is_outputs_or_a_model_error(anything, document, output):
    said = [
        anything,
        document,
        {"outputs": [document]},
        {"outputs": [{"datatype": "FP64", "data": anything}]},
    ]
    for protocol in map(protocol_of, ADDRESSES):
        for each in (*said, {"predictions": anything}):
            try:
                outputs = protocol.outputs(each, 2, output)
            except cp.ModelError:
                continue
            assert len(outputs) == 2
            assert outputs.dtype.kind in "biufU"


@pytest.mark.parametrize(
    ("status", "cure"), [(401, "token_variable"), (404, "name of the model"), (307, "give that address")]
)
def test_errors_of_a_server_name_their_cure(status, cure):
    with (
        serving(by_first, says=b"no\x1b[31m", status=status, headers={"location": "/"}) as server,
        pytest.raises(cp.ModelError, match=cure) as caught,
    ):
        cp.RemoteModel(server.v1).predict(np.ones((1, 1)))
    assert f"answered {status}: no\\x1b[31m" in str(caught.value)


def test_a_token_comes_from_the_environment_and_is_kept_nowhere(monkeypatch):
    monkeypatch.setenv("COUNTERPOINT_MODEL_TOKEN", "abc-secret")
    with serving(by_first, token="abc-secret") as server:
        model = cp.RemoteModel(server.v1)
        assert model.predict(np.ones((1, 1))).tolist() == [1]
        assert b"abc-secret" not in pickle.dumps(model)
        with pytest.raises(cp.ModelError, match="401: who are you"):
            cp.RemoteModel(server.v1, token_variable=None).predict(np.ones((1, 1)))


def test_a_broken_token_is_not_shown(monkeypatch):
    monkeypatch.setenv("COUNTERPOINT_MODEL_TOKEN", "abc\nsecret")
    with serving(by_first) as server, pytest.raises(ValueError, match="in one line") as caught:
        cp.RemoteModel(server.v1).predict(np.ones((1, 1)))
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("COUNTERPOINT_MODEL_TOKEN", "abc\n")  # as a file that ends in a new line gives it
    with serving(by_first, token="abc") as server:
        assert cp.RemoteModel(server.v1).predict(np.ones((1, 1))).tolist() == [1]


def test_an_answer_that_cannot_be_unpacked_is_no_answer():
    broken = {"content-encoding": "gzip"}
    with serving(by_first, headers=broken) as server, pytest.raises(cp.ModelError, match="cannot be reached"):
        cp.RemoteModel(server.v1, retries=0).predict(np.ones((1, 1)))


def test_passwords_in_an_address_are_not_shown():
    address = unused_address().replace("http://", "http://ann:secret@")
    with pytest.raises(cp.ModelError) as caught:
        cp.RemoteModel(address, retries=0).predict(np.ones((1, 1)))
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(cp.RemoteModel(address))


@pytest.mark.parametrize(
    "address",
    ["http://host/models/credit", "credit", "ftp://host/v1/models/c:predict", "http://:80/v2/models/c",
     "http://host:port/invocations", "oip+/v2/models/credit", ""],
)  # fmt: skip
def test_addresses_that_mean_nothing_are_refused(address):
    with pytest.raises(ValueError, match=r"must be such as oip\+http"):
        cp.RemoteModel(address)


@pytest.mark.parametrize(
    "setting", [{"batch": 0}, {"timeout": 0}, {"retries": -1}, {"backoff": -1}, {"output": "x"}]
)
def test_settings_are_checked(setting):
    with pytest.raises(ValueError, match=f"RemoteModel.{next(iter(setting))} must be"):
        cp.RemoteModel("http://host/invocations", **setting)


def test_infinite_numbers_cannot_be_sent():
    with serving(by_first) as server, pytest.raises(ValueError, match="infinite"):
        cp.RemoteModel(server.v1).predict(np.array([[np.inf]]))


def test_a_saved_explainer_is_loaded_with_a_remote_model(tmp_path):
    X, x = people(), refused()[:3]
    with serving(decide_frame) as server:
        model = cp.RemoteModel(server.v2)
        explainer = cp.Tree().fit(model, X)
        cp.save(explainer, tmp_path / "tree.cp")
        again = cp.load(tmp_path / "tree.cp", cp.RemoteModel(server.v1))
        one, other = (each.explain_many(x, 2, progress=False).frame for each in (explainer, again))
        assert one.equals(other)
        assert server.v2.encode() not in (tmp_path / "tree.cp").read_bytes()


def labels_elsewhere(model, rows):
    return os.getpid(), model.predict(rows).tolist()


def test_a_forked_process_opens_a_connection_of_its_own():
    rows = np.array([[1.0], [-1.0]])
    with serving(by_first) as server:
        model = cp.RemoteModel(server.v2).on(rows)
        assert model.predict(rows).tolist() == [1, 0]  # opens a connection, which is not sent
        with ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool:
            process, labels = pool.submit(labels_elsewhere, model, rows).result(timeout=60)
    assert process != os.getpid()
    assert labels == [1, 0]


def test_an_explainer_is_packed_with_its_remote_model():
    X, x = people(), refused()[:5]
    with serving(decide_frame) as server:
        explainer = cp.Tree().fit(cp.RemoteModel(server.v1), X)
        found = explainer.explain_many(x, 2, progress=False)
        opened = pickle.loads(pickle.dumps(packed(explainer))).open()
        tried = len(server.paths)
        assert opened.explain_many(x, 2, progress=False).frame.equals(found.frame)
        assert len(server.paths) - tried == found.model_calls  # it knows the form of rows
    assert opened.fitted_.blackbox.model == explainer.fitted_.blackbox.model


def test_without_httpx_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "httpx", None)
    with pytest.raises(ImportError, match=r"counterpoint\[remote\]"):
        cp.RemoteModel("http://127.0.0.1:9/invocations").predict(np.ones((1, 1)))

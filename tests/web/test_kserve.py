"""KServe's protocols: what other servers' clients send is understood, and answered as they expect."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from clients import ROW, quick, serve

from loans import TABLES, decide_array, people

DATATYPES = ["INT64", "FP64", "BYTES", "BOOL", "BYTES"]


def tensors(*rows, width=None):
    """Write rows as one tensor per column."""
    shape = [len(rows)] if width is None else [len(rows), width]
    return [
        {"name": name, "shape": shape, "datatype": datatype, "data": [row[name] for row in rows]}
        for name, datatype in zip(ROW, DATATYPES, strict=True)
    ]


def test_v1_predicts_and_explains(client, explainer):
    assert client.get("/v1/models").json() == {"models": ["credit"]}
    assert client.get("/v1/models/credit").json() == {"name": "credit", "ready": True}
    rows = [ROW, list((ROW | {"income": 90.0}).values())]
    said = client.post("/v1/models/credit:predict", json={"instances": rows}).json()
    assert said == {"predictions": ["refused", "granted"]}
    asked = {"instances": [ROW], "parameters": {"k": 2, "constraints": {"immutable": ["age"]}}}
    (answer,) = client.post("/v1/models/credit:explain", json=asked).json()["explanations"]
    expected = explainer.explain(ROW, k=2, immutable=["age", "owner"])
    assert [each["sentence"] for each in answer["counterfactuals"]] == expected.sentences()


def test_v1_checks_parameters(client):
    asked = {"instances": [ROW], "parameters": {"size": 3}}
    refused = client.post("/v1/models/credit:explain", json=asked)
    assert refused.status_code == 422
    assert "unknown keys ['size']" in refused.json()["error"]
    assert client.post("/v1/models/credit:predict", json=asked).status_code == 200
    assert client.post("/v1/models/credit:predict", json=asked | {"parameters": 3}).status_code == 422


def test_v2_tells_of_itself(client):
    assert client.get("/v2").json()["name"] == "counterpoint"
    assert client.get("/v2/health/live").status_code == client.get("/v2/health/ready").status_code == 200
    for model, output in (("credit", "decision"), ("credit-explainer", "explanation")):
        assert client.get(f"/v2/models/{model}/ready").json() == {"ready": True}
        said = client.get(f"/v2/models/{model}").json()
        assert [each["name"] for each in said["inputs"]] == list(ROW)
        assert [each["datatype"] for each in said["inputs"]] == DATATYPES
        assert [each["name"] for each in said["outputs"]] == [output]


@pytest.mark.parametrize("width", [None, 1])
def test_v2_infers_decisions(client, width):
    asked = {"id": "17", "inputs": tensors(ROW, ROW | {"income": 90.0}, width=width)}
    said = client.post("/v2/models/credit/infer", json=asked).json()
    assert (said["model_name"], said["id"]) == ("credit", "17")
    assert said["outputs"] == [
        {"name": "decision", "datatype": "BYTES", "shape": [2], "data": ["refused", "granted"]}
    ]


def test_v2_infers_explanations(client, explainer):
    parameters = {"k": 1, "constraints": json.dumps({"immutable": ["age"]}), "content_type": "pd"}
    asked = {"inputs": tensors(ROW), "parameters": parameters, "outputs": [{"name": "explanation"}]}
    (output,) = client.post("/v2/models/credit-explainer/infer", json=asked).json()["outputs"]
    assert (output["datatype"], output["shape"]) == ("BYTES", [1])
    answer = json.loads(output["data"][0])
    expected = explainer.explain(ROW, k=1, immutable=["age", "owner"])
    assert [each["sentence"] for each in answer["counterfactuals"]] == expected.sentences()


def test_v2_takes_a_matrix_for_models_of_arrays():
    X = TABLES["float"]
    with serve(quick().fit(decide_array, X, progress=False)) as client:
        (described,) = client.get("/v2/models/credit").json()["inputs"]
        assert described == {"name": "input-0", "datatype": "FP64", "shape": [-1, 3]}
        for data in (X[:4].tolist(), X[:4].ravel().tolist()):
            tensor = {"name": "input-0", "datatype": "FP64", "shape": [4, 3], "data": data}
            said = client.post("/v2/models/credit/infer", json={"inputs": [tensor]}).json()
            assert said["outputs"][0]["data"] == decide_array(X[:4]).tolist()


def test_v2_gives_probabilities_where_the_model_has_them():
    from sklearn.linear_model import LogisticRegression

    X = people(120)[["age", "income"]]
    model = LogisticRegression().fit(X, X["income"] > 50)
    with serve(quick().fit(model, X, progress=False)) as client:
        names = [each["name"] for each in client.get("/v2/models/credit").json()["outputs"]]
        assert names == ["decision", "probabilities"]
        columns = [
            {"name": name, "shape": [5], "datatype": kind, "data": X[name][:5].tolist()}
            for name, kind in (("age", "INT64"), ("income", "FP64"))
        ]
        decision, shares = client.post("/v2/models/credit/infer", json={"inputs": columns}).json()["outputs"]
        assert (decision["datatype"], decision["data"]) == ("BOOL", model.predict(X[:5]).tolist())
        assert shares["shape"] == [5, 2]
        assert np.allclose(np.reshape(shares["data"], (5, 2)), model.predict_proba(X[:5]))
        only = {"inputs": columns, "outputs": [{"name": "decision"}]}
        assert len(client.post("/v2/models/credit/infer", json=only).json()["outputs"]) == 1


def test_dummy_columns_are_given_by_the_model_s_own_names():
    X = people(120)[["age", "income"]].assign(home_own=[0, 1] * 60, home_rent=[1, 0] * 60)
    explainer = quick().fit(lambda T: T["income"] + 10 * T["home_own"] > 60, X, progress=False)
    with serve(explainer) as client:
        assert [each["name"] for each in client.get("/v2/models/credit").json()["inputs"]] == list(X)
        row = {"age": 30, "income": 40.5, "home_own": 0, "home_rent": 1}
        by_columns = client.post("/explain", json={"rows": [row]}).json()["answers"]
        by_category = client.post("/explain", json={"rows": [{"age": 30, "income": 40.5, "home": "rent"}]})
        assert by_category.json()["answers"] == by_columns
        assert by_columns[0]["values"]["home"] == "rent"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": []}, "inputs must be a list of tensors"),
        ({"inputs": [{"name": "age"}]}, "shape must be a list of one or two sizes"),
        (
            {"inputs": [{"name": "age", "shape": [1], "datatype": "TEXT", "data": [1]}]},
            "datatype must be one",
        ),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "INT64"}]}, "binary data is not read"),
        ({"inputs": [{"name": "age", "shape": [2], "datatype": "INT64", "data": [1]}]}, "must have 2 values"),
        ({"inputs": [{"name": "age", "shape": [1], "datatype": "INT64", "data": ["a"]}]}, "must be INT64"),
        ({"inputs": tensors(ROW)[:2]}, "The row lacks this column"),
        ({"outputs": [{"name": "colour"}]}, "outputs must be among ['decision']"),
        ({"id": 3}, "id must be a text"),
        ({"parameters": 3}, "parameters must be an object"),
    ],
    ids=str,
)
def test_v2_refuses_with_a_sentence(client, changes, said):
    refused = client.post("/v2/models/credit/infer", json={"inputs": tensors(ROW), **changes})
    assert refused.status_code == 422
    assert said in refused.json()["error"]


def test_missing_values_are_null():
    X = people(120)[["age", "income"]]
    X.loc[::7, "income"] = None
    explainer = quick().fit(lambda T: T["income"].fillna(30) > 50, X, progress=False)
    with serve(explainer) as client:
        said = client.post("/explain", json={"rows": [{"age": 30, "income": None}], "k": 1}).json()
        (change,) = said["answers"][0]["counterfactuals"][0]["changes"]
        assert (change["feature"], change["from"]) == ("income", None)
        assert pd.notna(change["to"])

"""MLServer, which speaks the Open Inference Protocol, with models of scikit-learn: `make remote`."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from applicants import applicants, decisions, trained
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

import counterpoint as cp
from counterpoint.cli import main

pytest.importorskip("mlserver", reason="make remote installs MLServer in an environment of its own")
pytestmark = pytest.mark.filterwarnings("default")

NUMBERS = ["age", "amount", "duration"]
KNOWN = applicants(300)
MODEL = trained(KNOWN)
MATRIX = HistGradientBoostingClassifier(max_iter=20).fit(
    KNOWN[NUMBERS].to_numpy(), (decisions(KNOWN) == "refused").astype(int)
)
PRICE = RandomForestRegressor(5, random_state=0).fit(KNOWN[["age", "duration"]], KNOWN["amount"])
INPUTS = [{"name": "dense", "datatype": "FP64", "shape": [-1, 3]}]


def add_model(folder, name, model, **more):
    (folder / name).mkdir()
    joblib.dump(model, folder / name / "model.joblib")
    settings = {
        "name": name,
        "implementation": "mlserver_sklearn.SKLearnModel",
        "parameters": {"uri": "./model.joblib", "version": "v3"},
        **more,
    }
    (folder / name / "model-settings.json").write_text(json.dumps(settings))


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    from started import free_ports, started

    folder = tmp_path_factory.mktemp("mlserver")
    add_model(folder, "credit", MODEL)
    add_model(folder, "matrix", MATRIX, inputs=INPUTS)
    add_model(folder, "price", PRICE)
    http, grpc, metrics = free_ports(3)
    settings = {"host": "127.0.0.1", "http_port": http, "grpc_port": grpc, "metrics_port": metrics}
    (folder / "settings.json").write_text(json.dumps({**settings, "parallel_workers": 0}))
    here = f"http://127.0.0.1:{http}/v2"
    with started(["mlserver", "start", "."], f"{here}/health/ready", folder):
        yield f"oip+{here}/models"


def refused(count):
    others = applicants(200, seed=1)
    return others[MODEL.predict(others) == "refused"][:count].reset_index(drop=True)


def test_mlserver_decides_about_frames(address):
    model = cp.RemoteModel(f"{address}/credit", batch=120)
    assert model.predict(KNOWN).tolist() == MODEL.predict(KNOWN).tolist()
    versioned = cp.RemoteModel(f"{address}/credit/versions/v3")
    assert versioned.predict(KNOWN).tolist() == MODEL.predict(KNOWN).tolist()


def test_mlserver_decides_about_arrays_and_missing_numbers(address):
    rows = KNOWN[NUMBERS].to_numpy()
    rows[::7, 1] = np.nan
    for given in (rows, pd.DataFrame(rows, columns=NUMBERS)):
        labels = cp.RemoteModel(f"{address}/matrix", classes=["granted", "refused"]).predict(given)
        assert labels.tolist() == np.array(["granted", "refused"])[MATRIX.predict(rows)].tolist()


def test_answers_are_those_of_the_model_here(address):
    x = refused(10)
    asked = {"k": 3, "progress": False, "target": "granted"}
    remote = cp.Ensemble().fit(cp.RemoteModel(f"{address}/credit"), KNOWN, immutable=["age", "sex"])
    # A callable has no scores either, as a remote model has none.
    local = cp.Ensemble().fit(lambda rows: MODEL.predict(rows), KNOWN, immutable=["age", "sex"])
    found = remote.explain_many(x, **asked)
    assert found.frame.equals(local.explain_many(x, **asked).frame)
    assert (MODEL.predict(found.frame[list(KNOWN)]) == "granted").all()


def test_numbers_are_explained_too(address):
    X = KNOWN[["age", "duration"]]
    model = cp.RemoteModel(f"{address}/price")
    assert np.allclose(model.predict(X), PRICE.predict(X))
    x = X[PRICE.predict(X) < 4_000].iloc[0]
    found = cp.Ensemble().fit(model, X).explain(x, 2, target=cp.Between(5_000, 7_000))
    assert len(found) == 2
    assert (PRICE.predict(found.counterfactuals[["age", "duration"]]) >= 5_000).all()


def test_the_command_line_asks_mlserver(address, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    KNOWN.assign(decision=decisions(KNOWN)).to_csv("known.csv", index=False)
    refused(8).to_csv("rows.csv", index=False)
    start = ["explain", "--data", "known.csv", "--target", "decision", "--rows", "rows.csv", "-k", "2"]
    assert main([*start, "--model", f"{address}/credit", "--out", "found.csv", "--jobs", "2"]) == 0
    found = pd.read_csv("found.csv")
    assert (MODEL.predict(found[list(KNOWN)]) == found["decision"]).all()
    assert set(found["decision"]) == {"granted"}
    assert main([*start, "--model", f"{address}/nothing"]) == 3
    assert "Model nothing not found. Check the name" in capsys.readouterr().err


def test_a_model_that_fails_there_is_a_model_error_here(address):
    with pytest.raises(cp.ModelError, match="answered 500") as caught:
        cp.RemoteModel(f"{address}/credit").predict(KNOWN.drop(columns="job"))
    assert not caught.value.is_down

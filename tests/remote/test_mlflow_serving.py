"""MLflow: its server, its registry, and explainers that are logged to it: `make remote`."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest
from applicants import applicants, decisions, trained

import counterpoint as cp
from counterpoint.cli import main

mlflow = pytest.importorskip("mlflow", reason="make remote installs MLflow in an environment of its own")
pytestmark = pytest.mark.filterwarnings("default")

KNOWN = applicants(300)
MODEL = trained(KNOWN)
TARGET = {"target": "granted"}


def refused(count):
    others = applicants(600, seed=1)
    return others[MODEL.predict(others) == "refused"][:count].reset_index(drop=True)


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    """Register a model twice, the second with a signature, and an explainer of it."""
    folder = tmp_path_factory.mktemp("registry")
    uri = f"sqlite:///{folder}/mlflow.db"
    patch = pytest.MonkeyPatch()
    patch.chdir(folder)
    patch.setenv("MLFLOW_TRACKING_URI", uri)
    mlflow.set_tracking_uri(uri)
    pip = {"pip_requirements": ["scikit-learn"], "registered_model_name": "credit"}
    mlflow.sklearn.log_model(MODEL, name="credit", **pip)
    mlflow.sklearn.log_model(MODEL, name="credit", input_example=KNOWN[:5], **pip)
    explainer = cp.Ensemble().fit(MODEL, KNOWN, immutable=["age", "sex"])
    cp.mlflow.log_explainer(explainer, k=2, registered_model_name="explainer", **TARGET)
    yield explainer
    patch.undo()


@pytest.fixture(scope="module")
def serve(registry, tmp_path_factory):
    from started import free_ports, started

    @contextmanager
    def run(model):
        (port,) = free_ports(1)
        where = ["--host", "127.0.0.1", "--port", str(port)]
        command = ["mlflow", "models", "serve", "-m", model, "--env-manager", "local", *where]
        folder = tmp_path_factory.mktemp("serve")
        with started(command, f"http://127.0.0.1:{port}/ping", folder):
            yield f"http://127.0.0.1:{port}/invocations"

    return run


def test_a_served_model_decides_as_here_and_answers_are_the_same(serve, tmp_path, monkeypatch):
    x = refused(8)
    asked = {"k": 2, "progress": False, **TARGET}
    with serve("models:/credit/2") as address:
        model = cp.RemoteModel(address, batch=120)
        assert model.predict(KNOWN).tolist() == MODEL.predict(KNOWN).tolist()
        found = cp.Ensemble().fit(model, KNOWN).explain_many(x, **asked)
        monkeypatch.chdir(tmp_path)
        KNOWN.assign(decision=decisions(KNOWN)).to_csv("known.csv", index=False)
        x.to_csv("rows.csv", index=False)
        start = ["explain", "--data", "known.csv", "--target", "decision", "--rows", "rows.csv", "-k", "2"]
        assert main([*start, "--model", address, "--out", "found.csv"]) == 0
        with pytest.raises(cp.ModelError, match="answered 400") as caught:
            model.predict(KNOWN.drop(columns="job"))
    assert "job" in str(caught.value)
    local = cp.Ensemble().fit(lambda rows: MODEL.predict(rows), KNOWN)
    assert found.frame.equals(local.explain_many(x, **asked).frame)
    table = pd.read_csv("found.csv")
    assert (MODEL.predict(table[list(KNOWN)]) == "granted").all()


@pytest.mark.parametrize("version", [1, 2], ids=["plain", "with a signature"])
def test_the_command_line_opens_a_registered_model(registry, version, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    turned = KNOWN[["sex", "job", "age", "duration", "amount"]] if version == 2 else KNOWN
    turned.assign(decision=decisions(KNOWN)).to_csv("known.csv", index=False)
    refused(130).to_csv("rows.csv", index=False)  # so many that both processes get some
    start = ["explain", "--data", "known.csv", "--target", "decision", "--rows", "rows.csv", "-k", "1"]
    start += ["--model", f"models:/credit/{version}"]
    assert main(start) == 2
    assert "can run any code when it is opened" in capsys.readouterr().err
    assert main([*start, "--allow-pickle", "--out", "found.csv", "--jobs", "2"]) == 0
    found = pd.read_csv("found.csv")
    assert (MODEL.predict(found[list(KNOWN)]) == found["decision"]).all()
    if version == 2:  # its signature tells the order of columns
        assert [name for name in found if name in KNOWN] == list(KNOWN)


def test_a_model_that_is_not_registered_is_said_so(registry, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    KNOWN.to_csv("known.csv", index=False)
    start = ["explain", "--data", "known.csv", "--rows", "known.csv", "--allow-pickle"]
    assert main([*start, "--model", "models:/nothing/3"]) == 2
    said = capsys.readouterr().err
    assert "The model models:/nothing/3 cannot be opened" in said
    assert "MLFLOW_TRACKING_URI" in said


def test_a_logged_explainer_gives_the_tidy_frame(registry):
    x = refused(5)
    x.loc[2, "job"] = "pirate"
    logged = mlflow.pyfunc.load_model("models:/explainer/1")
    found = logged.predict(x)
    assert found.equals(registry.explain_frame(x, k=2, **TARGET))
    assert found.dtypes.equals(registry.frame_schema().dtypes)
    assert set(found["status"]) == {"found", "invalid"}
    assert logged.predict(x, params={"k": 1}).equals(registry.explain_frame(x, k=1, **TARGET))
    assert logged.predict(x[:0]).equals(registry.explain_frame(x[:0], **TARGET))


def test_a_logged_explainer_names_what_it_needs(registry):
    folder = mlflow.artifacts.download_artifacts("models:/explainer/1")
    needs = Path(folder, "requirements.txt").read_text().split()
    assert {each.partition("==")[0] for each in needs} >= {"counterpoint", "scikit-learn", "pandas"}


def test_a_logged_explainer_is_served(registry, serve):
    import httpx

    x = refused(3)
    with serve("models:/explainer/1") as address:
        body = {"dataframe_split": x.to_dict("split"), "params": {"k": 1}}
        answer = httpx.post(address, json=body, timeout=60).json()["predictions"]
    expected = registry.explain_frame(x, k=1, **TARGET)
    assert [line["amount"] for line in answer] == expected["amount"].tolist()
    assert {line["status"] for line in answer} == {"found"}


def test_a_logged_explainer_of_a_remote_model_asks_its_address(serve):
    x = refused(3)
    with serve("models:/credit/1") as address:
        explainer = cp.Tree().fit(cp.RemoteModel(address), KNOWN)
        info = cp.mlflow.log_explainer(explainer, "by-address", k=1)
        logged = mlflow.pyfunc.load_model(info.model_uri)
        assert logged.predict(x).equals(explainer.explain_frame(x, k=1))
    needs = Path(mlflow.artifacts.download_artifacts(info.model_uri), "requirements.txt").read_text()
    assert "counterpoint[remote]==" in needs


def test_the_script_of_the_page_runs(tmp_path):
    page = (Path(__file__).parents[2] / "docs/remote.md").read_text(encoding="utf-8")
    script = page.partition('```python title="remote_log_explainer.py"\n')[2].partition("```")[0]
    (tmp_path / "log_explainer.py").write_text(script)
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    command = [sys.executable, "log_explainer.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_an_explainer_must_be_fitted(registry):
    with pytest.raises(Exception, match="fit"):
        cp.mlflow.log_explainer(cp.Tree())
    with pytest.raises(TypeError, match="progress is decided by the engine"):
        cp.mlflow.log_explainer(registry, progress=True)

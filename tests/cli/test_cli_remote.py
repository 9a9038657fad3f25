"""Models on servers, given to the command line by their addresses."""

import json
import socket

import pandas as pd
import pytest
import skops.io
from applicants import applicants

from model_server import serving

pytest.importorskip("httpx")

COLUMNS = list(applicants(1))


@pytest.fixture
def model(here):
    return skops.io.load(
        here / "model.skops", trusted=skops.io.get_untrusted_types(file=here / "model.skops")
    )


@pytest.mark.parametrize("protocol", ["v1", "v2", "mlflow"])
def test_a_model_on_a_server_gives_the_answers_that_it_gives_here(explain, here, model, protocol):
    pd.read_csv("refused.csv")[:5].to_csv("rows.csv", index=False)
    options = ["--rows", "rows.csv", "-k", "2", "--immutable", "age,sex", "--quiet"]
    (here / "scoring.py").write_text(
        "import skops.io\n"
        "model = skops.io.load('model.skops', trusted=skops.io.get_untrusted_types(file='model.skops'))\n"
        "def decide(table): return model.predict(table)\n"  # without scores, as a server
    )
    assert explain(*options, "--out", "here.csv", model="scoring:decide") == 0
    with serving(model.predict) as server:
        assert explain(*options, "--out", "there.csv", model=getattr(server, protocol)) == 0
    assert pd.read_csv("there.csv").equals(pd.read_csv("here.csv"))


@pytest.fixture
def impatient(monkeypatch):
    """Do not wait before retries."""
    monkeypatch.setattr("counterpoint.model.adapters.remote.http.sleep", lambda seconds: None)


def test_the_limits_of_requests_are_options(explain, model, impatient, capsys):
    with serving(model.predict) as server:
        assert explain("--row", "x.json", "--model-batch", "100", model=server.v2) == 0
        assert max(server.asked) <= 100
        server.delay = 0.3
        assert explain("--row", "x.json", "--model-timeout", "0.01", model=server.v2) == 3
    assert "no answer within 0.01 s" in capsys.readouterr().err
    assert explain("--row", "x.json", "--model-batch", "0", model="http://host/invocations") == 2
    assert "batch must be at least 1, got 0" in capsys.readouterr().err


def test_a_server_that_names_its_inputs_decides_the_order_of_columns(explain, model, capsys):
    inputs = [{"name": name, "datatype": "FP64", "shape": [-1, 1]} for name in reversed(COLUMNS)]
    for each in inputs:
        each["datatype"] = "BYTES" if each["name"] in ("job", "sex") else each["datatype"]
    with serving(lambda table: model.predict(table[COLUMNS]), inputs=inputs) as server:
        assert explain("--row", "x.json", "--out", "-", model=server.v2) == 0
        header = capsys.readouterr().out.splitlines()[0].split(",")
        assert [name for name in header if name in COLUMNS] == COLUMNS[::-1]
        assert explain("--row", "x.json", model=server.v2, target="") == 2
    assert "add --target decision" in capsys.readouterr().err


def test_a_server_that_is_down_is_said_so_in_one_line(explain, impatient, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"oip+http://ann:secret@127.0.0.1:{free.getsockname()[1]}/v2/models/credit"
    assert explain("--row", "x.json", model=address) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be reached" in said
    assert "Check that the server runs" in said
    assert "secret" not in said


def test_an_address_of_no_known_protocol_lists_those_that_are(explain, capsys):
    assert explain("--row", "x.json", model="http://host/credit") == 2
    assert "must be such as oip+http://host:8080/v2/models/NAME" in capsys.readouterr().err


def test_classes_are_named_for_a_server_that_gives_numbers(explain, model, capsys):
    with serving(lambda table: (model.predict(table) == "granted").astype(int)) as server:
        code = explain("--row", "x.json", "--classes", "no,yes", "--format", "json", model=server.v1)
    assert code == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["decision"] == "no"
    assert {each["decision"] for each in answer["counterfactuals"]} == {"yes"}


def test_a_run_that_the_server_stopped_goes_on(explain, here, model, capsys):
    pd.read_csv("refused.csv")[:6].to_csv("rows.csv", index=False)
    options = ["--rows", "rows.csv", "-k", "1", "--part", "2", "--out", "found.csv"]
    with serving(model.predict) as server:
        server.decide = failing_after(20, model.predict)
        assert explain(*options, model=server.v1) == 3
        assert not (here / "found.csv").exists()
        server.decide = model.predict
        assert explain(*options, model=server.v1) == 0
    found = pd.read_csv("found.csv")
    assert found["instance"].tolist() == list(range(6))


def failing_after(calls, decide):
    left = iter(range(calls))

    def run(table):
        if next(left, None) is None:
            raise RuntimeError("out of order")
        return decide(table)

    return run


def test_a_registered_model_needs_consent_and_mlflow(explain, capsys, monkeypatch):
    assert explain("--row", "x.json", model="models:/credit/3") == 2
    said = capsys.readouterr().err
    assert "can run any code when it is opened" in said
    assert "mlflow models serve -m models:/credit/3" in said
    monkeypatch.setitem(__import__("sys").modules, "mlflow.pyfunc", None)
    assert explain("--row", "x.json", "--allow-pickle", model="models:/credit/3") == 2
    assert "needs mlflow: pip install 'counterpoint[mlflow]'" in capsys.readouterr().err
    assert explain("--row", "x.json", "--classes", "a,b", model="models:/credit/3") == 2
    assert "leave --classes out" in capsys.readouterr().err

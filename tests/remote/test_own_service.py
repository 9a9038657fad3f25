"""Our own `counterpoint serve`, asked as a remote model."""

from pathlib import Path

import pytest
import skops.io
from applicants import applicants, decisions, trained

import counterpoint as cp

pytest.importorskip("counterpoint.cli.serve", reason="the service is not part of this version")
pytest.importorskip("fastapi", reason="the service needs counterpoint[serve]")
pytest.importorskip("httpx")

KNOWN = applicants(300)
MODEL = trained(KNOWN)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from started import free_ports, started

    folder: Path = tmp_path_factory.mktemp("service")
    skops.io.dump(MODEL, folder / "model.skops")
    KNOWN.assign(decision=decisions(KNOWN)).to_csv(folder / "known.csv", index=False)
    (port,) = free_ports(1)
    command = [
        "counterpoint",
        "serve",
        "--model",
        "model.skops",
        "--data",
        "known.csv",
        "--target",
        "decision",
    ]
    address = f"http://127.0.0.1:{port}"
    with started([*command, "--name", "credit", "--port", str(port)], f"{address}/health/ready", folder):
        yield address


@pytest.mark.parametrize("path", ["oip+{}/v2/models/credit", "{}/v1/models/credit:predict"], ids=["v2", "v1"])
def test_our_own_service_is_a_remote_model(server, path):
    model = cp.RemoteModel(path.format(server))
    others = applicants(1_500, seed=1)
    assert model.predict(others).tolist() == MODEL.predict(others).tolist()
    x = others[MODEL.predict(others) == "refused"][:5]
    explainer = cp.Ensemble().fit(model, KNOWN, immutable=["age"])
    found = explainer.explain_many(x, 2, progress=False)
    local = cp.Ensemble().fit(lambda rows: MODEL.predict(rows), KNOWN, immutable=["age"])
    assert found.frame.equals(local.explain_many(x, 2, progress=False).frame)

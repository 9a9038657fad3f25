"""The page over HTTP: a token, this machine only, limits, and a sentence for everything that is wrong."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.web.page.app import MOST_BYTES, static_files


class Model:
    """Grants by income, and can be taken down."""

    down = False

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        if self.down:
            raise ConnectionError("nobody there")
        return np.where(table["income"] > 50, "granted", "refused")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def page(model: Model) -> Iterator[Any]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.integers(10, 100, 200), "job": rng.choice(["clerk", "smith"], 200)})
    with cp.Ensemble(size=3).fit(model, table).open(browser=False, title="Loans") as opened:
        yield opened


@pytest.fixture(scope="module")
def client(page: Any) -> Iterator[httpx.Client]:
    address, _, token = page.address.partition("?token=")
    with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=60) as made:
        yield made


CASE = {"income": 30, "job": "clerk"}


def asked(client: httpx.Client, name: str, **body: Any) -> httpx.Response:
    return client.post(f"/api/{name}", json=body)


def test_its_address_is_of_this_machine_and_holds_a_long_token(page: Any) -> None:
    assert page.address.startswith("http://127.0.0.1:")
    assert len(page.address.partition("?token=")[2]) >= 32


def test_calls_need_the_token_and_files_do_not(client: httpx.Client) -> None:
    assert client.get("/", headers={"authorization": ""}).status_code == 200
    for given in ("", "Bearer", "Bearer wrong", "Basic abc"):
        answer = client.post("/api/about", json={}, headers={"authorization": given})
        assert answer.status_code == 401
        assert "token" in answer.json()["error"]


def test_another_host_is_refused(client: httpx.Client) -> None:
    answer = client.post("/api/about", json={}, headers={"host": "evil.example"})
    assert answer.status_code == 421
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421


def test_nothing_inline_and_nothing_from_elsewhere(client: httpx.Client) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["x-content-type-options"] == "nosniff"
    for content, _ in static_files().values():
        text = content.decode()
        assert "style=" not in text.replace("class: ", "")
        assert "http://" not in text.replace("http://www.w3.org/", "")
        assert "https://" not in text
        assert "innerHTML" not in text


@pytest.mark.parametrize("body", [b"{", b"[1, 2", b"\xff\xfe", b"[" * 100_000])
def test_malformed_json_is_a_400(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/api/answers", content=body)
    assert answer.status_code == 400
    assert answer.json() == {"error": "The request is not valid JSON."}


def test_a_huge_body_is_a_413(client: httpx.Client) -> None:
    answer = client.post("/api/answers", content=b" " * (MOST_BYTES + 1))
    assert answer.status_code == 413
    assert "bytes" in answer.json()["error"]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (None, "question must be an object"),
        ({"values": CASE | {"height": 3}}, "height"),
        ({"values": {"income": 30}}, "job"),
        ({"values": CASE | {"job": "astronaut"}}, "astronaut"),
        ({"values": CASE | {"income": "much"}}, "income"),
        ({"values": CASE, "colour": 1}, "unknown keys ['colour']"),
        ({"values": CASE, "k": 1000}, "k must be"),
        ({"values": CASE, "setting": "best"}, "setting must be one of"),
        ({"values": CASE, "target": "maybe"}, "among the model's decisions"),
        ({"values": CASE, "constraints": {"immutable": ["height"]}}, "height"),
        ({"values": CASE, "constraints": {"ranges": {"income": [90, 10]}}}, "income"),
        ({"values": CASE, "exclude": ["income"]}, "exclude must list actions"),
        ({"values": CASE, "exclude": [[["height", "up"]]]}, "exclude must name columns"),
        ({"values": CASE, "exclude": [[["income", "sideways"]]]}, "the way of 'income'"),
    ],
)
def test_what_cannot_be_asked_is_a_422_with_a_sentence(
    client: httpx.Client, question: Any, words: str
) -> None:
    answer = asked(client, "answers", question=question)
    assert answer.status_code == 422
    assert words in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("row", {"index": -1}),
        ("row", {"index": 10**9}),
        ("row", {"index": "first"}),
        ("rows", {"sort": "height"}),
        ("rows", {"limit": 10**6}),
        ("map", {"question": {"values": CASE}, "answers": 3}),
        ("scores", {"question": {"values": CASE}, "answers": [CASE] * 100}),
    ],
)
def test_other_calls_refuse_with_a_sentence_too(
    client: httpx.Client, name: str, body: dict[str, Any]
) -> None:
    answer = client.post(f"/api/{name}", json=body)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_an_unknown_call_and_an_unknown_file_are_404s(client: httpx.Client) -> None:
    assert asked(client, "secrets").status_code == 404
    assert client.get("/secrets.txt").status_code in (401, 404)
    assert client.get("/../pyproject.toml").status_code in (401, 404)


def test_a_model_that_is_gone_is_a_502_and_comes_back(client: httpx.Client, model: Model) -> None:
    model.down = True
    try:
        for name in ("answers", "decide", "flips"):
            answer = asked(client, name, question={"values": CASE})
            assert answer.status_code == 502
            assert "nobody there" in answer.json()["error"]
    finally:
        model.down = False
    assert asked(client, "answers", question={"values": CASE}).status_code == 200


def test_groups_come_line_by_line_and_end_with_an_error_if_there_is_one(client: httpx.Client) -> None:
    body = {"filter": {"decision": "refused"}, "groups": ["job"], "question": {}}
    lines = [json.loads(line) for line in client.post("/api/groups", json=body).text.splitlines()]
    assert len(lines) > 2
    assert lines[-1]["done"] == lines[-1]["total"]
    assert [group["name"] for group in lines[-1]["facts"]["splits"][0]["groups"]]
    wrong = client.post("/api/groups", json={"groups": ["height"]}).text.splitlines()
    assert "groups must list columns" in json.loads(wrong[-1])["error"]


def test_a_reader_who_leaves_stops_the_groups(client: httpx.Client, page: Any) -> None:
    with client.stream("POST", "/api/groups", json={"question": {}}) as streamed:
        next(streamed.iter_lines())
    assert asked(client, "about").status_code == 200  # the server goes on


def test_a_port_that_is_taken_is_said(page: Any) -> None:
    port = int(page.address.split(":")[2].split("/")[0])
    with pytest.raises(ValueError, match="cannot be used"):
        cp.Neighbours().fit(lambda X: X[:, 0] > 0, np.random.default_rng(0).normal(size=(30, 2))).open(
            port=port, browser=False
        )


def test_the_front_end_is_in_the_wheel(tmp_path: Path) -> None:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling to build a wheel")
    root = Path(__file__).parents[2]
    (wheel,) = builder.WheelBuilder(str(root)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(wheel).namelist()
    shipped = {path.name for path in (root / "src/counterpoint/web/page/static").iterdir()}
    assert {f"counterpoint/web/page/static/{name}" for name in shipped} <= set(names)

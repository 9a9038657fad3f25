"""The routes of the service: what they answer with, and what they refuse."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from clients import ROW, TOKEN, client_of, quick, serve
from fastapi import FastAPI

import counterpoint as cp
import model_server
from counterpoint.web.limits import Bounds
from loans import decide, people, probability
from soak.hostile import of_all_kinds, of_numbers, of_people, of_probabilities


def error(response: Any, status: int) -> str:
    """Take the sentence of an answer that is an error."""
    assert response.status_code == status, response.text
    said = response.json()
    assert said["request_id"] == response.headers["x-request-id"]
    return str(said["error"])


# ---------------------------------------------------------------- answers


def test_answers_are_those_of_the_library(client, explainer):
    said = client.post("/explain", json={"rows": [ROW], "k": 2}).json()
    explanation = explainer.explain(ROW, k=2)
    (answer,) = said["answers"]
    assert answer["decision"] == explanation.decision
    found = answer["counterfactuals"]
    assert [each["sentence"] for each in found] == explanation.sentences()
    assert [each["distance"] for each in found] == explanation.distance.tolist()
    frame = pd.DataFrame([each["values"] for each in found])
    assert frame.astype(object).equals(explanation.counterfactuals.astype(object))
    for each in found:
        changed = {change["feature"]: change["to"] for change in each["changes"]}
        assert {**ROW, **changed} == each["values"]
        assert all(change["from"] == ROW[change["feature"]] for change in each["changes"])


def test_an_answer_can_be_sent_back_as_a_row(client):
    found = client.post("/explain", json={"rows": [ROW]}).json()["answers"][0]["counterfactuals"]
    decided = client.post("/decide", json={"rows": [ROW, *(each["values"] for each in found)]}).json()
    assert [each["decision"] for each in decided["decisions"]] == ["refused", *["granted"] * len(found)]


def test_settings_targets_and_constraints_are_as_in_the_library(client, explainer):
    asked = {"increase": ["age"], "ranges": {"income": [None, 70]}, "max_changes": 2}
    said = client.post("/explain", json={"rows": [ROW], "setting": "sparse", "constraints": asked}).json()
    sparse = cp.Ensemble(size=3, fallback=None, selection=cp.SPARSE).fit(
        decide, people(120), immutable=["owner"], ranges={"age": (18, 75)}, progress=False
    )
    limits = {"increase": ["age"], "ranges": {"income": (-np.inf, 70), "age": (18, 75)}, "max_changes": 2}
    expected = sparse.explain(ROW, 3, **limits)
    assert [each["sentence"] for each in said["answers"][0]["counterfactuals"]] == expected.sentences()
    already = client.post("/explain", json={"rows": [ROW], "target": "refused"}).json()["answers"][0]
    assert already["counterfactuals"] == []
    assert already["shortfall"]["already"] is True


def test_fewer_than_asked_for_says_why(client):
    locked = {"rows": [ROW], "constraints": {"immutable": list(ROW)}}
    (answer,) = client.post("/explain", json=locked).json()["answers"]
    assert answer["shortfall"]["reason"] == "the constraints leave nothing to try"


def test_costs_are_answered_with(client):
    asked = {"rows": [ROW], "constraints": {"costs": {"income": 5, "age": "never", "job": {"otherwise": 2}}}}
    found = client.post("/explain", json=asked).json()["answers"][0]["counterfactuals"]
    assert found
    assert all(each["cost"] > 0 and each["values"]["age"] == 30 for each in found)


def test_decisions_come_with_probabilities_if_asked_for():
    class Model:
        classes_ = np.array(["no", "yes"])

        def predict(self, X):
            return self.classes_[(probability(X) > 0.5).astype(int)]

        def predict_proba(self, X):
            return np.column_stack([1 - probability(X), probability(X)])

    with serve(quick().fit(Model(), people(120), progress=False)) as client:
        (decision,) = client.post("/decide", json={"rows": [ROW], "scores": True}).json()["decisions"]
        assert decision["decision"] == "no"
        assert [each["class"] for each in decision["probabilities"]] == ["no", "yes"]
        assert sum(each["probability"] for each in decision["probabilities"]) == pytest.approx(1)
        target = {"class": "yes", "at_least": 0.8}
        said = client.post("/explain", json={"rows": [ROW], "k": 1, "target": target}).json()
        assert said["answers"][0]["counterfactuals"][0]["decision"] >= 0.8


def test_a_regressor_needs_an_interval():
    regressor = quick().fit(probability, people(120), progress=False)
    with serve(regressor) as client:
        assert "give target as" in error(client.post("/explain", json={"rows": [ROW]}), 422)
        wanted = {"rows": [ROW], "target": {"low": 0.7}}
        found = client.post("/explain", json=wanted).json()["answers"][0]["counterfactuals"]
        assert all(each["decision"] >= 0.7 for each in found)
        assert client.get("/schema").json()["decisions"] == []
    with serve(regressor, target=cp.Between(low=0.7)) as client:
        assert client.post("/explain", json={"rows": [ROW]}).status_code == 200


def test_the_schema_tells_what_a_form_needs_and_nothing_of_known_instances(explainer):
    with serve(explainer) as client:
        columns = {each["name"]: each for each in client.get("/schema").json()["columns"]}
        assert columns["job"]["categories"] == ["clerk", "cook", "smith"]
        assert columns["age"] == {
            "name": "age",
            "kind": "number",
            "immutable": False,
            "whole": True,
            "range": [18, 75],
        }
        assert "categories" not in columns["owner"]
    with serve(explainer, share=True) as client:
        columns = {each["name"]: each for each in client.get("/schema").json()["columns"]}
        assert columns["income"]["seen"] == [people(120)["income"].min(), people(120)["income"].max()]


def test_no_error_and_no_document_names_what_only_known_instances_tell():
    named = people(120).assign(name=[f"person {i}" for i in range(120)])
    explainer = quick().fit(decide, named, immutable=["name"], progress=False)
    row: dict[str, Any] = {**ROW, "name": "eve"}
    asked: list[dict[str, Any]] = [
        {"rows": [row], "constraints": {"immutable": []}},
        {"rows": [row], "constraints": {"ranges": {"name": ["mallory"]}}},
        {"rows": [row], "constraints": {"costs": {"name": {"changes": [["eve", "mallory", 2]]}}}},
        {"rows": [row | {"name": ["eve"]}]},
        {"rows": [ROW]},
    ]
    with serve(explainer) as client:
        said = [
            client.get(path).text for path in ("/schema", "/openapi.json", "/metrics", "/v2/models/credit")
        ]
        said += [client.post("/explain", json=each).text for each in asked]
    assert not [text for text in said if "person" in text]


# ---------------------------------------------------------------- constraints of the service itself


def test_requests_only_add_to_the_constraints_of_the_service(client, explainer):
    asked = {"rows": [ROW], "k": 5, "constraints": {"immutable": [], "ranges": {"age": [10, 100]}}}
    for answer in client.post("/explain", json=asked).json()["answers"]:
        for found in answer["counterfactuals"]:
            assert found["values"]["owner"] is True
            assert found["values"]["age"] <= 75
    nothing = {"rows": [ROW], "constraints": {"ranges": {"age": [80, 90]}}}
    assert "leaves nothing" in error(client.post("/explain", json=nothing), 422)
    with serve(explainer, release=True) as freer:
        alone = explainer.explain(ROW, 3, ranges={"age": (10, 100)})
        free = {"rows": [ROW], "constraints": {"ranges": {"age": [10, 100]}}}
        found = freer.post("/explain", json=free).json()["answers"][0]["counterfactuals"]
        assert [each["sentence"] for each in found] == alone.sentences()


def test_the_service_can_limit_the_number_of_changes():
    with serve(cp.Ensemble().fit(decide, people(120), progress=False), max_changes=1) as client:
        for limit in ({}, {"max_changes": 3}):
            said = client.post("/explain", json={"rows": [ROW], "k": 5, "constraints": limit}).json()
            found = said["answers"][0]["counterfactuals"]
            assert found
            assert all(len(each["changes"]) == 1 for each in found)


def test_ranges_of_dates_are_added_too():
    X = people(120).assign(since=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120), unit="D"))
    dated = quick().fit(decide, X, ranges={"since": ("2020-02-01", "2020-03-01")}, progress=False)
    with serve(dated) as client:

        def ask(*ends: str | None) -> Any:
            rows = [{**ROW, "since": "2020-02-10"}]
            return client.post("/explain", json={"rows": rows, "constraints": {"ranges": {"since": ends}}})

        assert ask("2020-01-15", None).status_code == 200
        assert "leaves nothing" in error(ask("2020-04-01", None), 422)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"rows": []}, "rows must be a list of at least one object"),
        ({"rows": [3]}, "rows[0] must be an object"),
        ({}, "rows must be a list"),
        ({"rows": [{"age": 3}]}, "The row lacks this column"),
        ({"rows": "…", "pay": 1}, "unknown keys ['pay']"),
        ({"k": 21}, "k must be a whole number from 1 to 20, got 21"),
        ({"k": True}, "k must be a whole number"),
        ({"deadline": 31}, "deadline must be a number of seconds above 0 and up to 30"),
        ({"deadline": 0}, "deadline must be"),
        ({"setting": "best"}, "setting must be one of"),
        ({"target": "perhaps"}, "target must be among the model's decisions ['granted', 'refused']"),
        ({"constraints": 3}, "constraints must be an object"),
        ({"constraints": {"frozen": []}}, "unknown keys ['frozen']"),
        ({"constraints": {"immutable": ["pay"]}}, "must name columns, got 'pay'"),
        ({"constraints": {"ranges": {"age": [1]}}}, "must be two numbers"),
        ({"constraints": {"ranges": {"job": ["king"]}}}, "must list categories"),
        ({"constraints": {"ranges": {"age": [50, 20]}}}, "cannot be kept"),
        ({"constraints": {"increase": ["age"], "decrease": ["age"]}}, "may only rise and may only fall"),
        ({"constraints": {"costs": {"age": -1}}}, 'must be a number from 1e-06 to 1e+06, or "never"'),
        ({"constraints": {"costs": {"age": 1e300}}}, "must be a number from 1e-06 to 1e+06"),
        ({"constraints": {"max_change": {"age": "much"}}}, "must be a positive number, or a share"),
        ({"constraints": {"max_changes": 0}}, "whole number of at least 1"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_with_a_sentence(client, asked, said):
    asked = asked if "rows" in asked or not asked else {"rows": [ROW], **asked}
    assert said in error(client.post("/explain", json=asked), 422)


def test_each_wrong_value_is_named(client):
    wrong = [{"age": "old"}, {"income": None}, {"job": "king", "owner": [True]}, {"age": 30.5}, {}]
    said = client.post("/explain", json={"rows": [ROW | each for each in wrong]}).json()
    found = [(each["row"], each["column"], each["value"]) for each in said["problems"]]
    assert found == [
        (0, "age", "old"),
        (1, "income", None),
        (2, "job", "king"),
        (2, "owner", "[True]"),
        (3, "age", 30.5),
    ]
    assert said["error"].startswith(
        "5 values in 4 rows cannot be taken. The first: rows[0] has 'age' = 'old'."
    )
    assert "Known: ['clerk', 'cook', 'smith']" in said["problems"][2]["rule"]


def test_limits_of_rows_and_bytes(explainer):
    with serve(explainer, bounds=Bounds(rows=2, decisions=3, body=2_000)) as client:
        assert "at most 2" in error(client.post("/explain", json={"rows": [ROW] * 3}), 422)
        assert "at most 3" in error(client.post("/decide", json={"rows": [ROW] * 4}), 422)
        assert "at most 2,000 bytes" in error(client.post("/decide", json={"rows": [ROW] * 50}), 413)
        chunks = (b" " * 500 for _ in range(10))  # without a length
        json_kind = {"content-type": "application/json"}
        assert "at most 2,000 bytes" in error(client.post("/decide", content=chunks, headers=json_kind), 413)


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"rows": [' + b"9" * 5_000])
def test_what_is_no_json_is_refused(client, body):
    sent = client.post("/explain", content=body, headers={"content-type": "application/json"})
    assert "The body is no JSON" in error(sent, 400)


def test_a_model_that_cannot_be_reached_is_said_to_be_so():
    with model_server.serving(decide) as server:
        explainer = quick().fit(cp.RemoteModel(server.v1, retries=0), people(120), progress=False)
        server.says, server.status = b"gone", 503
        with serve(explainer) as client:
            for path in ("/explain", "/decide"):
                refused = client.post(path, json={"rows": [ROW]})
                assert "The model cannot be reached, so no row is at fault." in error(refused, 502)
                assert refused.json()["problems"][0]["rule"] == "The model cannot be reached."
                assert "127.0.0.1" not in refused.text  # where the model lives is for the log only


def test_other_types_paths_and_methods_are_refused(client):
    assert "must be JSON" in error(client.post("/explain", content=b"{}"), 415)
    nowhere = "There is nothing at /nowhere. /openapi.json lists what there is."
    assert error(client.get("/nowhere"), 404) == nowhere
    refused = client.get("/explain")
    assert "/explain does not take GET." in error(refused, 405)
    assert refused.headers["allow"] == "POST"


def test_a_full_queue_says_when_to_come_again():
    going, may_go = threading.Event(), threading.Event()

    def slow(table):
        if fitted_once:
            going.set()
            may_go.wait(20)
        return decide(table)

    fitted_once: list[bool] = []
    explainer = quick().fit(slow, people(120), progress=False)
    fitted_once.append(True)
    with serve(explainer, bounds=Bounds(queue=1)) as client:
        statuses: list[int] = []

        def ask():
            statuses.append(client.post("/explain", json={"rows": [ROW], "k": 1}).status_code)

        first, second = threading.Thread(target=ask), threading.Thread(target=ask)
        first.start()
        assert going.wait(20)
        second.start()
        while "counterpoint_waiting_requests 1.0" not in client.get("/metrics").text:
            time.sleep(0.01)
        full = client.post("/explain", json={"rows": [ROW], "k": 1})
        assert "Too many requests are waiting" in error(full, 503)
        assert int(full.headers["retry-after"]) >= 1
        may_go.set()
        first.join()
        second.join()
        assert statuses == [200, 200]


def test_a_deadline_gives_the_best_so_far():
    def slow(table):
        time.sleep(0.1)
        return decide(table)

    with serve(quick().fit(slow, people(120), progress=False)) as client:
        asked = {"rows": [ROW], "k": 5}
        begun = time.perf_counter()
        whole = client.post("/explain", json=asked).json()["answers"][0]["counterfactuals"]
        between = time.perf_counter()
        cut = client.post("/explain", json={**asked, "deadline": 0.25}).json()["answers"][0][
            "counterfactuals"
        ]
        assert time.perf_counter() - between < 0.7 * (between - begun)
        assert cut
        assert cut != whole
        assert all(each["decision"] == "granted" for each in cut)
        (none,) = client.post("/explain", json={**asked, "deadline": 0.001}).json()["answers"]
        assert none["shortfall"]["reason"] == "the time limit was reached"


# ---------------------------------------------------------------- models that fail


def test_a_failing_model_names_the_row_and_harms_nobody_else(caplog):
    def picky(table):
        if (table["income"] == 13.0).any():
            raise ValueError("13 brings bad luck to person 7")
        return decide(table)

    with serve(quick().fit(picky, people(120), progress=False)) as client:
        bad = {"rows": [ROW, ROW | {"income": 13.0}]}
        said: dict[int, Any] = {}

        def ask(place: int, body: dict[str, Any]) -> None:
            said[place] = client.post("/explain", json=body)

        bodies = [bad, {"rows": [ROW]}, bad, {"rows": [ROW]}]
        threads = [threading.Thread(target=ask, args=each) for each in enumerate(bodies)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [said[place].status_code for place in range(4)] == [502, 200, 502, 200]
        assert "The model failed on rows[1]." in error(said[0], 502)
        assert said[0].json()["problems"] == [
            {"row": 1, "column": None, "value": None, "rule": "The model raised ValueError."}
        ]
        assert "bad luck" not in said[0].text  # it is in the log
        assert "bad luck" in str([getattr(each, "facts", "") for each in caplog.records])
        decided = client.post("/decide", json=bad)
        assert "The model failed on rows[1]." in error(decided, 502)


def test_a_model_that_ends_the_program_does_not():
    def ending(table):
        if (table["income"] == 13.0).any():
            raise SystemExit(3)
        return decide(table)

    with serve(quick().fit(ending, people(120), progress=False)) as client:
        assert error(client.post("/explain", json={"rows": [ROW | {"income": 13.0}]}), 502)
        assert client.post("/explain", json={"rows": [ROW]}).status_code == 200


def test_a_model_that_does_not_return_is_said_and_seen():
    may_go = threading.Event()

    def stuck(table):
        may_go.wait(20)
        return decide(table)

    may_go.set()
    explainer = quick().fit(stuck, people(120), progress=False)
    may_go.clear()
    with serve(explainer, bounds=Bounds(seconds=0.2)) as client:
        for path in ("/explain", "/decide"):
            late = client.post(path, json={"rows": [ROW]})
            assert "did not answer in time" in error(late, 504)
        assert client.get("/health/ready").status_code == 503
        assert client.get("/health/live").status_code == 200
        may_go.set()
        for _ in range(200):
            if client.get("/health/ready").status_code == 200:
                break
            time.sleep(0.05)
        assert client.get("/v2/models/credit/ready").json() == {"ready": True}


# ---------------------------------------------------------------- safety


def test_foreign_hosts_are_refused_but_for_health(explainer):
    with serve(explainer) as client:
        foreign = {"host": "evil.example:8000"}
        assert "evil.example" in error(client.post("/explain", json={"rows": [ROW]}, headers=foreign), 421)
        assert client.get("/health/ready", headers=foreign).status_code == 200
        assert client.get("/schema", headers={"host": "127.0.0.1:1234"}).status_code == 200
    with serve(explainer, hosts=["*.bank.example"]) as client:
        assert client.get("/schema", headers={"host": "credit.bank.example"}).status_code == 200
        assert client.get("/schema").status_code == 421


def test_a_token_is_asked_for_everywhere_but_for_health(explainer):
    with serve(explainer, token=TOKEN) as client:
        assert client.get("/health/live").status_code == 200
        for path in ("/schema", "/metrics", "/openapi.json", "/v2/models/credit", "/nowhere"):
            refused = client.get(path)
            assert "The token is missing or wrong" in error(refused, 401)
            assert refused.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer a wrong token", f"Basic {TOKEN}", "Bearer", "Bearer é"):
            assert client.get("/schema", headers={"authorization": wrong.encode()}).status_code == 401
        right = {"authorization": f"Bearer {TOKEN}"}
        assert client.get("/schema", headers=right).status_code == 200
        described = client.get("/openapi.json", headers=right).json()
        assert described["security"] == [{"token": []}]
        assert described["paths"]["/health/live"]["get"]["security"] == []


def test_a_short_token_is_refused(explainer):
    with pytest.raises(ValueError, match="at least 16"):
        explainer.app(token="secret")


def test_no_other_site_may_use_it_unless_told(explainer):
    asks = {"origin": "https://shop.example", "access-control-request-method": "POST"}
    with serve(explainer) as client:
        assert "access-control-allow-origin" not in client.options("/explain", headers=asks).headers
        assert "access-control-allow-origin" not in client.get("/schema", headers=asks).headers
    with serve(explainer, origins=["https://shop.example"], token=TOKEN) as client:
        allowed = client.options("/explain", headers=asks)
        assert allowed.headers["access-control-allow-origin"] == "https://shop.example"
        other = client.options("/explain", headers=asks | {"origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers


def test_every_answer_has_the_headers_that_keep_browsers_safe(client):
    for path in ("/schema", "/nowhere", "/openapi.json"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert client.get("/docs").status_code == 404  # it would load scripts from elsewhere


def test_a_request_id_is_kept_if_it_is_harmless(client):
    assert client.get("/schema", headers={"x-request-id": "shop-17"}).headers["x-request-id"] == "shop-17"
    assert client.get("/schema", headers={"x-request-id": "a b;c"}).headers["x-request-id"] != "a b;c"


def test_logs_tell_of_requests_but_not_of_values(client, caplog):
    caplog.set_level("INFO", "counterpoint.web")
    client.post("/explain", json={"rows": [ROW | {"income": 41.23}], "k": 1}, headers={"x-request-id": "r1"})
    facts = [each.facts for each in caplog.records if each.name == "counterpoint.web"]
    (mine,) = [each for each in facts if each["request_id"] == "r1"]
    assert (mine["path"], mine["status"], mine["rows"], mine["k"]) == ("/explain", 200, 1, 1)
    assert "41.23" not in json.dumps(facts)


# ---------------------------------------------------------------- the rest


def test_metrics_count_requests_runs_and_answers(explainer):
    with serve(explainer) as client:
        client.post("/explain", json={"rows": [ROW], "k": 1})
        client.get("/nowhere/17")
        text = client.get("/metrics").text
    assert 'counterpoint_requests_total{path="/explain",status="200"} 1.0' in text
    assert 'counterpoint_requests_total{path="other",status="404"} 1.0' in text
    assert "counterpoint_run_rows_count 1.0" in text
    assert 'counterpoint_answers_total{outcome="all"} 1.0' in text
    assert "nowhere" not in text


def test_it_can_be_mounted(explainer):
    outer = FastAPI()
    outer.mount("/credit", explainer.app(name="credit", token=TOKEN))
    with client_of(outer) as client:
        assert client.get("/credit/health/live").status_code == 200
        assert client.get("/credit/schema").status_code == 401
        right = {"authorization": f"Bearer {TOKEN}"}
        said = client.post("/credit/explain", json={"rows": [ROW], "k": 1}, headers=right)
        assert said.json()["answers"][0]["counterfactuals"]


def test_images_and_unnameable_models_are_refused(explainer):
    images = np.random.default_rng(0).normal(size=(20, 8, 8))
    signal = cp.Neighbours().fit(lambda X: X.mean(axis=(1, 2)) > 0, images, progress=False)
    with pytest.raises(TypeError, match="for tables"):
        signal.app()
    with pytest.raises(ValueError, match="name must be of letters"):
        explainer.app(name="a/b")


@pytest.mark.parametrize(("kind", "name"), [(of_people, "amount"), (of_people, "months"), (of_numbers, "x1")])
def test_no_number_is_taken_that_the_document_rules_out(kind, name):
    with client_of(kind().app()) as client:
        document = client.get("/openapi.json").json()
        body = document["paths"]["/decide"]["post"]["requestBody"]["content"]["application/json"]["example"]
        described = document["components"]["schemas"]["Row"]["properties"][name]

        def status(number: int | float) -> int:
            rows = [body["rows"][0] | {name: number}]
            return client.post("/decide", json={"rows": rows}).status_code

        for end in (described["minimum"], described["maximum"]):
            assert status(end if described["type"] == ["integer"] else 0.9 * end) == 200
            # Also what would be rounded to a number that is allowed.
            for beyond in (int(end) + (1 if end > 0 else -1), 2 * int(end)):
                assert status(beyond) == 422


def test_the_most_extreme_constraints_lead_to_answers(client):
    for cost in (1e-6, 1e6):
        limits = {"costs": {"income": cost}, "max_change": {"age": 9e299}}
        said = client.post("/explain", json={"rows": [ROW], "k": 1, "constraints": limits})
        assert said.json()["answers"][0]["counterfactuals"]


@pytest.mark.parametrize("kind", [of_people, of_all_kinds, of_numbers, of_probabilities])
def test_examples_of_the_document_can_be_sent(kind):
    app = kind().app(name="credit")
    sent = 0
    with client_of(app) as client:
        paths = client.get("/openapi.json").json()["paths"]
        for path, each in paths.items():
            if "post" in each:
                example = each["post"]["requestBody"]["content"]["application/json"]["example"]
                said = client.post(path, json=example)
                assert said.status_code == 200, (path, said.text)
                sent += 1
    assert sent == 6
    assert set(paths) == {route.path for route in app.routes}

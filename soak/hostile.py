"""Hostile requests to the service: no 5xx, and no answer that its own OpenAPI document does not describe.

Each case is a request that schemathesis makes, to keep the document or to break it. With every second one, a
good request whose bytes are damaged is sent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint.web.limits import Bounds
from soak import scene
from soak.mutations import mutated
from soak.server import serving
from soak.trials import Failure, Trials

# That what keeps the document is taken cannot be asked for: no document can say that a range must not be
# empty. The others are about what this service has not: resources and users.
CHECKED = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "allow_header_conformance",
)
SECONDS = 60
QUICK = cp.Ensemble(size=2, fallback=None)
HOMES = ("own", "rent", "free")


class Hostile(Trials):
    """Requests that mean no good."""

    kind = "hostile requests"
    full = 10_000
    block = 500

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Send requests by schemathesis, and half as many that are damaged."""
        bounds = Bounds(body=200_000, rows=5, decisions=20, k=3, seconds=2.0)
        kinds = [of_people, of_all_kinds, of_numbers, of_probabilities]
        app = kinds[start // self.block % len(kinds)]().app(name="loans", bounds=bounds)
        with serving(app) as address:
            failures = drawn(app.openapi(), address, start, count)
            for number in range(start, start + count // 2):
                failures += damaged(app.openapi(), address, number)
            return [Failure(self.kind, case, what) for case, what in failures]


def of_people() -> cp.Explainer:
    """Fit an explainer of people, of whom a number and a name may not change and may be anything."""
    people = scene.people(200, 0)
    return QUICK.clone().fit(scene.decide, people, immutable=["age", "sex"], progress=False)


def of_all_kinds() -> cp.Explainer:
    """Fit an explainer of dates, dummy columns, ordered and missing values, with constraints of its own."""
    people = scene.people(200, 0)
    mixed = people.assign(
        since=pd.Timestamp("2020-01-01") + pd.to_timedelta(people["age"], unit="D"),
        zoned=pd.Timestamp("2020-01-01", tz="Europe/Berlin") + pd.to_timedelta(people["age"], unit="h"),
        level=pd.Categorical(people["job"], ["clerk", "nurse", "smith"], ordered=True),
        gap=people["amount"].where(people["age"] % 5 > 0),
        **{
            f"home_{each}": (people["age"] % 3 == i).astype(int)
            for i, each in enumerate(("own", "rent", "free"))
        },
    )
    return QUICK.clone().fit(
        scene.decide,
        mixed,
        ranges={"months": (6, 60)},
        increase=["age"],
        costs={"amount": 2},
        progress=False,
    )


def of_numbers() -> cp.Explainer:
    """Fit an explainer of an array and a regressor, with small floats."""
    rows = scene.people(200, 0)[scene.NUMBERS].to_numpy(np.float32)
    return QUICK.clone().fit(lambda table: table.astype(float).sum(axis=1) / 7, rows, progress=False)


def of_probabilities() -> cp.Explainer:
    """Fit an explainer of a classifier that has probabilities of three classes."""
    people = scene.people(200, 0)[scene.NUMBERS]
    model = LogisticRegression(max_iter=2_000).fit(people, people["months"] % 3)
    return QUICK.clone().fit(model, people, progress=False)


def drawn(document: dict[str, Any], address: str, seed: int, count: int) -> list[tuple[str, str]]:
    """Send requests that schemathesis draws from the document."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=address)
    checks, failures = CHECKS.get_by_names(CHECKED), []
    session, sent = requests.Session(), 0

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=st.one_of(*_strategies(schema)))
    def send(case: Any) -> None:
        nonlocal sent
        sent += 1
        try:
            case.call_and_validate(session=session, checks=checks, timeout=SECONDS)
        except (Exception, BaseExceptionGroup) as error:  # what checks found, and what a broken service does
            failures.append((f"{seed}+{sent} {case.method} {case.path}", f"{error}"))

    send()
    if sent < count:
        failures.append((str(seed), f"only {sent} of {count} requests were drawn"))
    return failures


def _strategies(schema: Any) -> Iterator[Any]:
    for result in schema.get_all_operations():
        operation = result.ok()
        yield operation.as_strategy(GenerationMode.POSITIVE)
        if operation.body:
            yield operation.as_strategy(GenerationMode.NEGATIVE)


def damaged(document: dict[str, Any], address: str, number: int) -> list[tuple[str, str]]:
    """Damage the bytes of a good request, and send it."""
    rng = np.random.default_rng([18, number])
    good = [
        (path, each["post"]["requestBody"]["content"]["application/json"].get("example"))
        for path, each in document["paths"].items()
        if "post" in each
    ]
    path, example = good[int(rng.integers(len(good)))]
    body = mutated(rng, json.dumps(example).encode())
    try:
        said = requests.post(address + path, body, headers=JSON, timeout=SECONDS)
    except requests.RequestException as error:
        return [(str(number), f"{path}: {error}")]
    return [] if said.status_code < 500 else [(str(number), f"{path}: {said.status_code} {said.text}")]


JSON = {"content-type": "application/json"}

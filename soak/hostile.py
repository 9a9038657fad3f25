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
import requests
import schemathesis
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

import counterpoint as cp
from counterpoint.web.service.limits import Bounds
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


class Hostile(Trials):
    """Requests that mean no good."""

    kind = "hostile requests"
    full = 10_000
    block = 500

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Send requests by schemathesis, and half as many that are damaged."""
        bounds = Bounds(body=200_000, rows=5, decisions=20, k=3, seconds=2.0)
        app = fitted().app(name="loans", bounds=bounds)
        with serving(app) as address:
            failures = drawn(app.openapi(), address, start, count)
            for number in range(start, start + count // 2):
                failures += damaged(app.openapi(), address, number)
            return [Failure(self.kind, case, what) for case, what in failures]


def fitted() -> cp.Explainer:
    """Fit a quick explainer, with a column that may not change and may hold anything."""
    people = scene.people(200, 0)
    return cp.Ensemble(size=2, fallback=None).fit(
        scene.decide, people, immutable=list(people)[:1], progress=False
    )


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

"""The OpenAPI document of a service, with examples that can be sent as they are."""

from __future__ import annotations

import json
from typing import Any

from counterpoint import __version__
from counterpoint.web.service import schemas
from counterpoint.web.service.kserve import DATATYPES, EXPLAINER, Protocol
from counterpoint.web.service.questions import Questions

Json = dict[str, Any]

_ANY: Json = {}
_TEXT: Json = {"type": "string"}
_NUMBER: Json = {"type": "number"}
_OBJECT: Json = {"type": ["object", "null"]}

# What each status means, wherever it can occur.
_REFUSALS = {
    400: "The body is no JSON.",
    401: "The token is missing or wrong.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    415: "The body is not sent as JSON.",
    421: "The Host header names a host that this is not.",
    422: "The body asks for something that cannot be done; problems name rows and columns.",
    502: "The model failed; problems name the rows.",
    503: "Too many requests are waiting; Retry-After says when to come again.",
    504: "The model did not answer in time.",
}


def document(questions: Questions, name: str, share: bool, has_token: bool = False) -> Json:
    """Describe all that a service answers to."""
    row = schemas.example(questions.reader.explainer._fitted().schema)
    # Where the model's outputs are numbers, a question has to say which are wanted.
    more: Json = {"target": {"low": 0}} if questions.reader.is_continuous and questions.target is None else {}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"Counterpoint: {name}",
            "version": __version__,
            "description": "What would have to change for this decision to be different?",
        },
        "paths": {**_own(row, more), **_v1(row, more, name), **_v2(questions, more, name)},
        "components": {
            "schemas": _components(questions, share),
            **({"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}} if has_token else {}),
        },
        **({"security": [{"token": []}]} if has_token else {}),
    }


def _components(questions: Questions, share: bool) -> Json:
    reader, bounds = questions.reader, questions.bounds
    schema = reader.explainer._fitted().schema
    return {
        "Row": schemas.row(schema, share),
        "List": schemas.listed(schema, share),
        "Options": _object(schemas.options(reader, bounds, share), required=[], closed=True),
        "Explain": _object(
            {"rows": _rows(bounds.rows), **schemas.options(reader, bounds, share)}, ["rows"], closed=True
        ),
        "Decide": _object(
            {"rows": _rows(bounds.decisions), "scores": {"type": "boolean"}}, ["rows"], closed=True
        ),
        "Answer": _answer(),
        "Error": _object(
            {
                "error": _TEXT,
                "request_id": {"type": ["string", "null"]},
                "problems": _list(
                    _object({"row": {"type": "integer"}, "column": _ANY, "value": _ANY, "rule": _TEXT})
                ),
            },
            ["error"],
        ),
        "Tensor": _tensor(),
        "Ready": _object({"ready": {"type": "boolean"}}),
    }


def _answer() -> Json:
    change = _object({"feature": _TEXT, "from": _ANY, "to": _ANY})
    found = {
        "decision": _ANY,
        "distance": _NUMBER,
        "cost": _NUMBER,
        "found_by": _TEXT,
        "changes": _list(change),
        "values": {"type": "object"},
        "sentence": _TEXT,
    }
    short = {"asked": _NUMBER, "found": _NUMBER, "already": {"type": "boolean"}, "reason": _TEXT}
    required = [name for name in found if name != "cost"]
    return _object(
        {
            "instance": {"type": "integer"},
            "decision": _ANY,
            "wanted": _TEXT,
            "values": {"type": "object"},
            "shortfall": {"anyOf": [{"type": "null"}, _object(short)]},
            "nearest_miss": {"type": ["object", "null"]},
            "counterfactuals": _list(_object(found, required)),
        }
    )


def _own(row: Json, more: Json) -> Json:
    answers = _object({"model": _TEXT, "answers": _list(_ref("Answer")), "request_id": _TEXT})
    decision = _object({"row": {"type": "integer"}, "decision": _ANY}, ["row", "decision"])
    decisions = _object({"model": _TEXT, "decisions": _list(decision), "request_id": _TEXT})
    return {
        "/explain": _post(
            "Say what would have to change", "Explain", {"rows": [row], "k": 2, **more}, answers
        ),
        "/decide": _post("Ask the model", "Decide", {"rows": [row]}, decisions),
        "/schema": _get("The columns, and what may be asked for", {"type": "object"}),
        "/health/live": _get("The process answers", _object({"live": {"type": "boolean"}}), guarded=False),
        "/health/ready": _ready("Rows can be explained"),
        "/metrics": _get("Counters for Prometheus", _TEXT, kind="text/plain"),
        "/openapi.json": _get("This document", {"type": "object"}),
    }


def _v1(row: Json, more: Json, name: str) -> Json:
    model = _object({"name": _TEXT, "ready": {"type": "boolean"}})
    options: Json = {"anyOf": [_ref("Options"), {"type": "null"}]}
    return {
        "/v1/models": _get("KServe V1: the models", _object({"models": _list(_TEXT)})),
        f"/v1/models/{name}": _get("KServe V1: the model", model),
        f"/v1/models/{name}:predict": _v1_post({"instances": [row]}, "predictions", _list(_ANY), _OBJECT),
        f"/v1/models/{name}:explain": _v1_post(
            {"instances": [row], "parameters": more}, "explanations", _list(_ref("Answer")), options
        ),
    }


def _v1_post(example: Json, what: str, answer: Json, parameters: Json) -> Json:
    either: Json = {"anyOf": [_ref("Row"), _ref("List")]}
    asked = {
        "instances": {"type": "array", "items": either, "minItems": 1},
        "parameters": parameters,
        "signature_name": _ANY,
    }
    body = _object(asked, ["instances"], closed=True)
    return _post(f"KServe V1: {what}", body, example, _object({what: answer}))


def _v2(questions: Questions, more: Json, name: str) -> Json:
    inputs = _list(_ref("Tensor")) | {"minItems": 1}
    output = _object({"name": _TEXT})
    asked = {
        "id": {"type": ["string", "null"]},
        "parameters": _OBJECT,
        "inputs": inputs,
        "outputs": {"type": ["array", "null"], "items": output},
    }
    body = _object(asked, ["inputs"], closed=True)
    answer = _object({"model_name": _TEXT, "id": _TEXT, "outputs": _list({"type": "object"})}, ["outputs"])
    cells = schemas.example_cells(questions.reader.table)
    tensors = [_sample(cells, tensor) for tensor in Protocol(questions.reader).inputs]
    parameters = {key: json.dumps(value) for key, value in more.items()}
    samples: list[Json] = [{"inputs": tensors}, {"inputs": tensors, "parameters": {"k": 2, **parameters}}]
    metadata = _object({"name": _TEXT, "platform": _TEXT, "inputs": _list(_ANY), "outputs": _list(_ANY)})
    server = _object({"name": _TEXT, "version": _TEXT, "extensions": _list(_TEXT)})
    paths: Json = {
        "/v2": _get("Open Inference Protocol: the server", server),
        "/v2/health/live": _get(
            "Open Inference Protocol: the process answers",
            _object({"live": {"type": "boolean"}}),
            guarded=False,
        ),
        "/v2/health/ready": _ready("Open Inference Protocol: rows can be explained"),
    }
    models = ((name, "decisions"), (f"{name}{EXPLAINER}", "explanations"))
    for (model, what), sample in zip(models, samples, strict=True):
        paths |= {
            f"/v2/models/{model}": _get(f"Open Inference Protocol: the inputs, for {what}", metadata),
            f"/v2/models/{model}/ready": _ready(f"Open Inference Protocol: {what} can be had", guarded=True),
            f"/v2/models/{model}/infer": _post(f"Open Inference Protocol: {what}", body, sample, answer),
        }
    return paths


def _sample(cells: Json, tensor: Json) -> Json:
    """Make up a tensor of one row."""
    size = tensor["shape"][1:]
    data = list(cells.values()) if size else [cells[tensor["name"]]]
    return {**tensor, "shape": [1, *size], "data": data}


def _tensor() -> Json:
    data: Json = {"type": "array", "items": {"anyOf": [schemas.SCALAR, _list(schemas.SCALAR)]}}
    size: Json = {"type": "integer", "minimum": 1, "maximum": 1_000_000}
    return _object(
        {
            "name": _TEXT,
            "shape": {"type": "array", "items": size, "minItems": 1, "maxItems": 2},
            "datatype": {"enum": list(DATATYPES)},
            "data": data,
            "parameters": _ANY,
        },
        ["name", "shape", "datatype", "data"],
        closed=True,
    )


def _post(summary: str, body: str | Json, example: Json | None, answer: Json) -> Json:
    content: Json = {"schema": _ref(body) if isinstance(body, str) else body}
    if example is not None:
        content["example"] = example
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": {"application/json": content}},
            "responses": {"200": _says(answer, "The answer."), **_refused(*_REFUSALS)},
        }
    }


def _get(summary: str, answer: Json, kind: str = "application/json", guarded: bool = True) -> Json:
    said = {"200": _says(answer, "The answer.", kind), **(_refused(401, 421) if guarded else {})}
    # Who checks the health needs no token.
    return {"get": {"summary": summary, "responses": said, **({} if guarded else {"security": []})}}


def _ready(summary: str, guarded: bool = False) -> Json:
    found = _get(summary, _ref("Ready"), guarded=guarded)
    found["get"]["responses"]["503"] = _says(_ref("Ready"), "The model does not return.")
    return found


def _refused(*statuses: int) -> Json:
    return {str(status): _says(_ref("Error"), _REFUSALS[status]) for status in statuses}


def _says(schema: Json, description: str, kind: str = "application/json") -> Json:
    return {"description": description, "content": {kind: {"schema": schema}}}


def _object(properties: Json, required: list[str] | None = None, closed: bool = False) -> Json:
    needed = list(properties) if required is None else required
    found: Json = {"type": "object", "properties": properties, "required": needed}
    return found | ({"additionalProperties": False} if closed else {})


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _rows(most: int) -> Json:
    return {"type": "array", "items": _ref("Row"), "minItems": 1, "maxItems": most}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}

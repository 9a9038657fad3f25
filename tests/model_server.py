"""A real server of models on loopback, which speaks three protocols and can misbehave in every way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pandas as pd

Decide = Callable[[Any], Any]


@dataclass
class ModelServer:
    """A server that asks `decide` about frames or arrays, and what it does instead of that.

    `first` are statuses of the first answers, before all is well. `delay` are seconds before each answer,
    `drip` seconds between its bytes. `says` is an answer to send whatever was asked. `inputs` describes the
    model in the Open Inference Protocol. `rows` is the one form of rows that V1 accepts, if only one is.
    """

    decide: Decide
    first: list[int] = field(default_factory=list)
    delay: float = 0.0
    drip: float = 0.0
    says: bytes | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    inputs: list[dict[str, Any]] = field(default_factory=list)
    largest: int = 10**9
    token: str | None = None
    rows: str | None = None
    port: int = 0
    asked: list[int] = field(default_factory=list)  # rows per request
    sizes: list[int] = field(default_factory=list)  # bytes per request
    paths: list[str] = field(default_factory=list)

    @property
    def v1(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1/models/credit:predict"

    @property
    def v2(self) -> str:
        return f"oip+http://127.0.0.1:{self.port}/v2/models/credit"

    @property
    def mlflow(self) -> str:
        return f"http://127.0.0.1:{self.port}/invocations"

    def answer(self, path: str, document: Any) -> dict[str, Any]:
        """Answer a question in the protocol of its path."""
        if path.endswith("/infer"):
            return self._inferred(document)
        instances = document.get("instances")
        if path.endswith(":predict"):
            table = self._instances(instances)
        elif "inputs" in document:
            table = np.array(document["inputs"], dtype=float)
        else:
            split = document["dataframe_split"]
            table = pd.DataFrame(split["data"], columns=split["columns"])
        return {"predictions": self._decided(table).tolist()}

    def _decided(self, table: Any) -> Any:
        self.asked.append(len(table))
        return np.asarray(self.decide(table))

    def _instances(self, instances: list[Any]) -> Any:
        form = "list" if isinstance(instances[0], list) else "record"
        if form == "record" and isinstance(next(iter(instances[0].values())), list):
            form = "cells"
        if self.rows is not None and form != self.rows:
            raise ValueError(f"instances must be given as {self.rows}, not as {form}")
        if form == "list":
            return np.array(instances, dtype=object if isinstance(instances[0][-1], str) else None)
        return pd.concat(map(pd.DataFrame, instances)) if form == "cells" else pd.DataFrame(instances)

    def _inferred(self, document: Any) -> dict[str, Any]:
        tensors = document["inputs"]
        if document.get("parameters", {}).get("content_type") == "pd":
            table: Any = pd.DataFrame({each["name"]: each["data"] for each in tensors})
            assert all(each["shape"] == [len(table), 1] for each in tensors)
        else:
            (tensor,) = tensors
            table = np.array(tensor["data"], dtype=float).reshape(tensor["shape"])
        decided = self._decided(table)
        kind = {"f": "FP64", "i": "INT64", "b": "BOOL"}.get(decided.dtype.kind, "BYTES")
        shape = list(decided.shape) if decided.ndim == 2 else [len(decided), 1]
        scores = {"name": "scores", "datatype": "FP64", "shape": [len(decided)], "data": [0.5] * len(decided)}
        label = {"name": "predict", "datatype": kind, "shape": shape, "data": decided.ravel().tolist()}
        return {"model_name": "credit", "outputs": [label] if kind == "FP64" else [scores, label]}


@contextmanager
def serving(decide: Decide, **how: Any) -> Iterator[ModelServer]:
    """Start a server on a free port of loopback; it stops at the end."""
    server = ModelServer(decide, **how)
    web = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    web.daemon_threads = True
    server.port = web.server_address[1]
    thread = threading.Thread(target=web.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        web.shutdown()
        web.server_close()
        thread.join()


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = (
            -1
        )  # head and body in one packet: sent apart, the second waits 40 ms for the first's receipt

        def do_GET(self) -> None:
            self._send(200, json.dumps({"name": "credit", "inputs": server.inputs}).encode())

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            server.sizes.append(len(body))
            server.paths.append(self.path)
            time.sleep(server.delay)
            if server.token and self.headers["authorization"] != f"Bearer {server.token}":
                self._send(401, b'{"error": "who are you?"}')
            elif server.first:
                self._send(server.first.pop(0), b'{"error": "not yet"}')
            elif len(body) > server.largest:
                self._send(413, b"too large")
            elif server.says is not None:
                self._send(server.status, server.says)
            else:
                self._answer(body)

        def _answer(self, body: bytes) -> None:
            try:
                answer = server.answer(self.path, json.loads(body))
            except Exception as error:
                self._send(500, json.dumps({"error": f"{type(error).__name__}: {error}"}).encode())
            else:
                self._send(200, json.dumps(answer).encode())

        def _send(self, status: int, body: bytes) -> None:
            try:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                for name, value in server.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in [body] if not server.drip else [body[i : i + 1] for i in range(len(body))]:
                    self.wfile.write(part)
                    self.wfile.flush()
                    time.sleep(server.drip)
            except OSError:  # nobody waits for the answer any more
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    return Handler

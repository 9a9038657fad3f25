"""A model on a server, as a function from tables or arrays to labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, get_args

import numpy as np

from counterpoint.model.adapters import outputs as read
from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.outputs import PROBABILITY, Output
from counterpoint.model.adapters.remote.address import protocol_of
from counterpoint.model.adapters.remote.answers import bad_answer
from counterpoint.model.adapters.remote.content import Content, content_of, count_of, part_of
from counterpoint.model.adapters.remote.http import Server, TooLargeError, shown
from counterpoint.model.adapters.remote.protocol import ServerProtocol
from counterpoint.model.errors import ModelError

# What an address leaves open is found out with this many rows.
SOME = 3

# The environment variable that holds a bearer token, unless another is named.
TOKEN = "COUNTERPOINT_MODEL_TOKEN"


@dataclass(frozen=True, repr=False)
class RemoteModel:
    """A model on a server, asked over HTTP; needs ``counterpoint[remote]``.

    It holds no connection, so it can be pickled and sent to other processes and machines.

    Parameters
    ----------
    address
        Where the model is, which also tells the protocol: ``oip+http://host:8080/v2/models/credit`` for the
        Open Inference Protocol (MLServer, Triton, KServe), ``http://host/v1/models/credit:predict`` for
        KServe's V1, or ``http://host:5000/invocations`` for MLflow.
    output
        "labels" turns several scores per row into the index of the largest; texts, whole numbers, bools and
        single numbers stay as they are. "scores" leaves scores as they are.
    threshold
        A single number above it is class 1, any other is class 0. None leaves single numbers as they are;
        with two `classes`, it is 0.5.
    classes
        Names of the classes in the order of the outputs; None uses what the server says.
    batch
        The largest number of rows per request.
    max_bytes
        The largest size of a request in bytes. A larger one is split, as is one that the server refuses for
        its size (413).
    timeout
        Seconds that a server has for an answer.
    retries
        How often a request is tried again if there is no answer, or if the server says that it is busy (408,
        425, 429, 502, 503, 504). Any other error of the server counts at once.
    backoff
        Seconds before the first retry. Each further wait is twice as long, and at least as long as the
        server's Retry-After asks for, up to 30 seconds.
    headers
        Sent with each request. They are part of a pickle, so keep secrets out of them.
    token_variable
        The environment variable that holds a bearer token, which is sent if the variable is set. It is read
        for each request, and is part of no file.
    protocol
        How the server is spoken to; None reads it from the address.

    Examples
    --------
    >>> model = RemoteModel("http://127.0.0.1:9/v1/models/credit:predict", retries=0)
    >>> model.predict(np.array([[31.0, 2000.0]]))
    Traceback (most recent call last):
        ...
    counterpoint.model.errors.ModelError: The model at http://127.0.0.1:9/v1/models/credit:predict cannot be
    reached: Connection refused, after 1 try. ...
    """

    address: str
    output: Output = field(default="labels", kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    classes: Sequence[Any] | None = field(default=None, kw_only=True)
    batch: int = field(default=1_000, kw_only=True)
    max_bytes: int = field(default=4_000_000, kw_only=True)
    timeout: float = field(default=30.0, kw_only=True)
    retries: int = field(default=3, kw_only=True)
    backoff: float = field(default=0.5, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    token_variable: str | None = field(default=TOKEN, kw_only=True)
    protocol: ServerProtocol | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self.output not in get_args(Output):
            raise ValueError(f'RemoteModel.output must be "labels" or "scores", got {self.output!r}.')
        for name, least in {"batch": 1, "max_bytes": 1, "retries": 0, "backoff": 0}.items():
            if getattr(self, name) < least:
                raise ValueError(f"RemoteModel.{name} must be at least {least}, got {getattr(self, name)}.")
        if not self.timeout > 0:
            raise ValueError(f"RemoteModel.timeout must be more than 0 seconds, got {self.timeout}.")
        protocol_of(self.address)

    def __repr__(self) -> str:
        return f"RemoteModel({shown(self.address)!r})"

    @property
    def classes_(self) -> Sequence[Any] | None:
        """The classes, under scikit-learn's name for them."""
        return self.classes

    def feature_names(self) -> tuple[str, ...] | None:
        """Ask the server for the names of the features in the model's order; None if it does not tell."""
        return self._settled(np.empty((0, 0))).names

    def on(self, known: Any) -> Self:
        """Find out what the address leaves open: the model's inputs, or the form of rows."""
        return replace(self, protocol=self._settled(content_of(known)))

    def predict(self, X: Any) -> Array:
        """Label instances, in batches one after the other."""
        content = content_of(X)
        count = count_of(content)
        if not count:
            return np.empty(0)
        protocol = self._settled(content)
        starts = range(0, count, self.batch)
        parts = [self._outputs(protocol, part_of(content, start, start + self.batch)) for start in starts]
        return self._labels(self._joined(parts))

    __call__ = predict

    def _settled(self, content: Content) -> ServerProtocol:
        protocol = self.protocol or protocol_of(self.address)
        return protocol.settled(self._server, part_of(content, 0, SOME))

    @property
    def _server(self) -> Server:
        return Server(self.timeout, self.retries, self.backoff, self.headers, self.token_variable)

    def _outputs(self, protocol: ServerProtocol, content: Content) -> Array:
        """Ask about rows in one request, or in two halves if it is too large."""
        count = count_of(content)
        body = protocol.body(content)
        try:
            if len(body) <= self.max_bytes or count == 1:
                document = self._server.post(protocol.asked_at, body)
                return protocol.outputs(document, count, self.output)
        except TooLargeError as error:
            if count == 1:
                raise ModelError(
                    f"The model at {shown(self.address)} refuses a single row for its size: {error}. Allow "
                    f"larger requests on the server."
                ) from error
        half = count // 2
        halves = part_of(content, 0, half), part_of(content, half, count)
        return self._joined([self._outputs(protocol, part) for part in halves])

    def _joined(self, parts: list[Array]) -> Array:
        """Put the outputs of several requests together; numpy would make texts of numbers among texts."""
        if len({part.dtype.kind == "U" for part in parts}) > 1:
            raise bad_answer(self.address, "texts to all requests, or to none", [part[0] for part in parts])
        return np.concatenate(parts)

    def _labels(self, outputs: Array) -> Array:
        if self.output == "scores":
            return read.scores(outputs)
        threshold = self.threshold
        if read.is_binary(outputs):
            if threshold is None and (self.classes is None or len(self.classes) != 2):
                return read.scores(outputs)
            threshold = PROBABILITY if threshold is None else threshold
        return read.labels(outputs, threshold, self.classes)

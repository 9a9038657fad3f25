"""What a protocol has to say: how rows are asked about, and how the answer is read."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.outputs import Output
from counterpoint.model.adapters.remote.content import Content, count_of
from counterpoint.model.adapters.remote.http import Server


@dataclass(frozen=True)
class ServerProtocol(ABC):
    """How one model on a server is spoken to.

    Parameters
    ----------
    url
        The address of the model.
    """

    url: str

    @property
    def asked_at(self) -> str:
        """Where questions go."""
        return self.url

    def settled(self, server: Server, some: Content) -> Self:
        """Find out what the address leaves open, with a few rows."""
        return self

    @property
    def names(self) -> tuple[str, ...] | None:
        """The features' names, if the server tells them."""
        return None

    @abstractmethod
    def question(self, content: Content) -> dict[str, Any]:
        """Write rows as a JSON document."""

    @abstractmethod
    def outputs(self, document: Any, count: int, output: Output) -> Array:
        """Read the outputs for so many rows from the answer: one per row, or one row of scores."""

    def body(self, content: Content) -> bytes:
        """Write rows as JSON; what JSON has no word for, such as infinity, is refused."""
        try:
            text = json.dumps(self.question(content), allow_nan=False, ensure_ascii=False)
        except ValueError as error:
            raise ValueError(f"A remote model cannot be sent infinite numbers: {error}.") from error
        return text.encode()

    def ask(self, server: Server, content: Content, output: Output) -> Array:
        """Ask about rows in one request."""
        document = server.post(self.asked_at, self.body(content))
        return self.outputs(document, count_of(content), output)

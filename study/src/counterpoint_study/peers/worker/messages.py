"""The messages between the study and a worker: a header of plain values and, maybe, an array of floats.

Both ends use this file. Nothing is pickled, so the two need not have the same packages.

==========  ==========  ==============================================  =====================
``kind``    from        header                                          array
==========  ==========  ==============================================  =====================
ready       worker      cpu
failed      worker      reason
explain     study       instance
ask         worker      want ("probabilities" or "labels"), paused      rows of codes
answer      study       wall, cpu                                       the model's answer
error       study       reason
done        worker      wall, cpu, error                                counterfactuals' codes
==========  ==========  ==============================================  =====================
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = struct.Struct("<I")
NOTHING = np.empty((0, 0))


@dataclass(frozen=True, eq=False)
class Message:
    """A header and an array, which is empty where there is none to send.

    Examples
    --------
    >>> message = Message({"kind": "ask", "want": "labels"}, np.array([[1.0, 2.0]]))
    >>> same = Message.unpack(message.pack())
    >>> same.kind, same.header["want"], same.array.tolist()
    ('ask', 'labels', [[1.0, 2.0]])
    """

    header: Mapping[str, Any]
    array: NDArray[np.float64]

    @property
    def kind(self) -> str:
        """What the message is about."""
        return str(self.header["kind"])

    def pack(self) -> bytes:
        """Write the message as bytes."""
        array = np.ascontiguousarray(self.array, dtype="<f8")
        header = json.dumps({**self.header, "shape": array.shape}).encode()
        return LENGTH.pack(len(header)) + header + array.tobytes()

    @classmethod
    def unpack(cls, content: bytes) -> Message:
        """Read what `pack` wrote."""
        start = LENGTH.size + LENGTH.unpack_from(content)[0]
        header = json.loads(content[LENGTH.size : start])
        array = np.frombuffer(content, dtype="<f8", offset=start).reshape(header.pop("shape"))
        # A copy, because what lies on bytes cannot be written to, and some peers write where they read.
        return cls(header, array.astype(np.float64))


def send(connection: Connection, array: NDArray[np.float64] = NOTHING, **header: Any) -> None:
    """Send a message."""
    connection.send_bytes(Message(header, array).pack())


def receive(connection: Connection) -> Message:
    """Wait for a message."""
    return Message.unpack(connection.recv_bytes())

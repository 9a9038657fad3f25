"""Which protocol an address means."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from counterpoint.model.adapters.remote.http import shown
from counterpoint.model.adapters.remote.open_inference import OpenInference
from counterpoint.model.adapters.remote.predictions import KServeV1, MLflowScoring
from counterpoint.model.adapters.remote.protocol import ServerProtocol

FORMS = (
    "oip+http://host:8080/v2/models/NAME (Open Inference Protocol), http://host/v1/models/NAME:predict "
    "(KServe V1) or http://host:5000/invocations (MLflow)"
)


def protocol_of(address: str) -> ServerProtocol:
    """Tell the protocol of an address.

    Examples
    --------
    >>> protocol_of("oip+http://host:8080/v2/models/credit")
    OpenInference(url='http://host:8080/v2/models/credit', inputs=None)
    >>> protocol_of("http://host/v1/models/credit:predict")
    KServeV1(url='http://host/v1/models/credit:predict', row_form=None)
    >>> protocol_of("http://host:5000/invocations")
    MLflowScoring(url='http://host:5000/invocations')
    """
    url = address.removeprefix("oip+")
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is not a number
        is_address = False
    if is_address and (url != address or re.match(r"(.*/)?v2/models/[^/]+", parts.path)):
        return OpenInference(url.rstrip("/").removesuffix("/infer"))
    if is_address and parts.path.endswith(":predict"):
        return KServeV1(url)
    if is_address and parts.path.rstrip("/").endswith("/invocations"):
        return MLflowScoring(url)
    raise ValueError(f"The address of a model must be such as {FORMS}, got {shown(address)!r}.")

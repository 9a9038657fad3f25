"""Competing libraries, each run in an environment and a process of its own.

`run_peer` is all that is needed::

    run = run_peer("DiCE random", model, X_train, y_train, X_test, k=5, immutable=[], categorical=["job"])

The model stays in the study's process and may be anything with ``predict``, ``predict_proba`` and
``classes_``: a peer asks it through a connection. `PEERS` has them all, with what is worth knowing of each.
No peer is crippled: it runs with its library's or its paper's defaults, and is told the categorical and
immutable features where it can take them.
"""

from counterpoint.study.peers.errors import PeerError
from counterpoint.study.peers.registry import PEERS, Peer
from counterpoint.study.peers.run import PeerRun, run_peer

__all__ = ["PEERS", "Peer", "PeerError", "PeerRun", "run_peer"]

"""Competing libraries, each run in an environment and a process of its own.

`run_peer` is all that is needed for tables, and `run_peer_on_signals` for images and series::

    run = run_peer("DiCE random", model, X_train, y_train, X_test, k=5, immutable=[], categorical=["job"])
    run = run_peer_on_signals("CEGP", network, images_train, y_train, images_test, k=1)

The model stays in the study's process and may be anything with ``predict``, ``predict_proba`` and
``classes_``: a peer asks it through a connection. `PEERS` has all peers for tables, and `peers_for` those for
any kind of data, with what is worth knowing of each. No peer is crippled: it runs with its library's or its
paper's defaults, and is told the categorical and immutable features where it can take them.
"""

from counterpoint_study.peers.errors import PeerError
from counterpoint_study.peers.registry import PEERS, Kind, Peer, peers_for
from counterpoint_study.peers.run import PeerRun, SignalRun, run_peer, run_peer_on_signals

__all__ = [
    "PEERS",
    "Kind",
    "Peer",
    "PeerError",
    "PeerRun",
    "SignalRun",
    "peers_for",
    "run_peer",
    "run_peer_on_signals",
]

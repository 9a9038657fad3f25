"""The peers: who they are, and what each can take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from counterpoint.study.peers.environments import pin_files
from counterpoint.study.peers.host import WORKER


@dataclass(frozen=True)
class Peer:
    """A method of another library.

    Parameters
    ----------
    name
        What the table calls it.
    module
        The module in `worker` that sets it up, or the path of another such module.
    environment
        The environment it runs in, or none for the study's own.
    library
        The package it is from, and its version.
    single
        It returns one counterfactual, whatever k is.
    nested
        Its answer for a smaller k is the beginning of that for a larger one.
    gradient
        It must differentiate the model: there has to be a `blueprint`.
    note
        What is worth knowing of its answers.

    Examples
    --------
    >>> PEERS["NICE"].library, PEERS["NICE"].single
    ('NICEx 0.2.3', True)
    """

    name: str
    module: str
    environment: str | None
    library: str
    single: bool = False
    nested: bool = False
    gradient: bool = False
    note: str = ""

    @property
    def path(self) -> Path:
        """The module's file."""
        return (WORKER / self.module).with_suffix(".py")

    @property
    def files(self) -> list[Path]:
        """All files that decide what it answers: the module, what modules share, and the pins."""
        shared = [path for path in WORKER.glob("*.py") if not path.name.startswith("peer_")]
        pins = [] if self.environment is None else pin_files(self.environment)
        return [self.path, *sorted(shared), *pins]


_DICE, _ALIBI, _CFNOW = "dice-ml 0.12", "alibi 0.9.6", "cfnow 0.0.6"

_ALL = (
    Peer("DiCE random", "peer_dice", "bench", _DICE),
    Peer("DiCE genetic", "peer_dice", "bench", _DICE),
    Peer(
        "DiCE gradient",
        "peer_dice_gradient",
        "bench",
        _DICE,
        gradient=True,
        note="For two classes, and models it can differentiate.",
    ),
    Peer(
        "FAT",
        "peer_fat",
        "bench",
        "FAT-Forensics 0.1.2",
        nested=True,
        note="Its grid has twenty steps a number, and changes one feature or two.",
    ),
    Peer("CEM", "peer_alibi", "alibi", _ALIBI, single=True),
    Peer("CEGP", "peer_alibi", "alibi", _ALIBI, single=True),
    Peer("WACH", "peer_alibi", "alibi", _ALIBI, single=True),
    Peer("CEML", "peer_ceml", "ceml", "ceml 0.7", single=True),
    Peer(
        "NICE",
        "peer_nice",
        "bench",
        "NICEx 0.2.3",
        single=True,
        note="Cannot hold features fixed: it may change immutable ones.",
    ),
    Peer(
        "CFNOW",
        "peer_cfnow",
        "bench",
        _CFNOW,
        note="Greedy search. May answer with fractions where the data are whole.",
    ),
)

PEERS: dict[str, Peer] = {peer.name: peer for peer in _ALL}
"""All peers by their names."""

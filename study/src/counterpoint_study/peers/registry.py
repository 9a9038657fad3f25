"""The peers: who they are, and what each can take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from counterpoint_study.peers.environments import pin_files

WORKER = Path(__file__).with_name("worker")

Kind = Literal["tables", "images", "series"]

TABLES: tuple[Kind, ...] = ("tables",)
SIGNALS: tuple[Kind, ...] = ("images", "series")

# Modules of the workers that no peer on tables imports.
ONLY_FOR_SIGNALS = frozenset({"convolution.py"})


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
    takes
        The kinds of data it explains.
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
    takes: tuple[Kind, ...] = TABLES
    note: str = ""

    @property
    def path(self) -> Path:
        """The module's file."""
        return (WORKER / self.module).with_suffix(".py")

    @property
    def files(self) -> list[Path]:
        """All files that decide what it answers: the module, what modules share, and the pins."""
        unused = ONLY_FOR_SIGNALS if self.takes == TABLES else frozenset()
        modules = [path for path in WORKER.glob("*.py") if path.name not in unused]
        shared = [path for path in modules if not path.name.startswith("peer_")]
        pins = [] if self.environment is None else pin_files(self.environment)
        return [self.path, *sorted(shared), *pins]


_DICE, _ALIBI, _CFNOW = "dice-ml 0.12", "alibi 0.9.6", "cfnow 0.0.6"

_ON_TABLES = (
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
        note="Its grid has at most 100 steps of a deviation or more, and changes one feature or two.",
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

_ON_SIGNALS = (
    Peer(
        "CEM",
        "peer_alibi_signals",
        "alibi",
        _ALIBI,
        single=True,
        gradient=True,
        takes=SIGNALS,
        note="May only make pixels brighter. Takes 10,000 steps, whatever the instance.",
    ),
    Peer("CEGP", "peer_alibi_signals", "alibi", _ALIBI, single=True, gradient=True, takes=SIGNALS),
    Peer("WACH", "peer_alibi_signals", "alibi", _ALIBI, single=True, gradient=True, takes=SIGNALS),
    Peer(
        "Wildboar",
        "peer_wildboar",
        "wildboar",
        "wildboar 1.2.1",
        single=True,
        takes=("series",),
        note="Moves a series towards training series of the other class, a step at a time.",
    ),
)


def peers_for(kind: Kind) -> dict[str, Peer]:
    """Find the peers that take a kind of data, by their names.

    Examples
    --------
    >>> list(peers_for("images"))
    ['CEM', 'CEGP', 'WACH']
    >>> list(peers_for("series"))
    ['CEM', 'CEGP', 'WACH', 'Wildboar']
    """
    return {peer.name: peer for peer in (*_ON_TABLES, *_ON_SIGNALS) if kind in peer.takes}


def find_peer(peer: str | Peer, kind: Kind) -> Peer:
    """Find the peer of a name that takes a kind of data; a peer of one's own is taken as it is."""
    if isinstance(peer, Peer):
        return peer
    known = peers_for(kind)
    if peer not in known:
        raise ValueError(f"There is no peer {peer!r} for {kind}. Known: {', '.join(known)}.")
    return known[peer]


PEERS: dict[str, Peer] = peers_for("tables")
"""All peers for tables by their names."""

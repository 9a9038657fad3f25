"""Made-up means and results, for the tests of what is concluded from them."""

from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint_study.findings.ranks import ANOTHER, BY_DISTANCE, NAMES

NAN = float("nan")
PLACES = [("s1", "forest"), ("s1", "network"), ("s2", "forest"), ("s2", "network")]


def cells(
    method: str, places: list[tuple[str, str]] = PLACES, ks: tuple[int, ...] = (1, 2), **values: float
) -> pd.DataFrame:
    """Means of one method, the same in all places, all metrics 1 unless said otherwise.

    They are its results on a single instance of each cell as well.
    """
    rows = [{"set": name, "black_box": box, "k": k} for name, box in places for k in ks]
    metrics = dict.fromkeys(NAMES, 1.0) | values
    one = {"instance": 0, "given": 1, "error": None}
    return pd.DataFrame(rows).assign(method=method, instances=3, valid=1.0, errors=0, **one, **metrics)


def failed(method: str, places: list[tuple[str, str]]) -> pd.DataFrame:
    return cells(method, places, **dict.fromkeys(NAMES, NAN)).assign(
        instances=0, errors=1, instance=-1, given=0, valid=0, error="crashed"
    )


def rows(
    method: str, box: str = "forest", ks: tuple[int, ...] = (1, 5), **other: Any
) -> list[dict[str, Any]]:
    """Two instances of a method on two data sets, all metrics .5 unless said otherwise."""
    plain = dict.fromkeys(NAMES, 0.5) | {
        "given": 1,
        "valid": 1,
        "error": None,
        "seed": 3,
        "library": "lib 1",
    }
    places = [(name, k, i) for name in ("german", "fico") for k in ks for i in (0, 1)]
    return [
        {"set": name, "black_box": box, "method": method, "k": k, "instance": i} | plain | other
        for name, k, i in places
    ]


def failure(method: str, reason: str, box: str = "forest") -> list[dict[str, Any]]:
    every = rows(method, box, **dict.fromkeys(NAMES, NAN), given=0, valid=0, error=reason)
    return [row | {"instance": -1} for row in every if row["instance"] == 0]


def study(*methods: list[dict[str, Any]]) -> pd.DataFrame:
    results = pd.DataFrame([row for method in methods for row in method])
    results.attrs = {
        "machine": {"system": "a calculator", "cores": 1},
        "plan": {"limits": {"cell": 9}, "ks": (1, 5)},
    }
    return results


def whole_run(seed: int, share: float = 1.0) -> pd.DataFrame:
    """All that a file of a small run has: steps, settings, and peers of which some are slow or limited."""
    ours = {"batched": 0.1, "model_calls": 9, "model_rows": 900}
    other: dict[str, Any] = {"seed": seed, "share": share, "refused": 0, "size": 0.9, "survival": 0.25}
    own = ["Counterpoint", "Counterpoint diverse", "ECE (paper)", "+ whole pool", "+ our selection", "BCE-N"]
    methods = [
        rows(name, box, **other, **ours, impl=0.1 + 0.05 * place)
        for place, name in enumerate(own)
        for box in ("forest", "network")
    ]
    peers = {"model_calls": 0, "model_rows": 0}
    methods += [
        rows(name, box, **other, **peers) for name in ("FAT", "CBCE") for box in ("forest", "network")
    ]
    few = other | {"size": 0.2}
    slow = rows("CEM", **few, **peers | {"error": "TimeLimit: time limit of 30 s"})
    methods += [[row for row in slow if row["instance"] == 0], rows("CEM", "network", **few)]
    methods += [rows("CEML", "network", **few), failure("CEML", "PeerError: no forests")]
    results = study(*methods).assign(seed=seed, share=share)
    results = results.assign(**{f"{name}{ANOTHER}": results[name] for name in BY_DISTANCE})
    accuracy = {"set": "german", "black_box": "forest", "accuracy": 0.7 + seed / 100, "paper": 0.76}
    results.attrs = {
        "plan": {"topic": "tables", "seed": seed},
        "versions": {"counterpoint": "1.2", "python": "3.13"},
        "machine": {"system": "a calculator", "cores": 1},
        "accuracies": [accuracy],
        "command": f"counterpoint study tables --seed {seed}",
    }
    return results


def save_without_drawing(figure: Any, folder: Path, name: str) -> str:
    """Stands for `figures.save` where only the names of figures matter: drawing takes most of the time."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.png").write_bytes(name.encode())
    return ""

"""Made-up means and results, for the tests of what is concluded from them."""

from typing import Any

import pandas as pd

from counterpoint_study.findings.ranks import NAMES

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

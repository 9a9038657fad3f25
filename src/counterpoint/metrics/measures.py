"""The paper's ten measures of a set of counterfactuals C of x, one function each, on rows.

They are the formulas of the paper's section "Evaluation Metrics". A mean over no counterfactuals is NaN, and
`evaluate` skips it. d is the paper's mixed MAD distance, `data.distance.Distance`, in which the order of
categories does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from counterpoint.data.distance import Distance, changed
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Mask, Row, Rows
from counterpoint.model.target import Target
from counterpoint.search.actions import directions

# Takes labels and a decision, and returns a mask of the labels that count as another decision.
Flips = Callable[[Labels, Any], Mask]
OTHER: Flips = Target().flips

# This many distances are computed at once: 16 MB, plus twice as much while they are summed.
CELLS = 2_000_000

# Distances that agree to this many decimals are ties; further digits are rounding errors of the sums.
DECIMALS = 9


@dataclass(frozen=True)
class Measures:
    """The paper's ten measures of one instance, and `actions`; NaN if undefined or not computed.

    Examples
    --------
    >>> Measures(1, 1, 0.25, 0.5, 0.5, 0, 0, 0.75).inst
    nan
    """

    size: float
    act: float
    impl: float
    dis_dist: float
    dis_count: float
    div_dist: float
    div_count: float
    dipo: float
    inst: float = float("nan")
    runtime: float = float("nan")
    actions: float = float("nan")


def size(C: Rows, k: int) -> float:
    """Measure availability, the share of the k requested that were found: |C| / k. More is better.

    Examples
    --------
    >>> size(np.array([[1.0], [2.0]]), k=5)
    0.4
    """
    return len(C) / k


def actions(C: Rows, x: Row, schema: Schema, k: int) -> float:
    """Measure how many different actions there are, relative to the k requested. More is better.

    An action is the set of changed features, numbers and ordered categories with their direction. This is
    not one of the paper's measures.

    Examples
    --------
    >>> rows = np.array([[2.0, 5.0], [3.0, 5.0], [1.0, 9.0]])
    >>> actions(rows, np.array([1.0, 5.0]), Schema.infer(rows), k=4)
    0.5
    """
    return len(np.unique(directions(C, x, schema.has_no_order), axis=0)) / k


def act(C: Rows, x: Row, actionable: Sequence[int] | Mask, k: int) -> float:
    """Measure actionability, the share of the k requested that change only actionable features.

    `actionable` is the paper's A: indices, such as `Schema.actionable`, or a mask. (In the paper's text, a_A
    compares the values over A itself; the other features are meant.) More is better.

    Examples
    --------
    >>> act(np.array([[1.0, 7.0], [2.0, 8.0]]), np.array([1.0, 8.0]), [1], k=2)
    0.5
    """
    fixed = np.ones(len(x), dtype=np.bool_)
    fixed[list(actionable)] = False
    kept = ~changed(C, x)[:, fixed].any(axis=1)
    return float(kept.sum() / k)


def impl(C: Rows, known: Population) -> float:
    """Measure implausibility, the mean distance to the closest known instance. Less is better.

    NaN if C is empty.

    Examples
    --------
    >>> schema = Schema.infer(np.array([[1.0], [2.0], [3.0]]))
    >>> known = Population.of(schema, np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 1]))
    >>> impl(np.array([[1.25], [3.75]]), known)
    0.5
    """
    known = known.measured
    embedded = known.distance.embed(C)
    parts = [
        known.distance.measure(embedded.take(indices), known.embedded).min(axis=1)
        for indices in _blocks(len(C), len(known.rows))
    ]
    return _mean(np.concatenate(parts)) if parts else np.nan


def dis_dist(C: Rows, x: Row, distance: Distance) -> float:
    """Measure dissimilarity, the mean distance from x. Less is better; NaN if C is empty.

    Examples
    --------
    >>> known = np.array([[1.0], [2.0], [3.0]])
    >>> distance = Distance.fit(Schema.infer(known), known)
    >>> dis_dist(np.array([[2.0], [4.0]]), np.array([1.0]), distance)
    2.0
    """
    return _mean(distance.from_x(C, x))


def dis_count(C: Rows, x: Row) -> float:
    """Measure dissimilarity, the mean share of features changed. Less is better; NaN if C is empty.

    Examples
    --------
    >>> dis_count(np.array([[1.0, 7.0], [2.0, 8.0]]), np.array([1.0, 9.0]))
    0.75
    """
    return _mean(changed(C, x))


def div_dist(C: Rows, distance: Distance) -> float:
    """Measure diversity, the mean distance over all |C|² pairs, including pairs of a row with itself.

    More is better; 0 for a single counterfactual, NaN if C is empty.

    Examples
    --------
    >>> known = np.array([[1.0], [2.0], [3.0]])
    >>> div_dist(np.array([[2.0], [4.0]]), Distance.fit(Schema.infer(known), known))
    1.0
    """
    return _mean_between(C, C, distance)


def div_count(C: Rows) -> float:
    """Measure diversity, the mean share of features that differ over all |C|² pairs.

    More is better; 0 for a single counterfactual, NaN if C is empty.

    Examples
    --------
    >>> div_count(np.array([[1.0, 7.0], [1.0, 8.0]]))
    0.25
    """
    if not C.size:
        return np.nan
    # Equal pairs are counted per value, so that no table of pairs is needed.
    alike = sum(int((np.unique(column, return_counts=True)[1] ** 2).sum()) for column in C.T)
    return float(1 - alike / (len(C) ** 2 * C.shape[1]))


def dipo(C: Rows, x: Row, known: Population, decision: Any, k: int, flips: Flips = OTHER) -> float:
    """Measure discriminative power: how well C and x alone tell x's known neighbours apart.

    A 1-nearest-neighbour classifier trained on C and x labels the k known instances closest to x with the
    same decision as x (including x if it is known) and the k closest with another. The measure is its
    accuracy; more is better. Ties count for x in the classifier, and for the earlier one among known
    instances. Without C all are classified like x, which is right half the time. NaN only if there are no
    known instances.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> known = Population.of(Schema.infer(rows), rows, np.array(["no", "no", "yes", "yes"]))
    >>> dipo(np.array([[4.0]]), np.array([1.0]), known, "no", k=2)
    1.0
    """
    known = known.measured
    distance = known.distance
    unlike = _unlike(known, decision, flips)
    away = np.round(distance.measure(distance.embed(x[None]), known.embedded)[0], DECIMALS)
    indices = np.concatenate([_closest(away, ~unlike, k), _closest(away, unlike, k)])
    from_c = distance.measure(known.embedded.take(indices), distance.embed(C)).min(axis=1, initial=np.inf)
    called_unlike = np.round(from_c, DECIMALS) < away[indices]
    return _mean(called_unlike == unlike[indices])


def inst(C: Rows, C2: Rows, x: Row, x2: Row, distance: Distance) -> float:
    """Measure instability, the mean distance between C and the counterfactuals C2 of a similar x2.

    It is divided by 1 + d(x, x2). Less is better; NaN if C or C2 is empty. For x2 see `nearest_alike`.

    Examples
    --------
    >>> known = np.array([[1.0], [2.0], [3.0]])
    >>> distance = Distance.fit(Schema.infer(known), known)
    >>> inst(np.array([[4.0]]), np.array([[5.0], [6.0]]), np.array([1.0]), np.array([3.0]), distance)
    0.5
    """
    return _mean_between(C, C2, distance) / (1 + float(distance.from_x(x2[None], x)[0]))


def measure(
    C: ArrayLike,
    x: Row,
    decision: Any,
    known: Population,
    *,
    k: int,
    schema: Schema | None = None,
    flips: Flips = OTHER,
    labels: ArrayLike | None = None,
    alike: tuple[Row, Rows] | None = None,
    runtime: float = float("nan"),
) -> Measures:
    """Compute all measures of any explainer's answer for x, given as rows.

    C is a set of valid counterfactuals: duplicate rows count once.

    Parameters
    ----------
    C
        The counterfactuals as rows, at most k.
    x
        The explained instance, as a row.
    decision
        The decision of the black box for x.
    known
        The known instances with the black box's labels, and the distance.
    k
        How many counterfactuals were requested.
    schema
        Defines which features are actionable; by default the schema of the known instances.
    flips
        Which labels count as another decision, such as `Target.flips`. The paper's formulas need it only
        if the model's output is a number; then an instance has the same decision if it does not flip.
    labels
        The labels of the black box for C, for an explainer that does not check them: rows that do not flip
        are not counterfactuals and are left out.
    alike
        The closest known instance with the same decision as x and its counterfactuals, for `inst`.
    runtime
        Time taken in seconds.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> known = Population.of(Schema.infer(rows), rows, np.array(["no", "no", "yes", "yes"]))
    >>> measure([[4.0], [2.5]], np.array([1.0]), "no", known, k=2, labels=["yes", "no"])
    Measures(size=0.5, act=0.5, impl=0.0, dis_dist=3.0, dis_count=1.0, div_dist=0.0, ...)
    """
    C = as_set(C, x, decision, k, flips, labels)
    distance = known.measured.distance
    return Measures(
        size=size(C, k),
        act=act(C, x, (schema or known.schema).changeable, k),
        impl=impl(C, known),
        dis_dist=dis_dist(C, x, distance),
        dis_count=dis_count(C, x),
        div_dist=div_dist(C, distance),
        div_count=div_count(C),
        dipo=dipo(C, x, known, decision, k, flips),
        inst=np.nan if alike is None else inst(C, alike[1], x, alike[0], distance),
        runtime=runtime,
        actions=actions(C, x, known.schema, k),
    )


def nearest_alike(
    rows: Rows, decisions: Sequence[Any] | Labels, known: Population, flips: Flips = OTHER
) -> NDArray[np.intp]:
    """Find, for each x, the index of the closest other known instance with the same decision.

    Known instances at distance 0 count as x itself. Ties go to the earlier one; -1 if there is none.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [2.5], [4.0]])
    >>> known = Population.of(Schema.infer(rows), rows, np.array(["no", "no", "yes", "yes"]))
    >>> nearest_alike(rows, known.labels, known)
    array([1, 0, 3, 2])
    """
    known = known.measured
    embedded = known.distance.embed(rows)
    found = np.full(len(rows), -1, dtype=np.intp)
    for indices in _blocks(len(rows), len(known.rows)):
        away = known.distance.measure(embedded.take(indices), known.embedded)
        away[away == 0] = np.inf
        for index, line in zip(indices, away, strict=True):
            line[_unlike(known, decisions[index], flips)] = np.inf
        closest = away.argmin(axis=1)
        found[indices] = np.where(np.isfinite(away[np.arange(len(away)), closest]), closest, -1)
    return found


def as_set(C: ArrayLike, x: Row, decision: Any, k: int, flips: Flips, labels: ArrayLike | None) -> Rows:
    """Check an answer and keep its valid rows, without duplicates."""
    rows = np.asarray(C, dtype=np.float64)
    if not rows.size:
        return np.empty((0, len(x)))
    if rows.shape[1:] != x.shape:
        raise ValueError(f"C must be rows of {len(x)} features as x is, got an array of shape {rows.shape}.")
    if labels is not None:
        rows = rows[flips(np.asarray(labels), decision)]
    rows = rows[~pd.DataFrame(rows).duplicated().to_numpy(dtype=np.bool_)]
    if len(rows) > k:
        raise ValueError(f"C must hold at most k = {k} counterfactuals, got {len(rows)}. Keep the best {k}.")
    return np.asarray(rows)


def _unlike(known: Population, decision: Any, flips: Flips) -> Mask:
    """Tell which known instances are decided differently."""
    mask = np.asarray(flips(known.labels, decision), dtype=np.bool_)
    if mask.shape != (len(known.rows),):
        raise ValueError(
            f"flips must return one truth value per row: {len(known.rows)} rows, got shape {mask.shape}. "
            f"For a model whose output is scores, give flips=Target(test=...).flips."
        )
    return mask


def _closest(away: Row, mask: Mask, k: int) -> NDArray[np.intp]:
    """Find the indices of the k closest masked entries, nearest first; ties in order."""
    indices = np.flatnonzero(mask)
    if len(indices) > k:
        indices = indices[away[indices] <= np.partition(away[indices], k - 1)[k - 1]]
    return indices[np.argsort(away[indices], kind="stable")[:k]]


def _mean_between(a: Rows, b: Rows, distance: Distance) -> float:
    """Compute the mean distance over all pairs of a row of a and a row of b."""
    if not len(a) or not len(b):
        return np.nan
    first, second = distance.embed(a), distance.embed(b)
    blocks = _blocks(len(a), len(b))
    total = sum(float(distance.measure(first.take(indices), second).sum()) for indices in blocks)
    return total / (len(a) * len(b))


def _blocks(count: int, width: int) -> Iterator[NDArray[np.intp]]:
    """Split indices into blocks so that an array of block × width stays small."""
    step = max(1, CELLS // max(1, width))
    return (np.arange(start, min(start + step, count)) for start in range(0, count, step))


def _mean(values: NDArray[Any]) -> float:
    """Compute a mean; NaN, without a warning, if there are no values."""
    return float(values.mean()) if values.size else np.nan

"""Many decisions: which features flip them, which got no answer and why, and what it costs for whom.

Facts of parts add up to the facts of the whole. They hold counts rather than rows, so that answers can be
counted one part at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.distance import changed
from counterpoint.data.outputs import is_continuous
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.shortfall import Reason, counted
from counterpoint.report.costs import Costs
from counterpoint.report.flips import Flip, flips
from counterpoint.report.group_columns import column
from counterpoint.report.groups import Split
from counterpoint.show.wording import decision_texts, standing_text, value_texts

# At most this many instances without counterfactuals are shown, and this many different decisions counted.
CASES, DECISIONS = 20, 50


@dataclass(frozen=True)
class Case:
    """An instance without any counterfactual: its row number from 1, decision, values, and the reason.

    `miss` is the score of its nearest miss in words, if it is known.
    """

    row: int
    decision: str
    reason: str
    values: tuple[str, ...]
    miss: str = ""


@dataclass(frozen=True)
class Many:
    """The facts of a report on many decisions; `a + b` are the facts of both, b's instances after a's.

    Parameters
    ----------
    costs
        What another decision costs, over all instances.
    asked, found
        How many counterfactuals were asked for and found; instances that had the decision ask for none.
    full
        How many instances got all they asked for.
    targets
        What was asked for, in words.
    decisions
        How many instances have each decision; empty if the model's output is a number.
    features
        How often each feature changes, in the table's order; empty for images and series.
    reasons
        Why instances got fewer than they asked for, the most frequent first.
    cases
        The first instances without any counterfactual that asked for one.
    splits
        The costs by the groups that the user chooses.
    model_calls, model_rows
        The number of model calls and of rows in them.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint import Neighbours
    >>> X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["a", "b"])
    >>> X["sex"] = ["f", "m"] * 50
    >>> explainer = Neighbours().fit(lambda X: X["a"].to_numpy() > 0, X, immutable=["sex"])
    >>> parts = [Many.of(explainer.explain_many(part, k=2), part, ["sex"]) for part in (X[:50], X[50:])]
    >>> many = parts[0] + parts[1]
    >>> many.costs.instances, many.found, [group.name for group in many.splits[0].groups]
    (100, 200, ['f', 'm'])
    """

    costs: Costs
    asked: int
    found: int
    full: int
    targets: tuple[str, ...]
    decisions: tuple[tuple[str, int], ...]
    features: tuple[Flip, ...]
    reasons: tuple[Reason, ...]
    cases: tuple[Case, ...]
    splits: tuple[Split, ...] = ()
    model_calls: int = 0
    model_rows: int = 0

    @classmethod
    def of(cls, explanations: Explanations, X: Any, groups: Iterable[Any] = ()) -> Many:
        """Count answers.

        Parameters
        ----------
        explanations
            The answers, as `explain_many` gives them.
        X
            The explained rows: a pandas or polars frame, or an array. It may have further columns that the
            model never sees, for use in `groups`.
        groups
            Columns of X to split the costs by. Numbers are shown in bands.
        """
        each = _Each(explanations)
        columns = [(str(name), column(X, name, explanations)) for name in groups]
        asking = [item for item in explanations if not _had_it(item)]
        short = [item for item in asking if item.shortfall is not None]
        return cls(
            costs=each.costs(np.arange(len(explanations))),
            asked=sum(item.k for item in asking),
            found=sum(len(item) for item in asking),
            full=len(asking) - len(short),
            targets=tuple(dict.fromkeys(item.target for item in explanations)),
            decisions=_counted(explanations),
            features=flips(explanations),
            reasons=counted(Reason.of(item.shortfall) for item in short if item.shortfall),
            cases=each.cases(),
            splits=tuple(Split.of(name, values, each.costs) for name, values in columns),
            model_calls=explanations.model_calls,
            model_rows=explanations.model_rows,
        )

    def __add__(self, other: Many) -> Many:
        _check_alike("features", [f.name for f in self.features], [f.name for f in other.features])
        _check_alike("groups", [s.name for s in self.splits], [s.name for s in other.splits])
        later = [replace(case, row=case.row + self.costs.instances) for case in other.cases]
        decisions = Counter(dict(self.decisions))
        decisions.update(dict(other.decisions))
        return Many(
            costs=self.costs + other.costs,
            asked=self.asked + other.asked,
            found=self.found + other.found,
            full=self.full + other.full,
            targets=tuple(dict.fromkeys((*self.targets, *other.targets))),
            decisions=tuple(decisions.items())[:DECISIONS],
            features=tuple(a + b for a, b in zip(self.features, other.features, strict=True)),
            reasons=counted((*self.reasons, *other.reasons)),
            cases=(*self.cases, *later)[:CASES],
            splits=tuple(a + b for a, b in zip(self.splits, other.splits, strict=True)),
            model_calls=self.model_calls + other.model_calls,
            model_rows=self.model_rows + other.model_rows,
        )

    @property
    def ranked(self) -> tuple[Flip, ...]:
        """The features that change, most often changed first."""
        changing = [flip for flip in self.features if flip.counterfactuals]
        return tuple(sorted(changing, key=lambda flip: -flip.counterfactuals))

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The features that no counterfactual changes."""
        return tuple(flip.name for flip in self.features if not flip.counterfactuals)

    @property
    def is_mixed(self) -> bool:
        """Whether instances with different decisions ask for any other decision."""
        return len(self.decisions) > 1 and "any other decision" in self.targets

    def told(self, most: int) -> tuple[int, ...]:
        """Choose features that describe an instance, as indices: groups first, then what changes most."""
        names = [flip.name for flip in self.features]
        chosen = [*(split.name for split in self.splits), *(flip.name for flip in self.ranked), *names]
        return tuple(names.index(name) for name in dict.fromkeys(chosen) if name in names)[:most]


class _Each:
    """What is counted for each instance."""

    def __init__(self, explanations: Explanations) -> None:
        self._items = explanations
        self._schema = explanations.schema
        self._already = np.array([_had_it(item) for item in explanations], dtype=np.bool_)
        self._empty = np.array([not len(item) for item in explanations], dtype=np.bool_)
        self._nearest = [float(item.distance.min(initial=np.inf)) for item in explanations]
        self._fewest = [_fewest(item) for item in explanations]

    def costs(self, indices: NDArray[np.intp]) -> Costs:
        """Count what another decision costs for the instances at given indices."""
        having = indices[~self._empty[indices]].tolist()
        return Costs.of(
            [self._nearest[index] for index in having],
            [self._fewest[index] for index in having],
            already=int(self._already[indices].sum()),
            without=int((self._empty & ~self._already)[indices].sum()),
        )

    def cases(self) -> tuple[Case, ...]:
        """Gather the first instances without any counterfactual."""
        indices = np.flatnonzero(self._empty & ~self._already)[:CASES].tolist()
        return tuple(self._case(index, self._items[index]) for index in indices)

    def _case(self, index: int, item: Explanation) -> Case:
        features = () if self._schema.form.shape else self._schema.features
        values = [value_texts(feature, item.row[[i]])[0] for i, feature in enumerate(features)]
        reason = item.shortfall.reason if item.shortfall else ""
        miss = "" if item.nearest_miss is None else standing_text(item.nearest_miss.standing)
        return Case(index + 1, _decision(item), reason, tuple(values), miss)


def _had_it(item: Explanation) -> bool:
    """Tell whether an instance already had the decision asked for."""
    return item.shortfall is not None and item.shortfall.already


def _fewest(item: Explanation) -> int:
    """Count the changes of the counterfactual with the fewest; 0 if there is none."""
    return int(changed(item.rows, item.row).sum(axis=1).min()) if len(item) else 0


def _decision(item: Explanation) -> str:
    """Write the decision of an instance."""
    return decision_texts(item.decision, item.labels[:0])[0]


def _counted(explanations: Explanations) -> tuple[tuple[str, int], ...]:
    """Count the explained decisions, unless they are numbers or scores."""
    decisions = np.array([item.decision for item in explanations])
    if decisions.ndim != 1 or is_continuous(decisions):
        return ()
    return tuple(Counter(map(_decision, explanations)).items())[:DECISIONS]


def _check_alike(what: str, ours: list[Any], theirs: list[Any]) -> None:
    """Check that facts are about the same features and groups."""
    if ours != theirs:
        raise ValueError(
            f"Facts with different {what} do not add up: {ours} and {theirs}. Count all parts the same way."
        )

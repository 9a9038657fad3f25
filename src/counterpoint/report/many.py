"""Many decisions: which features flip them, who got no answer and why, and what it costs for whom.

Facts of parts add up to the facts of the whole, and hold counts rather than rows, so that answers can be
counted as they stream by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import is_continuous
from counterpoint.distances import changed
from counterpoint.explanation import Explanation
from counterpoint.explanations import Explanations
from counterpoint.report import plain
from counterpoint.report.columns import column
from counterpoint.report.costs import Costs
from counterpoint.report.flips import Flip, flips
from counterpoint.report.groups import Split
from counterpoint.sentences import decision_texts, value_texts
from counterpoint.shortfall import Reason, counted

# So many instances without any counterfactual are shown, and so many different decisions counted.
CASES, DECISIONS = 20, 50


@dataclass(frozen=True)
class Case:
    """An instance without any counterfactual: its place from 1, its decision, its values, and why."""

    row: int
    decision: str
    reason: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Many:
    """The facts of a report on many decisions; `a + b` are those of both, b's instances after a's.

    Parameters
    ----------
    costs
        What another decision costs, over all instances.
    asked, found
        How many counterfactuals were asked for and found; instances that have the decision ask for none.
    full
        How many instances got all they asked for.
    targets
        What was asked for, in words.
    decisions
        How many instances have each decision; none are counted where the model's output is a number.
    features
        How often each feature changes, in the table's order; none for images and series.
    reasons
        Why instances that asked got fewer than asked for, the most frequent first.
    cases
        The first instances without any counterfactual that asked for one.
    splits
        The costs by the groups that the user names.
    model_calls, model_rows
        How often the model was called and about how many rows.

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
            The explained rows: a pandas or polars frame, or an array. It may have further columns, such as
            one that the model never sees, to name in `groups`.
        groups
            Columns of X to part the costs by. Numbers are shown in bands.
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
        """The features that change at all, those that change most often first."""
        changing = [flip for flip in self.features if flip.counterfactuals]
        return tuple(sorted(changing, key=lambda flip: -flip.counterfactuals))

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The features that no counterfactual changes."""
        return tuple(flip.name for flip in self.features if not flip.counterfactuals)

    @property
    def is_mixed(self) -> bool:
        """Whether instances of different decisions ask for any other one."""
        return len(self.decisions) > 1 and "any other decision" in self.targets

    def told(self, most: int) -> tuple[int, ...]:
        """Find features that tell instances apart, by their places: groups first, then what flips."""
        names = [flip.name for flip in self.features]
        chosen = [*(split.name for split in self.splits), *(flip.name for flip in self.ranked), *names]
        return tuple(names.index(name) for name in dict.fromkeys(chosen) if name in names)[:most]

    def to_json(self) -> str:
        """Save the facts as text, such as those of a finished part; `from_json` reads them back."""
        return plain.to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Many:
        """Read facts that `to_json` saved."""
        return plain.from_json(cls, text)


class _Each:
    """What one counts of each instance."""

    def __init__(self, explanations: Explanations) -> None:
        self._items = explanations
        self._schema = explanations.schema
        self._already = np.array([_had_it(item) for item in explanations], dtype=np.bool_)
        self._empty = np.array([not len(item) for item in explanations], dtype=np.bool_)
        self._nearest = [float(item.distance.min(initial=np.inf)) for item in explanations]
        self._fewest = [_fewest(item) for item in explanations]

    def costs(self, places: NDArray[np.intp]) -> Costs:
        """Count what another decision costs for the instances at some places."""
        having = places[~self._empty[places]].tolist()
        return Costs.of(
            [self._nearest[place] for place in having],
            [self._fewest[place] for place in having],
            already=int(self._already[places].sum()),
            without=int((self._empty & ~self._already)[places].sum()),
        )

    def cases(self) -> tuple[Case, ...]:
        """Gather the first instances without any counterfactual."""
        places = np.flatnonzero(self._empty & ~self._already)[:CASES].tolist()
        return tuple(self._case(place, self._items[place]) for place in places)

    def _case(self, place: int, item: Explanation) -> Case:
        features = () if self._schema.form.shape else self._schema.features
        values = [value_texts(feature, item.row[[i]])[0] for i, feature in enumerate(features)]
        reason = item.shortfall.reason if item.shortfall else ""
        return Case(place + 1, _decision(item), reason, tuple(values))


def _had_it(item: Explanation) -> bool:
    """Tell whether an instance had the decision asked for, so that nothing had to change."""
    return item.shortfall is not None and item.shortfall.already


def _fewest(item: Explanation) -> int:
    """Count the changes of the counterfactual with the fewest; 0 if there is none."""
    return int(changed(item.rows, item.row).sum(axis=1).min()) if len(item) else 0


def _decision(item: Explanation) -> str:
    """Write the decision of an instance."""
    return decision_texts(item.decision, item.labels[:0])[0]


def _counted(explanations: Explanations) -> tuple[tuple[str, int], ...]:
    """Count the decisions explained, unless they are numbers or scores."""
    decisions = np.array([item.decision for item in explanations])
    if decisions.ndim != 1 or is_continuous(decisions):
        return ()
    return tuple(Counter(map(_decision, explanations)).items())[:DECISIONS]


def _check_alike(what: str, ours: list[Any], theirs: list[Any]) -> None:
    """Refuse to add up facts about different things."""
    if ours != theirs:
        raise ValueError(f"Facts of other {what} do not add up: {ours} and {theirs}. Count all parts alike.")

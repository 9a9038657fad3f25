"""ECE as the paper states it: Algorithm 1, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from counterpoint.codecs import Codec
from counterpoint.data.known import Population
from counterpoint.data.search_distance import Mixed, SearchDistance
from counterpoint.data.types import Indices
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.explainers.fitting import Fitted
from counterpoint.explainers.paper.base import PaperExplainer, Returning, gather_returned, returned_by
from counterpoint.explainers.paper.brute_force import PaperBruteForce
from counterpoint.explainers.paper.sphere import PaperSphere
from counterpoint.explainers.paper.tree import PaperTree
from counterpoint.search.engine import Lockstep
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Search, Task
from counterpoint.selection.density import Density


def _base_explainers() -> tuple[Explainer, ...]:
    """Make BCE-B, BCE-T and BCE-S, with the paper's n = 1 and r = 10."""
    return PaperBruteForce(n=1, r=10), PaperTree(), PaperSphere()


@dataclass(frozen=True)
class Member:
    """One f_k of E, with the sample X' and the features A' drawn for it.

    The draw of features is an order of all; A' is the first of those that a question lets change.
    """

    explainer: Explainer
    known: Population
    order: tuple[int, ...]
    share: float | None
    stream: tuple[int, ...]
    k: int | None

    @property
    def name(self) -> str:
        """What the paper calls the explainer, if it knows it."""
        kind = type(self.explainer)
        return kind.paper_name if issubclass(kind, PaperExplainer) else kind.__name__

    def returned(self, task: Task) -> Returning:
        """Call f_k(x, b, X', A'): it returns at most k."""
        narrow = task.narrow(self.known, self.features(task.features), self.stream)
        return returned_by(self.explainer, replace(narrow, k=self.k or task.k))

    def features(self, actionable: Indices) -> Indices:
        """Draw A', a random subset of A: a share of it or, as in random forests, about its square root."""
        order = np.array(self.order, dtype=np.intp)
        order, count = order[np.isin(order, actionable)], len(actionable)
        few = max(2, int(np.sqrt(count))) if self.share is None else max(1, round(self.share * count))
        return np.sort(order[:few])


@dataclass
class PaperEnsemble(Explainer):
    """The paper's own ensemble: Algorithm 1 to the letter, without anything that was added since.

    `cp.Ensemble.paper` is this class. It has the interface of every explainer and keeps the same promises.
    Where the paper gives no value, that of the authors' release is the default.

    Parameters
    ----------
    explainers
        The kinds that E is drawn from, uniformly: BCE-B with n = 1 and r = 10, BCE-T and BCE-S, as the paper
        describes them, or your own.
    size
        The paper's |E|: how many base explainers are called.
    instances
        The share of the known instances X in a sample X', drawn without replacement.
    features
        The share of the actionable features A in a subset A'. None for the square root of their number, at
        least 2, as in random forests.
    k
        The most that a base explainer returns. None for as many as are asked for.
    lambda_
        The paper's λ: the cost of one unit of distance, in counterfactuals covered. The paper gives no value.
        This one is so small that an answer up to a distance of ten is worth it: the paper's own answers are
        nearly complete.
    h
        The paper's h: how many counterfactuals of C a choice covers. None for as many as are asked for.
    distance
        The d of base explainers and selection: `Mixed`, the paper's mix of Euclidean distance and Jaccard
        dissimilarity, or `Judge`, the one that answers are judged with.
    codec
        How images and series become rows, as for `Ensemble`.
    seed
        All draws depend on it, and on nothing else.

    Examples
    --------
    >>> import counterpoint as cp
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> ece = cp.Ensemble.paper(lambda_=0.1).fit(lambda rows: rows.sum(axis=1) > 0, X, immutable=[2])
    >>> set(ece.explain(X[0], k=4).found_by) <= {"BCE-B", "BCE-T", "BCE-S"}
    True
    """

    explainers: Sequence[Explainer] = field(default_factory=_base_explainers)
    size: int = 10
    instances: float = 0.2
    features: float | None = None
    k: int | None = None
    lambda_: float = 0.05
    h: int | None = None
    distance: SearchDistance = field(default_factory=Mixed)
    codec: Codec | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "size", *(name for name in ("k", "h") if getattr(self, name) is not None))
        at_least(0, self, "lambda_")
        if not self.explainers or not all(isinstance(each, Explainer) for each in self.explainers):
            raise TypeError(
                f"Ensemble.paper's explainers must be a list of at least one explainer, got "
                f"{self.explainers!r}."
            )
        for name in ("instances", "features"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise ValueError(f"Ensemble.paper's {name} must be a share in (0, 1], got {share}.")

    def keep(self, fitted: Fitted) -> Self:
        """Keep what was learned, and draw X' and A' for each base explainer: lines 2 to 4."""
        super().keep(fitted)
        self.known_ = self._searched(fitted.known)
        self.members_ = self._drawn(fitted.known)
        return self

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Call the base explainers, and collect what they return: line 5."""
        yield from gather_returned(
            pool, [(each.name, each.returned(task)) for each in self._members(task.known)]
        )

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        """Select at most k by the density objective: line 6."""
        return Density(self.lambda_, self.h).select(replace(task, known=self._searched(task.known)), finds)

    def search(self, task: Task) -> Search:
        """Run the base explainers alone, as one of another ensemble's base explainers."""
        searches = Lockstep(task.decisions[:0])
        for member in self._drawn(task.known):
            searches.add(member.returned(task))
        while (question := searches.question()) is not None:
            searches.answer((yield question))

    def _members(self, known: Population) -> list[Member]:
        """Give the members drawn at `fit`, or draw them from the same instances with other outputs."""
        return self.members_ if known is self.fitted_.known else self._drawn(known)

    def _drawn(self, known: Population) -> list[Member]:
        return known.once(("members", repr(self)), lambda: self._draw(self._searched(known)))

    def _searched(self, known: Population) -> Population:
        """Give the known instances the search's own distance."""
        return known.once(
            ("searched", repr(self.distance)),
            lambda: Population(known.schema, known.rows, known.labels, self.distance.of(known)),
        )

    def _draw(self, known: Population) -> list[Member]:
        """Draw the kinds of E uniformly, and for each its instances and features."""
        rng, count = np.random.default_rng([self.seed, 1]), len(known.rows)
        members = []
        for place, kind in enumerate(rng.integers(len(self.explainers), size=self.size).tolist()):
            sample = rng.permutation(count)[: max(1, round(self.instances * count))]
            order = tuple(rng.permutation(len(known.schema.features)).tolist())
            members.append(
                Member(
                    self.explainers[kind],
                    known.take(np.sort(sample)),
                    order,
                    self.features,
                    (self.seed, place),
                    self.k,
                )
            )
        return members

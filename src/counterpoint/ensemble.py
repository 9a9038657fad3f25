"""ECE, the paper's Algorithm 1: sample instances and features, run the base explainers, select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from counterpoint.answers import Fitted
from counterpoint.blackbox import is_continuous
from counterpoint.codecs import Codec
from counterpoint.engine import Lockstep, step
from counterpoint.explainers import BruteForce, Evolution, Explainer, Guided, Neighbours, Sphere, Tree
from counterpoint.explainers.base import at_least
from counterpoint.explanation import Explanation
from counterpoint.polish import Polish, stretch
from counterpoint.pool import Asking, Finds, Pool
from counterpoint.population import Population
from counterpoint.selection import BALANCED, Selection
from counterpoint.surrogate import Surrogate
from counterpoint.task import WIDE, Places, Question, Search, Task, cheapest_of_each

# What is needed is learned at `fit` for so many decisions at most, and for more when they are asked about.
AHEAD = 10


def _default_explainers() -> tuple[Explainer, ...]:
    """Make the paper's base explainers, and one that a surrogate guides."""
    return BruteForce(refine=0), Tree(), Sphere(), Neighbours(), Guided()


@dataclass(frozen=True)
class Voice:
    """A base explainer of an ensemble, with the instances and features drawn for it."""

    explainer: Explainer
    known: Population
    features: tuple[int, ...]
    stream: tuple[int, ...]

    def search(self, task: Task) -> Search:
        """Search on this voice's sample."""
        features = np.array(self.features, dtype=np.intp)
        features = features[np.isin(features, task.features)]
        if not isinstance(self.explainer, BruteForce | Guided):  # which heed the limit by themselves
            features = _forced_first(task, features)[: task.max_changes]
        return self.explainer.search(task.narrow(self.known, features, self.stream))


@dataclass
class Ensemble(Explainer):
    """An ensemble of base explainers.

    Each voice is a base explainer with a sample of the known instances and of the actionable features, drawn
    once at `fit`. All voices search for all instances together, and every row that flips joins the pool.
    Where the pool stays small, `fallback` searches on all instances and features. The most promising of the
    pool are polished, and the selection picks k.

    Parameters
    ----------
    explainers
        The kinds of base explainers; voices are drawn uniformly from them. Any mix, also your own.
    size
        The paper's |E|: how many voices.
    instances
        The share of the known instances that a voice sees (at least 1,000 and at most 5,000 of them).
    polish
        Makes candidates smaller before the selection; None for none.
    starts
        How many candidates an instance are polished, for each counterfactual wanted; at least ten in all.
    selection
        What a good set is: `BALANCED`, `CLOSE`, `DIVERSE`, `PLAUSIBLE`, `SPARSE`, `VARIED` or your
        own `Selection`.
    fallback
        Searches for instances of which few counterfactuals are found; None for none.
    codec
        How images and series become rows: `Identity`, `Kernel`, `PCA`, `Autoencoder` or your own. None for
        tables; arrays of more than two dimensions, and series for a classifier of series, then get a
        `Kernel`. Series of two dimensions, (n, length), for any other model need a codec.
    seed
        All draws depend on it, and on nothing else.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> ensemble = Ensemble().fit(lambda rows: rows.sum(axis=1) > 0, X, immutable=[2])
    >>> explanation = ensemble.explain(X[0], k=4)
    >>> len(explanation.counterfactuals), explanation.shortfall
    (4, None)
    """

    explainers: Sequence[Explainer] = field(default_factory=_default_explainers)
    size: int = 10
    instances: float = 0.2
    polish: Polish | None = field(default_factory=Polish)
    starts: int = 16
    selection: Selection = BALANCED
    fallback: Explainer | None = field(default_factory=Evolution)
    codec: Codec | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "size", "starts")
        if not isinstance(self.explainers, Sequence) or not all(
            isinstance(explainer, Explainer) for explainer in self.explainers
        ):
            raise TypeError(f"Ensemble.explainers must be a list of explainers, got {self.explainers!r}.")
        if not self.explainers:
            raise ValueError("Ensemble.explainers must hold at least one explainer, got none.")
        if not isinstance(self.selection, Selection):
            raise TypeError(
                f"Ensemble.selection must be a Selection such as cp.CLOSE, got {self.selection!r}."
            )
        if self.codec is not None and not isinstance(self.codec, Codec):
            raise TypeError(
                f"Ensemble.codec must have the methods fit, encode and decode, as Kernel(4) has, got "
                f"{self.codec!r}."
            )
        if not 0 < self.instances <= 1:
            raise ValueError(f"Ensemble.instances must be in (0, 1], got {self.instances}.")

    def keep(self, fitted: Fitted) -> Self:
        """Keep what was learned, and draw the voices."""
        super().keep(fitted)
        self.voices_ = self._draw(fitted.known)
        self._learn_ahead(fitted)
        return self

    def _learn_ahead(self, fitted: Fitted) -> None:
        """Learn now what searches for any other decision need, so that the first answer is no slower."""
        known = fitted.known
        decisions, first = np.unique(known.labels, return_index=True)
        if is_continuous(known.labels, fitted.blackbox.model) or len(decisions) > AHEAD:
            return
        for place in first:
            task = fitted.task(known.rows[[place]], known.labels[[place]], stream=(self.seed,))
            for voice in self.voices_:
                step(voice.search(task), None)
            Surrogate.of(task)

    def _draw(self, known: Population) -> list[Voice]:
        """Draw the voices: their kinds, instances and features."""
        rng = np.random.default_rng([self.seed, 1])
        actionable = known.schema.actionable
        few = min(len(actionable), max(2, int(np.sqrt(len(actionable)))))
        size = min(5000, max(1000, int(self.instances * len(known.rows))))
        used = [0] * len(self.explainers)
        voices = []
        for place, kind in enumerate(_least_used(rng, len(used), self.size)):
            # A few features at a time find small changes, all of them find a change where small ones fail:
            # the first voice of a kind has them all, the next a few, and so on.
            # Where there are very many, those that look at each feature by itself have a few only.
            alone = len(actionable) > 4 * WIDE and isinstance(self.explainers[kind], BruteForce | Guided)
            count = few if used[kind] % 2 or alone else len(actionable)
            used[kind] += 1
            features = tuple(int(feature) for feature in rng.permutation(actionable)[:count])
            sample = known.sample(np.random.default_rng([self.seed, 2, place]), size)
            voices.append(Voice(self.explainers[kind], sample, features, (self.seed, place)))
        return voices

    def search(self, task: Task) -> Search:
        """Run the voices alone, as one of another ensemble's base explainers."""
        chorus = Lockstep(task.decisions[:0])
        for voice in task.once(("voices", repr(self)), lambda: self._draw(task.known)):
            chorus.add(voice.search(task))
        while (question := chorus.question()) is not None:
            chorus.answer((yield question))

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Run all voices, help where they find too few, and polish what looks best."""
        for voice in self.voices_:
            pool.add(voice.search(task), type(voice.explainer).__name__)
        yield from pool.round()
        short = pool.counts < 2 * task.k
        if self.fallback is None:
            short[:] = False
        self._polish(task, pool, np.flatnonzero(~short))
        if short.any():
            pool.add(self._help(task, pool, np.flatnonzero(short)), type(self.fallback).__name__)
        yield from pool.finish()

    def choose(self, task: Task, finds: Finds) -> list[Places]:
        """Select k of the pool for each instance."""
        return self.selection.select(task, finds, task.k)

    def _help(self, task: Task, pool: Pool, instances: Places) -> Search:
        """Search further for instances of which few counterfactuals were found, and polish what there is."""
        assert self.fallback is not None
        yield from _renumbered(self.fallback.search(task.only(instances)), instances)
        self._polish(task, pool, instances)

    def _polish(self, task: Task, pool: Pool, instances: Places) -> None:
        """Start polishing the most promising finds of some instances."""
        if self.polish is None or not len(instances):
            return
        finds = pool.finds().about(instances)
        # Implausibility takes the longest to measure, and polish moves candidates anyway.
        cost = replace(self.selection, implausibility=0.0).costs(task, finds)
        starts = cheapest_of_each(cost, finds.of, task.affordable(max(10, self.starts * task.k), 2 * task.k))
        pool.add(self.polish.search(task, finds.rows[starts], finds.of[starts]), "Polish")
        # Where being apart is worth far more than being close and plausible, the ends of ranges are wanted.
        if self.selection.dispersion > 2 * self.selection.distance + self.selection.implausibility:
            pool.add(stretch(task, finds.rows[starts], finds.of[starts]), "Stretch")


def _forced_first(task: Task, features: Places) -> Places:
    """Put those features first that have to change anyway, of which a limit on changes counts each."""
    forced = np.flatnonzero(task.forced.any(axis=0))
    return np.concatenate([forced, features[~np.isin(features, forced)]])


def _renumbered(search: Search, places: Places) -> Search:
    """Let a search about some instances speak of them by their places among all."""
    labels = None
    while (question := step(search, labels)) is not None:
        labels = yield Question(question.rows, places[question.of])


def _least_used(rng: np.random.Generator, kinds: int, size: int) -> list[int]:
    """Draw kinds at random among the least used, so that each has its share."""
    draws = [rng.permutation(kinds) for _ in range(-(-size // kinds))]
    return [int(kind) for kind in np.concatenate(draws)[:size]]


def explain(x: Any, model: Any, X: Any, k: int = 5, *, seed: int = 0, **options: Any) -> Explanation:
    """Explain one decision in one call: the paper's f_k(x, b, X, A), with the ensemble's defaults.

    `options` are those of `Ensemble.fit` (immutable, ranges, …) and of `Ensemble.explain` (target, …).
    For more than a few decisions, fit an `Ensemble` once.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explain(X[0], lambda rows: rows[:, 0] > 0, X, k=2).decisions
    array([False, False])
    """
    asked = {name: options.pop(name) for name in _ASKED & set(options)}
    return Ensemble(seed=seed).fit(model, X, **options).explain(x, k, **asked)


_ASKED = {"target", "max_changes", "max_rows", "max_seconds"}

"""The ensemble, after the paper's Algorithm 1: sample instances and features, run base explainers, select."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from counterpoint.codecs import Codec
from counterpoint.data.known import Population
from counterpoint.data.outputs import is_continuous
from counterpoint.data.types import Indices, Mask
from counterpoint.explainers import BruteForce, Evolution, Explainer, Guided, Neighbours, Sphere, Tree
from counterpoint.explainers.base import at_least
from counterpoint.explainers.fitting import Fitted
from counterpoint.explainers.paper import PaperEnsemble
from counterpoint.explanation.explanation import Explanation
from counterpoint.search.actions import action_ids, cheapest_actions, holds_another
from counterpoint.search.engine import Lockstep, step
from counterpoint.search.exchange import exchange
from counterpoint.search.polish import Polish, stretch
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.settle import ROUNDS, settle, undone
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import WIDE, Question, Search, Task
from counterpoint.search.why import Why
from counterpoint.selection.selection import BALANCED, Selection, Traits
from counterpoint.selection.steps import shortest_steps

# What searches need is learned at `fit` for at most this many decisions, otherwise when it is needed.
AHEAD = 10

# If nearness is all that counts, so many of the nearest finds are brought nearer, in so many rounds.
STARTS = 4
EXCHANGES = 4

# So many more than k are settled, because some may turn out to lie on the edge of the decision.
SPARE = 2

# Finds are settled in at most this many batches, until k per instance are.
SETTLING = 2


def _default_explainers() -> tuple[Explainer, ...]:
    """Make the paper's base explainers, and one that a surrogate guides."""
    return BruteForce(refine=0), Tree(), Sphere(), Neighbours(), Guided()


@dataclass(frozen=True)
class Voice:
    """A base explainer of an ensemble, with the instances and features drawn for it.

    The draw of features is an order of all, of which the voice takes the first that a question lets it
    change: all of them or, if it `changes_few`, a few.
    """

    explainer: Explainer
    known: Population
    features: tuple[int, ...]
    changes_few: bool
    stream: tuple[int, ...]

    def search(self, task: Task) -> Search:
        """Search on this voice's sample."""
        features = np.array(self.features, dtype=np.intp)
        features = features[np.isin(features, task.features)]
        count = len(features)
        # If there are very many, a search that changes them one by one gets a few only.
        if self.changes_few or (count > 4 * WIDE and self.explainer.changes_one_by_one):
            features = features[: max(2, int(np.sqrt(count)))]
        if not self.explainer.changes_one_by_one:
            features = _forced_first(task, features)[: task.max_changes]
        elif task.max_changes is not None and len(task.features) > 4 * WIDE:
            # If few of very many features may change, those of a sample are seldom the right ones.
            features = task.features
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
        How many candidates per instance are polished for each counterfactual wanted; at least ten in all.
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
    starts: int = 5
    selection: Selection = BALANCED
    fallback: Explainer | None = field(default_factory=Evolution)
    codec: Codec | None = None
    seed: int = 0

    # The paper's own ensemble, Algorithm 1 to the letter: `cp.Ensemble.paper(lambda_=0.1).fit(model, X)`.
    paper: ClassVar[type[PaperEnsemble]] = PaperEnsemble

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

    def _voices(self, known: Population) -> list[Voice]:
        """Give the voices drawn at `fit`, or draw them from the same instances with other outputs."""
        if known.labels is self.fitted_.known.labels:
            return self.voices_
        return known.once(("voices", repr(self)), lambda: self._draw(known))

    def _draw(self, known: Population) -> list[Voice]:
        """Draw the voices: their kinds, instances and features."""
        rng = np.random.default_rng([self.seed, 1])
        actionable = known.schema.actionable
        size = min(5000, max(1000, int(self.instances * len(known.rows))))
        used = [0] * len(self.explainers)
        voices = []
        for place, kind in enumerate(_least_used(rng, len(used), self.size)):
            # A few features find small changes; all of them find a change where small ones fail. The first
            # voice of a kind gets all features, the next a few, and so on.
            features = _with_others(
                rng.permutation(actionable), len(known.schema.features), (self.seed, place)
            )
            changes_few = used[kind] % 2 == 1
            used[kind] += 1
            sample = known.sample(np.random.default_rng([self.seed, 2, place]), size)
            voices.append(Voice(self.explainers[kind], sample, features, changes_few, (self.seed, place)))
        return voices

    def search(self, task: Task) -> Search:
        """Run the voices alone, as one of another ensemble's base explainers."""
        searches = Lockstep(task.decisions[:0])
        for voice in task.learned(("voices", repr(self)), lambda: self._draw(task.known)):
            searches.add(voice.search(task))
        while (question := searches.question()) is not None:
            searches.answer((yield question))

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Run all voices, help where they find too few, and polish what looks best."""
        for voice in self._voices(task.known):
            pool.add(voice.search(task), type(voice.explainer).__name__)
        # The first round tries single changes, the second pairs of those that do not flip.
        yield from pool.round()
        yield from pool.round()
        short = pool.counts < 2 * task.k
        if self.fallback is None:
            short[:] = False
        self._polish(task, pool, np.flatnonzero(~short))
        if short.any():
            pool.add(self._help(task, pool, np.flatnonzero(short)), type(self.fallback).__name__)
        yield from pool.finish()
        yield from self._exchange(task, pool)
        if self._settles:
            yield from self._settle(task, pool)

    def _exchange(self, task: Task, pool: Pool) -> Asking:
        """Bring the nearest finds nearer, if nearness is all that counts."""
        if self.polish is None or not self.selection.wants_nearest or len(task.features) > WIDE:
            return
        finds = pool.finds()
        away = task.distance(finds.rows, finds.instance)
        actions = action_ids(task, finds.rows, finds.instance)
        near = finds.take(cheapest_actions(away, actions, finds.instance, max(STARTS, task.k)))
        polished = pool.derived(near.finders, "polished")
        pool.add(exchange(task, near.rows, near.instance, polished, EXCHANGES), "Polish")
        yield from pool.finish()

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        """Select k of the pool for each instance."""
        places = self._ready(task, finds)
        places = places[self._shortest(task, finds.take(places))]
        return [places[each] for each in self.selection.select(task, finds.take(places), task.k)]

    @property
    def leaves_out(self) -> Why:
        """Why some finds are not chosen although there is room for them."""
        return Why.NEEDLESS

    @property
    def _settles(self) -> bool:
        """Whether finds are settled: of images and series, changes are too many to be tried one by one."""
        return self.polish is not None and self.codec_ is None and not self.selection.needless

    @property
    def keeps_needless(self) -> bool:
        """Whether answers may hold changes that are not needed."""
        return self.selection.needless

    def _ready(self, task: Task, finds: Finds) -> Indices:
        """Find the finds that hold no needless change, neither alone nor beside another answer."""
        if not self._settles:
            return np.arange(len(finds.rows))
        few = np.bincount(finds.instance[finds.settled], minlength=len(task)) < task.k
        left = np.flatnonzero(~finds.settled & few[finds.instance])
        ready = np.sort(np.concatenate([np.flatnonzero(finds.settled), left[_is_whole(task, finds, left)]]))
        ready = ready[~holds_another(task, finds.rows[ready], finds.instance[ready])]
        # A needless change is better than no answer, where settling takes more rounds than there are.
        none = np.bincount(finds.instance[ready], minlength=len(task)) == 0
        return np.union1d(ready, np.flatnonzero(none[finds.instance]))

    def _shortest(self, task: Task, finds: Finds) -> Indices:
        """Leave out finds that only take more steps of an ordered category than others do."""
        if self.selection.wants_ends or (task.is_coded == task.is_category).all():
            return np.arange(len(finds.rows))
        return shortest_steps(task, finds)

    def _settle(self, task: Task, pool: Pool) -> Asking:
        """Settle the finds that are likely to be chosen, and others where that leaves too few."""
        for turn in range(SETTLING):
            if turn == 1:
                self._search_elsewhere(task, pool)
            left = self._unsettled(task, pool.finds(), turn == SETTLING - 1)
            left = left.take(self._shortest(task, left))
            if len(left.rows):
                pool.add(
                    self._settled(task, pool, self._finalists(task, left, turn), ROUNDS + turn), "Polish"
                )
            yield from pool.finish()

    def _unsettled(self, task: Task, finds: Finds, variants: bool) -> Finds:
        """Find what is left to settle for instances with fewer than k settled actions.

        Variants of settled actions are among it where they may repeat, and at last where too few are settled.
        """
        ids = action_ids(task, finds.rows, finds.instance)
        if self.selection.repeat:
            ids = np.arange(len(ids))
        known, first = np.unique(ids[finds.settled], return_index=True)
        actions = np.bincount(finds.instance[finds.settled][first], minlength=len(task))
        rows = np.bincount(finds.instance[finds.settled], minlength=len(task))
        left = ~finds.settled & (actions < task.k)[finds.instance] & ~np.isin(ids, known)
        if variants:
            left |= ~finds.settled & (rows < task.k + SPARE)[finds.instance]
        return finds.take(np.flatnonzero(left))

    def _finalists(self, task: Task, finds: Finds, turn: int) -> Finds:
        """Choose the finds to settle for k answers: the best, and the best of those with the fewest changes.

        Settling makes some equal, so there are twice as many. Those with many changes often lose a few.
        """
        count = task.affordable((task.k + 3) * 2 * (turn + 1), least=task.k)
        traits = Traits(task, finds)
        chosen = np.concatenate(self.selection.select(task, finds, count, traits))
        if task.k > 1:
            few = self.selection.with_fewest_changes
            chosen = np.union1d(chosen, few.shortlist(task, finds, count, traits))
        return finds.take(np.sort(chosen))

    def _settled(self, task: Task, pool: Pool, finds: Finds, rounds: int) -> Search:
        """Settle some finds, and let the pool know."""
        polished = pool.derived(finds.finders, "polished")
        rounding = self.selection.rounding
        pool.settle(*(yield from settle(task, finds.rows, finds.instance, polished, rounds, rounding)))

    def _search_elsewhere(self, task: Task, pool: Pool) -> None:
        """Search for other actions where too few are ready and all of them change the same feature."""
        if self.fallback is None or task.k == 1:
            return
        finds = pool.finds()
        for instances, features in _elsewhere(task, finds.take(self._ready(task, finds))):
            narrow = task.narrow(task.known, features, task.stream)
            pool.add(self._help(narrow, pool, instances), type(self.fallback).__name__)

    def _help(self, task: Task, pool: Pool, instances: Indices) -> Search:
        """Search further for instances of which few counterfactuals were found, and polish what there is."""
        assert self.fallback is not None
        yield from _renumbered(self.fallback.search(task.only(instances)), instances)
        self._polish(task, pool, instances)

    def _polish(self, task: Task, pool: Pool, instances: Indices) -> None:
        """Start polishing the most promising finds of some instances."""
        if self.polish is None or not len(instances):
            return
        finds = pool.finds().about(instances)
        # Implausibility takes the longest to measure, and polish moves candidates anyway.
        traits = Traits(task, finds)
        cost = replace(self.selection, implausibility=0.0).costs(traits)
        most = task.affordable(max(10, self.starts * task.k), 2 * task.k)
        finds = finds.take(cheapest_actions(cost, traits.action, finds.instance, most))
        polished = pool.derived(finds.finders, "polished")
        pool.add(self.polish.search(task, finds.rows, finds.instance, polished), "Polish")
        if self.selection.wants_ends:
            stretched = pool.derived(finds.finders, "stretched")
            pool.add(stretch(task, finds.rows, finds.instance, stretched), "Stretch")


def _elsewhere(task: Task, ready: Finds) -> list[tuple[Indices, Indices]]:
    """Group instances of which fewer than k finds are ready by the features that not all of these change."""
    counts = np.bincount(ready.instance, minlength=len(task))
    groups: dict[bytes, list[int]] = {}
    for instance in np.flatnonzero((counts > 0) & (counts < task.k)).tolist():
        mine = ready.indices(instance)
        others = task.free & ~task.changed(ready.rows[mine], ready.instance[mine]).all(axis=0)
        if others.any() and not others[task.features].all():
            groups.setdefault(others.tobytes(), []).append(instance)
    return [(np.array(each), np.flatnonzero(np.frombuffer(key, np.bool_))) for key, each in groups.items()]


def _with_others(order: Indices, width: int, stream: tuple[int, ...]) -> tuple[int, ...]:
    """Mix the features that may not change into an order of the others: a question may set them free.

    The order of the others stays.
    """
    ranks = np.random.default_rng([*stream, 3]).uniform(0, len(order), size=width)
    ranks[order] = np.arange(len(order))
    return tuple(np.argsort(ranks, kind="stable").tolist())


def _is_whole(task: Task, finds: Finds, some: Indices) -> Mask:
    """Tell which finds have no change that can be undone alone: a single one, or what links hold together."""
    rows, instance = task.acting(finds.rows[some], finds.instance[some]), finds.instance[some]
    whole = task.changed(rows, instance).sum(axis=1) <= task.least_changes[instance]
    if task.rules.links:
        several = np.flatnonzero(~whole)
        whole[np.setdiff1d(several, undone(task, rows, instance, several).origins)] = True
    return np.asarray(whole)


def _forced_first(task: Task, features: Indices) -> Indices:
    """Put those features first that have to change anyway, of which a limit on changes counts each."""
    forced = np.flatnonzero(task.forced.any(axis=0))
    return np.concatenate([forced, features[~np.isin(features, forced)]])


def _renumbered(search: Search, places: Indices) -> Search:
    """Let a search about some instances speak of them by their places among all."""
    labels = None
    while (question := step(search, labels)) is not None:
        labels = yield Question(question.rows, places[question.instance])


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


_ASKED = {"target", "max_changes", "max_rows", "max_seconds", "exclude", "margin"}

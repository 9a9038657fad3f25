"""What `fit` learns: a black box, and known instances with what the model says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from tqdm.auto import tqdm

from counterpoint._util.say_once import say_once
from counterpoint.codecs import Codec, Kernel
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import Distance, Euclidean
from counterpoint.data.known import MOST, Population
from counterpoint.data.limits import AS_FITTED, Limits, each_limits
from counterpoint.data.outputs import is_continuous
from counterpoint.data.problems import Problem
from counterpoint.data.schema import Schema, TableReading
from counterpoint.data.signals import as_signals, classifies_series, is_image
from counterpoint.data.types import Indices, Labels, Rows
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.follows import Follows, Function
from counterpoint.model.representation import Direct, Through, View
from counterpoint.model.target import Target
from counterpoint.model.trees import Structure, UnreadableError
from counterpoint.search.task import Rule, Task

T = TypeVar("T")

# The most cells, and latent cells, of the images and series that are kept: about 4,000 images of 28 x 28
# pixel by pixel, or 10,000 through few latent features.
CELLS = 8_000_000
LATENT_CELLS = 3_200_000

# This many known instances show an adapter what a network expects, and what its outputs look like.
EXAMPLES = 1_000

# If the model takes longer than this to label the known instances, a bar shows it.
LONG = 3.0

# A chosen window divides a time axis into about 24 blocks, and each side of an image into about 7.
BLOCKS, TILES = 24, 7


@dataclass(frozen=True)
class Constraints:
    """What the caller says about columns and what may change; see `Explainer.fit`."""

    schema: Schema | None
    categorical: Iterable[Any] | None
    immutable: Iterable[Any]
    ranges: Mapping[Any, Sequence[Any]] | None
    increase: Iterable[Any]
    decrease: Iterable[Any]
    missing: str
    costs: Mapping[Any, Any] | None = None
    max_change: Mapping[Any, float | str] | None = None
    links: Iterable[Any] = ()
    order: Mapping[Any, Sequence[Any]] | None = None
    onehot: Mapping[Any, Any] | bool | None = None
    follows: Mapping[Any, Function] | None = None

    def of_table(self, X: Any) -> Schema:
        """Infer what columns are, or take the caller's word, and add the constraints."""
        limits: dict[str, Any] = {
            "immutable": self.immutable,
            "ranges": self.ranges,
            "increase": self.increase,
            "decrease": self.decrease,
            "missing": self.missing,
            "costs": self.costs,
            "max_change": self.max_change,
            "links": self.links,
            "order": self.order,
            "follows": () if self.follows is None else self.follows,
        }
        if self.schema is None:
            return Schema.infer(X, categorical=self.categorical, onehot=self.onehot, **limits)
        if not isinstance(self.schema, Schema):
            kind = type(self.schema).__name__
            raise TypeError(f"schema must be a Schema, such as Schema.infer(X), got {kind}.")
        if self.categorical is not None:
            raise ValueError(
                "Give either schema or categorical, not both: a schema says what is categorical."
            )
        if self.onehot is not None:
            raise ValueError(
                "Give either schema or onehot, not both: Schema.infer takes onehot, and knows its groups."
            )
        return self.schema.constrain(**limits)

    def of_signals(self) -> Any:
        """Give the mask of cells that may not change, and refuse what is for tables only."""
        names = [field.name for field in fields(self) if field.name != "immutable"]
        given = [name for name in names if getattr(self, name) not in (None, (), "keep")]
        if given:
            raise ValueError(
                f"{given[0]} is for the columns of tables; images and series take immutable, a mask of "
                f"cells, and rule. Leave {given[0]} out."
            )
        return self.immutable


@dataclass(frozen=True)
class Fitted:
    """What an explainer learns at `fit`: constraints, black box and known instances."""

    blackbox: BlackBox
    known: Population
    rule: Rule | None = None
    limits: Limits = AS_FITTED
    follows: Follows | None = None

    @classmethod
    def learn(
        cls,
        model: Any,
        X: Any,
        constraints: Constraints,
        codec: Codec | None,
        rng: np.random.Generator,
        rule: Rule | None = None,
        progress: bool = True,
    ) -> Fitted:
        """Read the known instances and have the model label them; `progress` shows a bar if that is slow."""
        codec = chosen_codec(X, model) if codec is None else codec
        if codec is None:
            blackbox, known = _learn_table(model, X, constraints, rng, progress)
        else:
            blackbox, known = _learn_signals(model, X, constraints, codec, rng, progress)
        follows = Follows.of(constraints.follows or {}, known.schema)
        if not follows.functions:
            return cls(blackbox, known, rule)
        follows.check(known.schema, known.rows[:EXAMPLES])
        return cls(blackbox, known, rule, follows=follows)

    def within(self, limits: Limits) -> Fitted:
        """Give the same, with the constraints of one person."""
        return self if limits.is_empty else replace(self, limits=limits)

    def read_limits(self, count: int, **given: Any) -> list[Limits]:
        """Read the constraints of some persons, given for all of them or one by one; see `each_limits`."""
        if self.view.latent is not self.schema and any(value is not None for value in given.values()):
            name = next(name for name, value in given.items() if value is not None)
            raise ValueError(
                f"{name} per question is for the columns of tables; for images and series, give fit the mask "
                f"immutable=. Leave {name} out here."
            )
        return each_limits(self.schema, count, **given)

    def problems_of(
        self, limits: Sequence[Limits], read: Callable[[Schema], TableReading]
    ) -> Iterator[Problem]:
        """Find values that cannot be explained because a feature may change now that `fit` was told to keep.

        What may not change may hold values that no known instance has.
        """
        locked = {feature.name for feature in self.schema.features if feature.immutable}
        freed = [set() if each.immutable is None else locked.difference(each.immutable) for each in limits]
        names = set().union(*freed)
        if names:
            for problem in read(self.schema.freeing(names)).problems:
                if problem.column in freed[problem.row]:
                    yield problem

    @cached_property
    def constrained(self) -> Schema:
        """What the features of a row are, with the constraints of the question."""
        return self._once("constrained", lambda: self.limits.applied(self.known.schema))

    @cached_property
    def rules(self) -> Rules:
        """The constraints on what a counterfactual may be."""
        return self._once("rules", lambda: Rules.of(self.constrained, self.known.rows))

    def _once(self, name: str, build: Callable[[], T]) -> T:
        """Build what depends on the constraints once for all questions that have the same."""
        return self.known.once((name, self.limits.key), build)

    @property
    def view(self) -> View:
        """How the caller's instances become rows."""
        return self.blackbox.view

    @property
    def schema(self) -> Schema:
        """What the caller's instances are."""
        return self.view.schema

    @property
    def yardstick(self) -> Distance:
        """What answers are measured with: of images and series, the Euclidean distance of their cells."""
        shaped = self.schema.form.shape
        return Euclidean.of(len(self.schema.features)) if shaped else self.known.distance

    def through(self, view: View) -> Fitted:
        """Give the same, seen through another view."""
        return self if view is self.view else replace(self, blackbox=self.blackbox.seen_by(view))

    def facing(self, target: Target) -> Fitted:
        """Give the same, with the outputs that a target is about: for `Probability`, probabilities.

        The model is asked for the probabilities of the known instances once per set of classes.
        """
        if target.probability is None:
            return self
        classes = target.probability.classes
        blackbox = self.blackbox.giving_probability(classes)
        instances = self.view.known(self.known.rows)

        def labelled() -> Population:
            labels = blackbox.about(instances).predict(self.known.rows, np.arange(len(self.known.rows)))
            return Population(self.known.schema, self.known.rows, labels, self.known.distance)

        return replace(self, blackbox=blackbox, known=self.known.once(("probability", classes), labelled))

    def structure(self) -> Structure:
        """Read the trees of the model, once; raise `UnreadableError` if it is not made of trees."""
        if self.view.latent is not self.schema:
            raise UnreadableError("it decides about images or series")
        return self.blackbox.structure(self.known.schema, self.known.rows).reading(self.schema)

    def task(
        self,
        rows: Rows,
        decisions: Labels,
        stream: tuple[int, ...],
        k: int = 1,
        target: Target = Target(),  # noqa: B008 - frozen
        max_changes: int | None = None,
    ) -> Task:
        """Pose a question about instances, to be answered with all known instances and features."""
        return Task(
            x=rows,
            decisions=decisions,
            k=k,
            known=self.known,
            features=np.array(self.constrained.actionable, dtype=np.intp),
            rules=self.rules,
            target=target,
            max_changes=max_changes,
            stream=stream,
            costs=self._once("costs", lambda: self.constrained.costs),
            has_scores=self._has_scores(target, decisions),
            read_trees=self.structure,
        )

    def _has_scores(self, target: Target, decisions: Labels) -> bool:
        """Tell whether the model's scores can guide a search: they may not depend on the batch."""
        if target.test is not None or not self.blackbox.has_steady_scores or not len(decisions):
            return False
        wanted = target.among(self.blackbox.classes(), decisions[0])
        return bool(wanted.any() and not wanted.all())

    def read_target(self, target: Any) -> Target:
        """Read what the user says counts as a different decision."""
        continuous = is_continuous(self.known.labels, self.blackbox.model)
        decisions = [] if continuous else [*np.unique(self.known.labels).tolist(), *self.blackbox.classes()]
        return Target.of(target, list(dict.fromkeys(decisions)), continuous)


def chosen_codec(X: Any, model: Any = None) -> Codec | None:
    """Choose a codec for images and series whose caller names none; None for tables.

    An array of two dimensions is a table, unless the model is made for series. One of three holds series of
    channels, (n, channels, length), as aeon has them, unless both sides are equal and long enough for an
    image; one of four holds images. Windows divide a time axis into about 24 blocks, and each side of
    an image into about 7.

    Examples
    --------
    >>> chosen_codec(np.zeros((5, 2, 96)))
    Kernel(window=(1, 4))
    >>> chosen_codec(np.zeros((5, 3)))
    """
    shape = np.shape(X)[1:] if isinstance(X, np.ndarray) else ()
    if len(shape) == 1 and classifies_series(model):
        return Kernel(window_of(shape[0]))
    if is_image(shape):
        return Kernel((*(max(1, round(length / TILES)) for length in shape[:2]), *[1] * (len(shape) - 2)))
    return Kernel((1, window_of(shape[1]))) if len(shape) == 2 else None


def window_of(length: int) -> int:
    """Choose the window of a time axis, which divides it into about 24 blocks."""
    return max(1, round(length / BLOCKS))


def _learn_table(
    model: Any, X: Any, constraints: Constraints, rng: np.random.Generator, progress: bool
) -> tuple[BlackBox, Population]:
    schema = constraints.of_table(X)
    if progress and constraints.schema is None and constraints.onehot in (None, True) and schema.onehot:
        say_once(_detected(schema.onehot))
    if not schema.actionable:
        raise ValueError("Every feature is immutable, or never changes at any cost; leave at least one free.")
    schema, rows, _ = schema.read(X).valid()
    schema = schema.seen_in(rows)
    view = Direct(schema)
    blackbox = BlackBox(model, view, schema.decode(rows[:EXAMPLES]))
    order = np.arange(len(rows)) if len(rows) <= MOST else rng.permutation(len(rows))
    kept, labels = _sampled(order, lambda places: _labelled(blackbox, rows[places], places, progress))
    # The scales are those of all.
    return blackbox, Population(schema, rows[kept], _checked(labels), Distance.fit(schema, rows))


def _detected(onehot: Mapping[Any, tuple[Any, ...]]) -> str:
    """Say which columns were taken as one feature."""
    groups = ", ".join(f"{name} ({len(columns)} columns)" for name, columns in onehot.items())
    return (
        f"Groups of 0/1 columns that encode one category change together, as one feature: {groups}. "
        f"fitted_.schema.onehot lists them. If they are no such groups, give onehot=False, or the right ones."
    )


def _learn_signals(
    model: Any, X: Any, constraints: Constraints, codec: Codec, rng: np.random.Generator, progress: bool
) -> tuple[BlackBox, Population]:
    X = as_signals(X)
    view = Through.of(X, codec, constraints.of_signals())
    if not view.latent.actionable:
        raise ValueError("Every cell is immutable, so nothing can change; leave some free.")
    most = max(100, min(CELLS // len(view.schema.features), LATENT_CELLS // len(view.latent.features)))
    known = X if len(X) <= most else X[np.sort(rng.permutation(len(X))[:most])]
    instances = view.read(known).valid().instances
    view = view.within(instances.rows)
    blackbox = BlackBox(model, view, known[:EXAMPLES])
    labels = _labelled(blackbox.about(instances), instances.rows, np.arange(len(known)), progress)
    return blackbox, Population(view.latent, instances.rows, _checked(labels), view.distance(instances.rows))


def _sampled(order: Indices, ask: Callable[[Indices], Labels]) -> tuple[Indices, Labels]:
    """Take the first known instances of an order, and ask only about these, unless all are decided alike."""
    kept = np.sort(order[:MOST])
    labels = ask(kept)
    for start in range(MOST, len(order), MOST):
        if not _are_alike(labels):
            break
        others = np.sort(order[start : start + MOST])
        said = ask(others)
        rare = said != labels[0]
        places = np.concatenate([others[rare], kept])[:MOST]
        labels = np.concatenate([said[rare], labels])[:MOST]
        by_place = np.argsort(places)
        kept, labels = places[by_place], labels[by_place]
    return kept, labels


def _labelled(blackbox: BlackBox, rows: Rows, instance: Indices, progress: bool) -> Labels:
    """Ask the model about known instances; if it is slow, in parts of about a second, with a bar."""
    parts = [blackbox.predict(rows[:EXAMPLES], instance[:EXAMPLES])]
    is_long = len(rows) - EXAMPLES > blackbox.rows_in(LONG)
    with tqdm(total=len(rows), desc="learning", unit="row", disable=not (progress and is_long)) as bar:
        start = EXAMPLES
        while start < len(rows):
            size = max(EXAMPLES, int(blackbox.rows_in(1.0))) if is_long else len(rows)
            bar.update(start - bar.n)
            parts.append(blackbox.predict(rows[start : start + size], instance[start : start + size]))
            start += size
        bar.update(len(rows) - bar.n)
    return np.concatenate(parts)


def _are_alike(labels: Labels) -> bool:
    return labels.ndim == 1 and bool((labels == labels[0]).all())


def _checked(labels: Labels) -> Labels:
    """Refuse labels that are all the same."""
    if _are_alike(labels):
        raise ValueError(
            f"The model decides every known instance as {labels[0].item()!r}: X shows no other decision. "
            f"Give known instances of at least two decisions."
        )
    return labels

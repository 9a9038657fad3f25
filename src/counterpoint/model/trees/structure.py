"""Where a model made of trees can change its mind: the cuts of each feature of our rows.

Between two neighbouring cuts of a number nothing changes for any tree, so one value per interval is all that
is worth trying; of an interval, the admissible value nearest to x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpoint._util.read_only import make_read_only
from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.model.trees.cutting import Cutting
from counterpoint.model.trees.encoding import Encoding
from counterpoint.model.trees.readers import read_trees
from counterpoint.model.trees.trees import LEAF, Trees, UnreadableError

# Numbers are tried at about this many known values, to see what becomes of them.
TRIED = 24
# What was read is compared with the model on this many known instances.
COMPARED = 1_000


@dataclass(frozen=True)
class Cuts:
    """The cuts of a number, in ascending order: a value up to `below` goes left, one from `above` on right.

    No possible value lies between the two: they are neighbours in the column's steps or floats.
    """

    below: Row
    above: Row

    def __post_init__(self) -> None:
        make_read_only(self)

    @cached_property
    def values(self) -> Row:
        """Both sides of all cuts, sorted: all values worth trying, wherever x is."""
        values = np.unique(np.concatenate([self.below, self.above]))
        return np.asarray(values[np.isfinite(values)])


@dataclass(frozen=True)
class Structure:
    """The trees of a model, with what each node asks in terms of the features of our rows.

    Attributes
    ----------
    encoding
        The way from rows to what the trees are given.
    trees
        The trees.
    owner
        The feature that each column of what the trees are given comes from; -1 for none.
    cuts
        Of each number, its cuts; None for categories, and for numbers that no tree asks about.
    tables
        Of each category, what each column that comes from it holds, by code: columns × codes.
    place
        Of each node that asks about a number, the index of its cut; -1 for all others.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[20, 0], [30, 1], [40, 0]])
    >>> structure = read_structure(DecisionTreeClassifier().fit(X, [0, 0, 1]), Schema.infer(X), X * 1.0)
    >>> structure.worth_trying(0)
    array([35., 36.])
    >>> structure.worth_trying(1)
    array([], dtype=float64)
    """

    encoding: Encoding
    trees: Trees
    owner: Indices
    cuts: tuple[Cuts | None, ...]
    tables: tuple[Rows | None, ...]
    place: Indices

    def worth_trying(self, feature: int) -> Row | None:
        """List the values of a number that are worth trying, sorted; None if the trees say nothing.

        They are one value on each side of every threshold. Any other value is decided as one of them, or as
        x's own. A number that no tree asks about has none worth trying: an empty array. For categories, the
        result is None: each of them may be worth trying.
        """
        if self.encoding.schema.features[feature].is_categorical:
            return None
        cuts = self.cuts[feature]
        return np.empty(0) if cuts is None else cuts.values

    def nodes_of(self, feature: int) -> Indices:
        """List the nodes that ask about a feature."""
        splits = self.trees.splits
        return np.asarray(splits[self.owner[self.trees.column[splits]] == feature])

    @cached_property
    def codes_left(self) -> dict[int, tuple[Indices, Mask]]:
        """Of each category, the nodes that ask about it, and which codes go left there: nodes × codes."""
        found = {}
        splits = self.trees.splits
        owners = self.owner[self.trees.column[splits]]
        for feature, table in enumerate(self.tables):
            if table is None:
                continue
            nodes = splits[owners == feature]
            columns = np.flatnonzero(self.owner == feature)
            values = table[np.searchsorted(columns, self.trees.column[nodes])]
            left = self.trees.goes_left(values.ravel(), np.repeat(nodes, values.shape[1]))
            found[feature] = nodes, left.reshape(values.shape)
        return found

    def reading(self, schema: Schema) -> Structure:
        """Give the same for rows of a schema that knows more values of immutable features."""
        if schema is self.encoding.schema:
            return self
        return replace(self, encoding=replace(self.encoding, schema=schema))

    @cached_property
    def asked(self) -> Mask:
        """Which features any tree asks about."""
        mask = np.zeros(len(self.cuts), dtype=np.bool_)
        owners = self.owner[np.unique(self.trees.column[self.trees.splits])]
        mask[owners[owners >= 0]] = True
        return mask

    def is_true(self, rows: Rows, labels: Any) -> bool:
        """Tell whether the trees, as they were read, decide about rows as the model does."""
        if self.trees.classes is None:
            return False
        scores = self.trees.scores(self.encoding.matrix(rows[:COMPARED]))
        decided = np.array(self.trees.classes)[(scores > self.trees.cut).astype(np.intp)]
        clear = np.abs(scores - self.trees.cut) > self.trees.blur
        return bool((decided == np.asarray(labels[:COMPARED]))[clear].all())


def read_structure(model: Any, schema: Schema, known: Rows) -> Structure:
    """Read the trees of a model and see what they ask about our features.

    Raise `UnreadableError` if the model is not made of trees, or if they cannot be followed to the features.
    """
    encoding = Encoding.of(model, schema)
    trees = read_trees(encoding.model)
    probes = _Probes.of(encoding, known)
    used = np.unique(trees.column[trees.splits])
    if len(used) and used[-1] >= probes.matrix.shape[1]:
        raise UnreadableError(
            f"its trees ask about {int(used[-1]) + 1} columns, and are given {probes.matrix.shape[1]}"
        )
    owner = probes.owners()
    shared = np.intersect1d(used, np.flatnonzero(owner == _SEVERAL))
    if len(shared):
        raise UnreadableError("a column that its trees ask about comes from several features")
    number = np.array([not feature.is_categorical for feature in schema.features], dtype=np.bool_)
    asks = trees.splits[owner[trees.column[trees.splits]] >= 0]
    asks = asks[number[owner[trees.column[asks]]]]
    found, place = Cutting(encoding, trees, probes.example, owner, probes.tried).cuts(asks)
    cuts = tuple(Cuts(*found[index]) if index in found else None for index in range(len(number)))
    tables = tuple(
        None if number[index] else probes.table(index, np.flatnonzero(owner == index))
        for index in range(len(number))
    )
    return Structure(encoding, trees, owner, cuts, tables, place)


_SEVERAL = -2


@dataclass(frozen=True)
class _Probes:
    """Rows that differ from one known instance in one feature each, and what the trees see of them."""

    example: Row
    feature: Indices
    values: Row
    matrix: Rows
    own: Row

    @classmethod
    def of(cls, encoding: Encoding, known: Rows) -> _Probes:
        features = encoding.schema.features
        example = known[0]
        values = [_values_of(features[index], known[:, index]) for index in range(len(features))]
        feature = np.repeat(np.arange(len(features)), [len(each) for each in values])
        tried = np.concatenate(values)
        rows = np.repeat(example[None], len(tried), axis=0)
        rows[np.arange(len(tried)), feature] = tried
        matrix = encoding.matrix(np.concatenate([example[None], rows]))
        return cls(example, feature, tried, matrix[1:], matrix[0])

    def owners(self) -> Indices:
        """Find the feature that each column comes from."""
        owner = np.full(self.matrix.shape[1], LEAF, dtype=np.intp)
        same = (self.matrix == self.own) | (np.isnan(self.matrix) & np.isnan(self.own))
        for index in np.unique(self.feature).tolist():
            moved = ~same[self.feature == index].all(axis=0)
            owner = np.where(moved, np.where(owner == LEAF, index, _SEVERAL), owner)
        return owner

    @property
    def tried(self) -> dict[int, tuple[Row, Rows]]:
        """The values tried of each feature, sorted, and the columns that they became."""
        found = {}
        for index in np.unique(self.feature).tolist():
            mine = np.flatnonzero((self.feature == index) & ~np.isnan(self.values))
            mine = mine[np.argsort(self.values[mine], kind="stable")]
            found[index] = self.values[mine], self.matrix[mine]
        return found

    def table(self, index: int, columns: Indices) -> Rows:
        return np.asarray(self.matrix[np.ix_(self.feature == index, columns)].T)


def _values_of(feature: Any, known: Row) -> Row:
    """Choose values of a feature to try: every category, or known numbers and the absence of one."""
    if feature.is_categorical:
        return np.arange(len(feature.categories), dtype=np.float64)
    values = np.unique(known[np.isfinite(known)])
    if len(values) > TRIED:
        values = values[np.linspace(0, len(values) - 1, TRIED).astype(np.intp)]
    return np.append(values, np.nan) if feature.missing else values

"""Which combinations of categories occur: husbands are male, so no answer should make a female husband."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.narrow import all_of_each
from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices, Mask, Rows

# Features with more categories than this are names rather than kinds, and all pairs must fit in memory.
MOST_CATEGORIES = 200
MOST_IN_ALL = 4_000

# Two rare categories may never meet by chance: a pair counts only if it was to be expected this often.
EXPECTED = 1.0


@dataclass(frozen=True)
class Combinations:
    """The pairs of categories that known instances have, or are too rare to have.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"is": ["wife", "husband", "single"] * 9, "sex": ["F", "M", "F"] * 9})
    >>> schema = Schema.infer(people)
    >>> known = Combinations.of(schema, schema.encode(people))
    >>> x, rows = schema.encode(people)[[2]], schema.encode(people)[[2, 2]]
    >>> rows[0, 0] = schema.encode(people)[1, 0]  # a female husband
    >>> rows[1, 0] = schema.encode(people)[0, 0]  # a wife
    >>> known.never_seen(rows, x, np.array([0, 0]))
    array([ True, False])
    """

    features: Indices
    sizes: NDArray[np.intp]
    starts: NDArray[np.intp]  # where the categories of each feature start; the last place is for unknown ones
    seen: Mask  # category × category; also where both are too rare to tell

    @classmethod
    def of(cls, schema: Schema, rows: Rows) -> Combinations:
        """Note which pairs of categories occur in rows."""
        sizes = {i: len(schema.features[i].categories) for i in schema.categorical.tolist()}
        few = [i for i, size in sizes.items() if size <= MOST_CATEGORIES]
        few = few if sum(sizes[i] for i in few) <= MOST_IN_ALL else []
        counts = np.array([sizes[i] for i in few], dtype=np.intp)
        every = int(counts.sum())
        known = cls(
            np.array(few, dtype=np.intp),
            counts,
            np.cumsum([0, *counts])[:-1].astype(np.intp),
            np.zeros((every + 1, every + 1), dtype=np.bool_),
        )
        codes = known._codes(rows)
        for column in codes.T:
            known.seen[column[:, None], codes] = True
        counts = np.bincount(codes.ravel(), minlength=len(known.seen))
        known.seen[np.outer(counts, counts) < EXPECTED * len(rows)] = True
        known.seen[-1] = known.seen[:, -1] = True  # nothing is known of what is unknown
        return known

    def never_seen(self, rows: Rows, x: Rows, instance: Indices) -> Mask:
        """Tell which rows have a pair of categories that no known instance has, and that x does not have."""
        never = np.zeros(len(rows), dtype=np.bool_)
        codes = self._codes(rows)
        for index, feature in enumerate(self.features.tolist()):
            changed = np.flatnonzero(rows[:, feature] != x[instance, feature])
            never[changed] |= ~all_of_each(
                self.seen[codes[changed, index, None], codes.take(changed, axis=0)]
            )
        return never

    def _codes(self, rows: Rows) -> NDArray[np.intp]:
        """Give the categories of all features numbers; those that are not known have the last."""
        codes = rows[:, self.features].astype(np.intp)
        return np.where(codes < self.sizes, self.starts + codes, len(self.seen) - 1)

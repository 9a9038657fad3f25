"""The known instances, as several threads use them at once."""

from typing import Any

import numpy as np

from counterpoint.data.distance import Distance
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema


class Emptied(dict[Any, Any]):
    """A memory that another thread empties right after each entry."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def test_what_is_cached_can_be_dropped_by_another_thread_at_any_time() -> None:
    rows = np.array([[0.0], [1.0]])
    schema = Schema.infer(rows)
    known = Population(schema, rows, np.array([0, 1]), Distance.fit(schema, rows), Emptied())
    assert known.once("key", lambda: 7) == 7

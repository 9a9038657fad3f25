"""Black boxes of tables trained again, to see which answers still hold when the model is another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from counterpoint.datasets.fetch import cache_folder
from counterpoint_study.models.training import Settings, Trained, build, kept

REFITS = 10
"""How often a black box is trained again."""

# Ten forests take much space: this makes it less than a third, and reading them takes a tenth of a second.
_COMPRESS = 3


@dataclass(frozen=True, eq=False)
class Refits:
    """Models like a black box, each trained on a bootstrap sample of its training part and with another seed.

    Going through them takes each from the user's cache folder, or trains it and keeps it there. They stay in
    memory then: a study goes through them for every cell, and reading ten forests takes longer than asking
    them. Adult's ten forests take 0.2 GB.

    Parameters
    ----------
    trained
        The black box.
    settings, seed
        What it was made with.
    count
        How many models there are; fewer are the beginning of more.

    Examples
    --------
    >>> from counterpoint_study.models.training import train, tuned
    >>> credit = train("german", "forest")
    >>> again = Refits(credit, tuned("german", "forest"), seed=0, count=2)
    >>> [model.predict(credit.instances(3)).shape for model in again]
    [(3,), (3,)]
    """

    trained: Trained
    settings: Settings
    seed: int
    count: int = REFITS

    def __iter__(self) -> Iterator[Any]:
        """Give one model after the other."""
        return iter(self._models)

    @cached_property
    def _models(self) -> list[Any]:
        return [self._model(turn) for turn in range(self.count)]

    def train(self, turns: Iterable[int] | None = None) -> None:
        """Train those that are not kept yet, or some of them; none stays in memory."""
        for turn in range(self.count) if turns is None else turns:
            if not self._path(turn).exists():
                self._model(turn)

    def _model(self, turn: int) -> Any:
        return kept(self._path(turn), lambda: self._fit(turn), compress=_COMPRESS)

    def _path(self, turn: int) -> Path:
        return cache_folder() / "models" / f"{self.trained.key}-refit{turn}.joblib"

    def _fit(self, turn: int) -> Any:
        data = self.trained.data
        count = len(data.X_train)
        drawn = np.random.default_rng([self.seed, 1]).integers(0, count, (turn + 1, count))[turn]
        model = build(self.trained.kind, data.categorical, self.settings, self.seed + turn + 1)
        return model.fit(data.X_train.iloc[drawn], data.y_train.iloc[drawn])

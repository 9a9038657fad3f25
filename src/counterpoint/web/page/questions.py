"""What the browser asks about one case, read into what the explainer takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from counterpoint._util.short_text import short
from counterpoint.data.types import Row
from counterpoint.explainers import Explainer
from counterpoint.explainers.fitting import Fitted
from counterpoint.explanation.explanation import Explanation
from counterpoint.model.representation import Sight
from counterpoint.model.target import Probability, Target
from counterpoint.search.margin import SAFE
from counterpoint.web.asked import whole
from counterpoint.web.page.session import Session
from counterpoint.web.rows import RefusedError

# The most answers that fit on the page.
MOST = 20

# The setting that asks for answers well beyond the line.
SAFE_NAME = "safe"

KEYS = ("values", "k", "target", "setting", "constraints", "exclude")


@dataclass(frozen=True, eq=False)
class Asked:
    """A question about one case: its values, and what may change.

    `options` are arguments of `Explainer.explain`.
    """

    session: Session
    explainer: Explainer
    frame: pd.DataFrame
    options: dict[str, Any]

    @classmethod
    def of(cls, session: Session, asked: Mapping[str, Any]) -> Asked:
        """Read a question; what is wrong with it is said in a sentence."""
        unknown = [name for name in asked if name not in KEYS]
        if unknown:
            raise RefusedError(f"A question has the unknown keys {unknown}. Known: {list(KEYS)}.")
        reader, setting = session.reader, asked.get("setting")
        frame = reader.rows([asked.get("values")], "values").frame
        given = asked.get("target")
        target = session.target if given is None or given == {"given": True} else reader.target(given)
        options = {
            "k": whole("k", asked.get("k", session.k), 1, MOST),
            "target": target,
            "exclude": _actions(asked.get("exclude") or [], session),
            **reader.constraints(asked.get("constraints")),
        }
        if setting == SAFE_NAME:
            options["margin"] = SAFE
            setting = None
        return cls(session, reader.explainer_for(setting), frame, options)

    @cached_property
    def _sight(self) -> Sight:
        return self.session.fitted.view.read_one(self.frame).valid("values")

    @property
    def row(self) -> Row:
        """The case as a row."""
        return np.asarray(self._sight.instances.rows[0])

    @cached_property
    def fitted(self) -> Fitted:
        """What the explainer learned, with the outputs that are asked about, and the case's own values."""
        return self.session.fitted.facing(self.target).through(self._sight.view)

    @property
    def target(self) -> Target:
        """What counts as a different decision."""
        return self.session.fitted.read_target(self.options["target"])

    def explain(self) -> Explanation:
        """Ask the explainer."""
        return self.explainer.explain(self.frame, **self.options)


def can_be_safe(session: Session) -> bool:
    """Tell whether a margin can be asked for: a target of a probability is one itself."""
    return not isinstance(session.target, Probability)


def _actions(given: Any, session: Session) -> list[list[tuple[Any, str]]]:
    """Read actions that were said no to: lists of pairs of a column and the way it goes."""
    fine = isinstance(given, list) and all(
        isinstance(action, list)
        and action
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
            for pair in action
        )
        for action in given
    )
    if not fine:
        raise RefusedError(f'exclude must list actions such as [["age", "up"]], got {short(given)}.')
    features = session.reader.table.features
    unknown = [name for action in given for name, _ in action if name not in features]
    if unknown:
        raise RefusedError(
            f"exclude must name columns, got {short(unknown)}. Known: {short(list(features))}."
        )
    return [[(features[name].name, way) for name, way in action] for action in given]

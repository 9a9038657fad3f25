"""What requests ask for, read and checked, within the limits of the service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from counterpoint._util.short_text import short
from counterpoint.web.asked import Reader, is_number, whole
from counterpoint.web.limits import Bounds
from counterpoint.web.rows import RefusedError, Table
from counterpoint.web.service.merging import Ask
from counterpoint.web.service.policy import tightened

# How many counterfactuals are given if a request does not say.
K = 3


@dataclass(frozen=True)
class Questions:
    """Reads what requests ask for.

    Parameters
    ----------
    reader
        Reads rows, targets and constraints.
    bounds
        The limits of the service.
    target
        What is wanted where a request names no target.
    release
        Whether a request may release what `fit` was told to keep.
    max_changes
        The most features that may change, if the service has such a limit.
    """

    reader: Reader
    bounds: Bounds
    target: Any = None
    release: bool = False
    max_changes: int | None = None

    def explain(self, rows: Any, options: Mapping[str, Any], what: str = "rows") -> Ask:
        """Read a question about rows."""
        self._check_count(rows, self.bounds.rows, what)
        k = options.get("k")
        k = min(K, self.bounds.k) if k is None else whole("k", k, 1, self.bounds.k)
        setting = options.get("setting")
        self.reader.explainer_for(setting)
        return Ask(
            self.reader.rows(rows, what),
            k,
            self._target(options.get("target")),
            setting,
            self._constraints(options.get("constraints")),
            self._deadline(options.get("deadline")),
        )

    def decide(self, rows: Any, what: str = "rows") -> Table:
        """Read rows to decide about."""
        self._check_count(rows, self.bounds.decisions, what)
        return self.reader.rows(rows, what)

    def _check_count(self, rows: Any, most: int, what: str) -> None:
        if isinstance(rows, list) and len(rows) > most:
            raise RefusedError(
                f"{what} may hold at most {most:,} rows, got {len(rows):,}. Send them in parts."
            )

    def _target(self, given: Any) -> Any:
        return self.target if given is None and self.target is not None else self.reader.target(given)

    def _constraints(self, given: Any) -> dict[str, Any]:
        found = self.reader.constraints(given)
        if found and not self.release:
            found = tightened(found, self.reader.explainer._fitted().schema.features)
            self.reader.check(found)
        if self.max_changes is not None:
            asked = found.get("max_changes", self.max_changes)
            found["max_changes"] = asked if self.release else min(asked, self.max_changes)
        return found

    def _deadline(self, given: Any) -> float:
        most = self.bounds.seconds
        if given is None:
            return most
        if not is_number(given) or not 0 < given <= most:
            raise RefusedError(
                f"deadline must be a number of seconds above 0 and up to {most:g}, got {short(given)}."
            )
        return float(given)

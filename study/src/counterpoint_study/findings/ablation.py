"""What each step from the paper's method to ours adds on every metric, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from counterpoint_study.findings.ranks import ABLATION, NAMES, TIE, WHERE

COSTS = ("batched", "model_calls", "model_rows")
"""What a step costs, beside its runtime: seconds in a batch, model calls and model rows per decision."""

SHARED = "instances"
"""The column that says on how many answers of each step the metrics without a value for none are measured."""


@dataclass(frozen=True)
class Ablation:
    """The steps of `ABLATION` that ran: their means, and what each changes against the one before it."""

    values: pd.DataFrame
    changes: pd.DataFrame


def ablation(results: pd.DataFrame) -> Ablation | None:
    """Take each step's means over cells, on the instances that all steps have a value for.

    A step that answers easy instances only would look better than one that answers all. Size, act and dipo
    count instances without an answer; the other metrics are over instances that every step answers. None if
    fewer than two steps ran.
    """
    rows = results[results["instance"] >= 0]
    steps = [name for name in ABLATION if name in set(rows["method"])]
    if len(steps) < 2:
        return None
    columns = [*NAMES, *(name for name in COSTS if name in rows)]
    wide = rows.astype(dict.fromkeys(columns, float)).pivot(
        index=[*WHERE, "instance"], columns="method", values=columns
    )
    means = {name: _mean(wide[name][steps]) for name in columns}
    answered = wide["dis_dist"][steps].notna().all(axis=1).sum()
    values = pd.DataFrame(means).reindex(steps).rename_axis("step").reset_index()
    values.insert(1, SHARED, int(answered))
    apart = values.set_index("step").drop(columns=SHARED).diff().iloc[1:]
    changes = apart.mask(apart.abs() <= TIE, 0.0).reset_index()
    return Ablation(values, changes)


def _mean(table: pd.DataFrame) -> pd.Series:
    """Take the mean of each step over cells, of the instances for which all steps have a value."""
    return table.dropna().groupby(WHERE).mean().mean()

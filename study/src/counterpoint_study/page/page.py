"""The study as a page to look at: one HTML file that needs no network, with its figures and tables as files.

Beside our own claims stands what the paper reports, and whether it is so here.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined, Template
from matplotlib.figure import Figure

from counterpoint_study.findings.ablation import ablation
from counterpoint_study.findings.claims import Claims
from counterpoint_study.findings.ranks import (
    CELL,
    METRICS,
    OURS,
    STEPS,
    TIE,
    Contest,
    CriticalDifference,
    can_be_tested,
    contests,
    critical_difference,
    mean_ranks,
    means,
)
from counterpoint_study.findings.statements import NONE
from counterpoint_study.page import figures
from counterpoint_study.page.styles import in_order
from counterpoint_study.topics import Topic

# The diagram of mean ranks that goes with each standing of our method.
DIAGRAMS = {
    "overall": "ranks",
    "limited": "ranks_limited",
    "plotted": "ranks_plotted",
    "quantiles": "ranks_quantiles",
}

_WORDS = {9: "nine", 10: "ten"}


def write(
    topic: Topic,
    results: pd.DataFrame,
    accuracies: pd.DataFrame,
    folder: Path,
    command: str,
    galleries: Mapping[str, Figure] = MappingProxyType({}),
) -> Path:
    """Write a study's page, figures and tables.

    Parameters
    ----------
    topic
        What was studied.
    results
        One row an instance, as the study returns them. What `results.attrs` holds, such as versions, seed and
        machine, is shown.
    accuracies
        The black boxes' accuracies beside the paper's: set, black_box, accuracy, paper.
    folder
        Where to write; made if need be.
    command
        What was typed to run the study.
    galleries
        Pictures of answers, one a data set, if there are any.

    Returns
    -------
    pathlib.Path
        The page, `index.html`.
    """
    steps = ablation(results)
    results, every = results[~results["method"].isin(STEPS)], results
    table = means(results)
    methods = in_order(list(dict.fromkeys(table["method"])))
    ran = set(table.loc[table["instances"] > 0, "method"])
    if not ran:
        raise ValueError(
            "No method ran in any cell, so there is nothing to show. See `error` in the results."
        )
    found = topic.claims(results) if OURS in ran else None
    held = contests(table, methods, topic.metrics)
    tables = _tables(table, held, topic.metrics) | {
        "accuracy": accuracies.assign(difference=accuracies["accuracy"] - accuracies["paper"]),
        "paper": pd.DataFrame(topic.statements(results, table, found)),
        "failures": _failures(every),
        "methods": every[["method", "library"]].drop_duplicates().reset_index(drop=True),
        **(claim_tables(found) if found else {}),
        **({"ablation": steps.values, "ablation_changes": steps.changes} if steps else {}),
        **({"summary": summary(table, found.overall[0].test)} if found and found.overall else {}),
    }
    save_tables(tables, folder / "tables")
    drawn = _draw(table, held, found, topic.metrics) | {f"gallery_{n}": each for n, each in galleries.items()}
    saved = {name: figures.save(figure, folder / "figures", name) for name, figure in drawn.items()}
    html = _template().render(
        topic=topic,
        facts=_facts(every, table, command, topic),
        metrics=[metric for metric in METRICS if metric.name in topic.metrics],
        claims=found,
        figures={name: b64encode(svg.encode()).decode() for name, svg in saved.items()},
        tables=tables,
        galleries=list(galleries),
        places=_by_place(tables["cells"]),
        contests=held,
        nowhere=[name for name in methods if name not in ran],
    )
    path = folder / "index.html"
    path.write_text(html, encoding="utf-8")
    return path


def _template() -> Template:
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters |= {"text": _text, "word": lambda count: _WORDS.get(count, str(count))}
    return page.from_string(files(__package__).joinpath("page.html.j2").read_text("utf-8"))


def _draw(
    table: pd.DataFrame, held: Sequence[Contest], found: Claims | None, metrics: Sequence[str]
) -> dict[str, Figure]:
    """Draw all figures by the names of their files."""
    drawn = {"lines": figures.lines(table, metrics)}
    if held:
        drawn["heat"] = figures.heat(mean_ranks(held[0].ranks))
    standings = found.overall if found else ()
    for standing in standings:
        drawn[DIAGRAMS[standing.runs]] = figures.diagram(standing.test)
    shown = {frozenset(standing.test.methods) for standing in standings}
    if held and frozenset(held[0].methods) not in shown and can_be_tested(held[0].ranks):
        drawn["ranks_all"] = figures.diagram(critical_difference(held[0].ranks))
    return drawn


def _tables(table: pd.DataFrame, held: Sequence[Contest], metrics: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Lay out the cells, and the mean ranks in each contest."""
    ranked = [mean_ranks(each.ranks).rename_axis("method").reset_index() for each in held]
    tables = {"cells": table[[*CELL, "instances", "valid", "errors", *metrics, "batched"]]}
    return tables | dict(zip(("mean_ranks", "mean_ranks_limited"), ranked, strict=False))


def claim_tables(found: Claims) -> dict[str, pd.DataFrame]:
    """Lay the claims out, one table each."""
    overall, leads = found.overall, found.leads
    duels = [(match, duel) for match in found.matches for duel in match.duels]
    columns: dict[str, dict[str, list[Any]]] = {
        "claim_overall": {
            "over": [s.runs for s in overall],
            "methods": [len(s.test.methods) for s in overall],
            "runs": [s.test.runs for s in overall],
            OURS: [s.test.rank(s.ours) for s in overall],
            "critical difference": [s.test.difference for s in overall],
            "Friedman p": [s.test.p for s in overall],
            "first": [s.first for s in overall],
            "not significantly worse": [", ".join(s.not_beaten) for s in overall],
        },
        "claim_settings": {
            "peer": [match.peer for match, _ in duels],
            "size": [match.size for match, _ in duels],
            "explained": [f"{match.explained} of {match.asked}" for match, _ in duels],
            "cells": [match.cells for match, _ in duels],
            "cells matched by any": [match.matched for match, _ in duels],
            "setting": [duel.setting for _, duel in duels],
            "cells matched": [duel.best_cells for _, duel in duels],
            "metrics as good": [duel.as_good for _, duel in duels],
            "worse on": [", ".join(duel.loses) for _, duel in duels],
        },
        "claim_metrics": {
            "metric": [s.runs for s in leads],
            OURS: [s.test.rank(s.ours) for s in leads],
            "first method": [s.test.methods[0] for s in leads],
            "its rank": [s.test.mean_ranks[0] for s in leads],
            "critical difference": [s.test.difference for s in leads],
            "first": [s.first for s in leads],
            "first or tied": [s.tied_first for s in leads],
        },
    }
    # From rows, not columns: pandas would take columns without any value as numbers.
    return {
        name: pd.DataFrame(zip(*each.values(), strict=True), columns=list(each))
        for name, each in columns.items()
    }


def summary(table: pd.DataFrame, test: CriticalDifference) -> pd.DataFrame:
    """Give each method of a test one line: its mean rank, and its means over the cells in which it ran.

    The distance is a median, because a few cells have heavy tails.
    """
    ran = table[(table["instances"] > 0) & table["method"].isin(test.methods)].groupby("method")
    means_, medians = ran.mean(numeric_only=True), ran["dis_dist"].median()
    lines = {
        "method": test.methods,
        "mean rank": test.mean_ranks,
        "found of k": [means_["size"][name] for name in test.methods],
        "actionable": [means_["act"][name] for name in test.methods],
        "median distance": [medians[name] for name in test.methods],
        "implausibility": [means_["impl"][name] for name in test.methods],
        "discriminative power": [means_["dipo"][name] for name in test.methods],
        "seconds": [means_["runtime"][name] for name in test.methods],
        "seconds in a batch": [means_["batched"][name] for name in test.methods],
        "instances": [int(ran["instances"].sum()[name]) for name in test.methods],
    }
    return pd.DataFrame(lines)


def _failures(results: pd.DataFrame) -> pd.DataFrame:
    """List who gave no answer where and why, and how often."""
    failed = results[results["error"].notna()]
    rows = []
    for (method, box, reason), group in failed.groupby(["method", "black_box", "error"]):
        sets, ks = (", ".join(str(x) for x in sorted(group[name].unique())) for name in ("set", "k"))
        ran = int((group["instance"] >= 0).sum())
        rows.append((method, box, sets, ks, f"{ran} answers missing" if ran else "could not run", reason))
    return pd.DataFrame(rows, columns=["method", "black_box", "sets", "k", "what", "reason"])


def _facts(results: pd.DataFrame, table: pd.DataFrame, command: str, topic: Topic) -> list[tuple[str, str]]:
    """List what was run, and whatever the results say of how."""
    seeds = sorted(results["seed"].dropna().unique()) if "seed" in results else []
    listed = {
        name: ", ".join(str(x) for x in dict.fromkeys(table[name])) for name in ("set", "black_box", "k")
    }
    facts = [
        ("Command", command),
        ("Data sets", listed["set"]),
        ("Known instances", topic.known),
        ("Black boxes", listed["black_box"]),
        ("k", listed["k"]),
        ("Methods", str(table["method"].nunique())),
        ("Instances a cell", f"up to {table['instances'].max()}"),
        ("Seed", ", ".join(str(int(seed)) for seed in seeds) or NONE),
    ]
    shown = {name.lower() for name, _ in facts} | {"accuracies"}
    more = {str(name): value for name, value in results.attrs.items() if str(name).lower() not in shown}
    return facts + [(name.capitalize(), _listed(value)) for name, value in more.items()]


def _listed(value: Any) -> str:
    """Write names and values, or several values, in one line."""
    if isinstance(value, Mapping):
        inner = {
            name: f"({_listed(x)})" if isinstance(x, Mapping) else _listed(x) for name, x in value.items()
        }
        return ", ".join(f"{name} {text}" for name, text in inner.items())
    return " · ".join(str(x) for x in value) if isinstance(value, (list, tuple)) else str(value)


def _by_place(cells: pd.DataFrame) -> list[tuple[str, pd.DataFrame, list[list[bool]]]]:
    """Split the table of cells by data set and black box, and mark the best values of each k."""
    found = []
    for (name, box), part in cells.groupby(["set", "black_box"], sort=False):
        part = part.drop(columns=["set", "black_box"]).sort_values("k", kind="stable").reset_index(drop=True)
        best = pd.DataFrame(False, index=part.index, columns=part.columns)
        for metric in (each for each in METRICS if each.name in part):
            top = part.groupby("k")[metric.name].transform("max" if metric.more else "min")
            best[metric.name] = (part[metric.name] - top).abs() <= TIE
        found.append((f"{name}, {box}", part, best.to_numpy().tolist()))
    return found


def save_tables(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write each table as CSV, in full, and as Markdown, rounded."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        rows = [[_text(value).replace("|", "\\|") for value in row] for row in table.itertuples(index=False)]
        marks = ["---:" if pd.api.types.is_numeric_dtype(kind) else "---" for kind in table.dtypes]
        lines = [" | ".join(line) for line in [[str(c) for c in table], marks, *rows]]
        (folder / f"{name}.md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")


def _text(value: Any) -> str:
    """Write a value for people."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return _number(float(value))
    return NONE if value is None or value == "" else " ".join(str(value).split())


def _number(value: float) -> str:
    """Write a number with about three digits."""
    if np.isnan(value):
        return NONE
    if 0 < abs(value) < 0.0005:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"

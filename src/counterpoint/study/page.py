"""The study as a page to look at: one HTML file that needs no network, with its figures and tables as files.

Beside our own claims stands what the paper reports on tables, each statement judged by the results.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, StrictUndefined

from counterpoint.study import figures
from counterpoint.study.ranks import (
    CELL,
    METRICS,
    NAMES,
    PEERS,
    SETTINGS,
    TIE,
    WHERE,
    Claims,
    Contest,
    Standing,
    can_be_tested,
    claims,
    contests,
    critical_difference,
    mean_ranks,
    means,
)

ECE = SETTINGS[0]
NONE = "–"

# "In line with" and "equivalent" are not numbers: here they mean that means are at most this far apart.
NEAR = 0.1
MANY = 0.25
NOTABLE = 0.5
MOST = 0.8
MINUTE = 60.0
SPREAD = ("dis_dist", "dis_count", "div_dist", "div_count")

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "in part", "does not hold", "not measured"

Part = tuple[str, bool]


@dataclass(frozen=True)
class Statement:
    """Something the paper reports, how it is judged here, what was measured, and whether it holds."""

    text: str
    rule: str
    measured: str
    verdict: str

    @classmethod
    def judged(cls, text: str, rule: str, parts: Iterable[Part]) -> Statement:
        """Judge a statement by its parts: it holds if all do, and in part if some do."""
        known = list(parts)
        truths = [truth for _, truth in known]
        verdict = UNKNOWN if not truths else HOLDS if all(truths) else PARTLY if any(truths) else FAILS
        marked = [f"{'✓' if truth else '✗'} {part}" for part, truth in known]
        return cls(text, rule, "; ".join(marked) or NONE, verdict)


def write(results: pd.DataFrame, accuracies: pd.DataFrame, folder: Path, command: str) -> Path:
    """Write a study's page, figures and tables.

    Parameters
    ----------
    results
        One row an instance, as the study returns them. What `results.attrs` holds, such as versions, seed and
        machine, is shown.
    accuracies
        The black boxes' accuracies beside the paper's: set, black_box, accuracy, paper.
    folder
        Where to write; made if need be.
    command
        What was typed to run the study.

    Returns
    -------
    pathlib.Path
        The page, `index.html`.
    """
    table = means(results)
    methods = figures.in_order(list(dict.fromkeys(table["method"])))
    ran = set(table.loc[table["instances"] > 0, "method"])
    if not ran:
        raise ValueError(
            "No method ran in any cell, so there is nothing to show. See `error` in the results."
        )
    found = claims(table) if ECE in ran else None
    all_of_them = contests(table, methods)
    tables = _tables(results, table, accuracies, all_of_them, found)
    _save_tables(tables, folder / "tables")
    drawn = _draw(table, all_of_them, found, folder / "figures")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters["text"] = _text
    html = page.from_string(files(__package__).joinpath("page.html.j2").read_text("utf-8")).render(
        facts=_facts(results, table, command),
        metrics=METRICS,
        claims=found,
        figures={name: b64encode(svg.encode()).decode() for name, svg in drawn.items()},
        tables=tables,
        places=_by_place(tables["cells"]),
        contests=all_of_them,
        nowhere=[name for name in methods if name not in ran],
    )
    path = folder / "index.html"
    path.write_text(html, encoding="utf-8")
    return path


def statements(results: pd.DataFrame, found: Claims | None) -> list[Statement]:
    """Judge what the paper's text says of the plots on tables, by the results."""
    table = means(results)
    seen = _Seen(table[table["instances"] > 0])
    dice = [name for name in PEERS if name.startswith("DiCE")]
    single, rest = ["CEM", "CEGP", "WACH"], [*dice, "CBCE", "FAT", "CEML"]
    everyone = [ECE, *rest, *single]
    judged = Statement.judged
    lacking = results[results["instance"] >= 0].groupby("method")["inst"].apply(lambda x: x.isna().mean())
    return [
        judged(
            "Only ECE, DiCE, CBCE and FAT return at least 80 % of the counterfactuals wanted.",
            f"mean size ≥ {MOST} for these and for no other",
            seen.only("size", [ECE, *dice, "CBCE", "FAT"], everyone, lambda x: x >= MOST - TIE),
        ),
        judged(
            "Most other methods return a single one.",
            "at most one on average at the largest k",
            seen.single([*single, "CEML"]),
        ),
        judged(
            "Only ECE, FAT and CBCE return a notable share of actionable counterfactuals.",
            f"mean act ≥ {NOTABLE} for these and for no other",
            seen.only("act", [ECE, "FAT", "CBCE"], everyone, lambda x: x >= NOTABLE - TIE),
        ),
        judged(
            "CBCE, and also DiCE, are diverse but far from the instance.",
            "div and dis, both kinds, at least the median of the paper's methods",
            [part for name in SPREAD for part in seen.above_median(name, ["CBCE", *dice], everyone)],
        ),
        judged(
            "FAT is closer to the instance than ECE.", "mean dis_dist", seen.beats("FAT", [ECE], "dis_dist")
        ),
        judged("FAT is less diverse than ECE.", "mean div_dist", seen.beats(ECE, ["FAT"], "div_dist")),
        judged(
            "FAT and ECE are equivalent in features changed and features that differ.",
            f"mean dis_count and div_count at most {NEAR} apart",
            [*seen.near(ECE, "FAT", "dis_count"), *seen.near(ECE, "FAT", "div_count")],
        ),
        judged(
            "ECE's discriminative power is slightly below that of DiCE, CBCE, FAT and CEML.",
            "mean dipo",
            [part for name in rest for part in seen.beats(name, [ECE], "dipo")],
        ),
        judged(
            "ECE is the most plausible, methods that return a single counterfactual aside.",
            "mean impl, without CEM, CEGP and WACH",
            seen.beats(ECE, rest, "impl"),
        ),
        judged(
            "ECE's implausibility is constantly below that of DiCE and FAT.",
            "mean impl at every k",
            seen.always(ECE, [*dice, "FAT"], "impl"),
        ),
        judged(
            "ECE's implausibility is in line with CBCE's.",
            f"mean impl at most {NEAR} apart",
            seen.near(ECE, "CBCE", "impl"),
        ),
        judged("ECE is slightly less stable than FAT.", "mean inst", seen.beats("FAT", [ECE], "inst")),
        judged("ECE is slightly more stable than DiCE.", "mean inst", seen.beats(ECE, dice, "inst")),
        judged(
            "CEML is the most stable.",
            "mean inst, without CEM, CEGP and WACH",
            seen.beats("CEML", [ECE, *(name for name in rest if name != "CEML")], "inst"),
        ),
        judged(
            "CBCE is the least stable.",
            "mean inst, without CEM, CEGP and WACH",
            [part for name in [ECE, *rest] if name != "CBCE" for part in seen.beats(name, ["CBCE"], "inst")],
        ),
        judged(
            "CEM, CEGP and WACH often lack counterfactuals for one of two similar instances.",
            f"inst missing for at least {MANY:.0%} of instances",
            [(f"{n} {lacking[n]:.0%}", lacking[n] >= MANY) for n in single if n in lacking],
        ),
        judged(
            "All but FAT and ECE take more than a minute an instance.",
            "mean runtime; another machine, and a time limit for peers",
            seen.only(
                "runtime", [n for n in everyone if n not in (ECE, "FAT")], everyone, lambda x: x > MINUTE
            ),
        ),
        judged(
            "ECE ranks best over all runs, and the difference is significant.",
            "mean rank, Nemenyi's test at 95 %, against all who ran on every black box",
            _standing_parts(found.overall[0]) if found and found.overall else [],
        ),
    ]


@dataclass(frozen=True)
class _Seen:
    """The cells that ran, asked for what the statements are about; each answer is a part of a judgement."""

    table: pd.DataFrame

    @property
    def ks(self) -> list[int]:
        return sorted(self.table["k"].unique())

    def each(self, metric: str, names: Sequence[str]) -> list[tuple[str, float]]:
        """Take the means over cells of those methods that have any."""
        mean = self._wide[metric].mean().dropna()
        return [(name, float(mean[name])) for name in names if name in mean]

    def only(
        self, metric: str, those: Sequence[str], everyone: Sequence[str], test: Callable[[float], bool]
    ) -> list[Part]:
        """Find whether those methods pass a test, and no others."""
        return [(f"{n} {x:.2f}", test(x) == (n in those)) for n, x in self.each(metric, everyone)]

    def single(self, names: Sequence[str]) -> list[Part]:
        """Find whether methods return one counterfactual at most where more are wanted."""
        k = max(self.ks)
        counts = [(n, k * x) for n, x in _Seen(self.table[self.table["k"] == k]).each("size", names)]
        return [(f"{n} {x:.2f} of {k}", x <= 1 + TIE) for n, x in counts if k > 1]

    def above_median(self, metric: str, names: Sequence[str], everyone: Sequence[str]) -> list[Part]:
        """Find whether methods have at least the median of everyone's means."""
        values = dict(self.each(metric, everyone))
        middle = float(np.median(list(values.values()))) if values else np.nan
        known = [(name, values[name]) for name in names if name in values]
        return [(f"{n} {metric} {x:.2f} (median {middle:.2f})", x >= middle) for n, x in known]

    def beats(self, name: str, others: Sequence[str], metric: str) -> list[Part]:
        """Find whether a method is better than others, each over the cells in which both have a value."""
        pairs = [(other, *self._both(name, other, metric)) for other in others]
        return [
            (f"{name} {a:.2f}, {other} {b:.2f}", _better(metric, a, b))
            for other, a, b in pairs
            if not np.isnan(a)
        ]

    def always(self, name: str, others: Sequence[str], metric: str) -> list[Part]:
        """Find whether a method is better than others at every k."""
        by_k = [_Seen(self.table[self.table["k"] == k]) for k in self.ks]
        parts = []
        for other in others:
            pairs = [pair for seen in by_k if not np.isnan((pair := seen._both(name, other, metric))[0])]
            ours, theirs = (
                (", ".join(f"{x:.2f}" for x in line) for line in zip(*pairs, strict=True))
                if pairs
                else ("", "")
            )
            if pairs:
                parts.append(
                    (f"{name} {ours}; {other} {theirs}", all(_better(metric, *pair) for pair in pairs))
                )
        return parts

    def near(self, name: str, other: str, metric: str) -> list[Part]:
        """Find whether two methods are about equal."""
        a, b = self._both(name, other, metric)
        return (
            [] if np.isnan(a) else [(f"{metric} {name} {a:.2f}, {other} {b:.2f}", abs(a - b) <= NEAR + TIE)]
        )

    def _both(self, a: str, b: str, metric: str) -> tuple[float, float]:
        both = self._wide[metric].reindex(columns=[a, b]).dropna()
        return float(both[a].mean()), float(both[b].mean())

    @cached_property
    def _wide(self) -> pd.DataFrame:
        return self.table.pivot(index=WHERE, columns="method", values=NAMES)


def _better(metric: str, a: float, b: float) -> bool:
    """Tell whether a mean is better than another."""
    more = next(each.more for each in METRICS if each.name == metric)
    return a - b > TIE if more else b - a > TIE


def _standing_parts(standing: Standing) -> list[Part]:
    """Say how our method stands, and whom it does not beat."""
    test = standing.test
    best = next(name for name in test.methods if name != standing.ours)
    text = f"{standing.ours} {test.rank(standing.ours):.2f}, the best other {best} {test.rank(best):.2f}"
    tied = [(f"{name} is not significantly worse", False) for name in standing.not_beaten]
    return [(text, standing.first), *tied]


def _draw(table: pd.DataFrame, held: Sequence[Contest], found: Claims | None, folder: Path) -> dict[str, str]:
    """Draw all figures into the folder, and return them as SVG."""
    drawn = {"lines": figures.lines(table)}
    if held:
        drawn["heat"] = figures.heat(mean_ranks(held[0].ranks))
    if held and can_be_tested(held[0].ranks):
        drawn["ranks_all"] = figures.diagram(critical_difference(held[0].ranks))
    for name, standing in zip(("ranks", "ranks_limited"), found.overall if found else (), strict=False):
        drawn[name] = figures.diagram(standing.test)
    return {name: figures.save(figure, folder, name) for name, figure in drawn.items()}


def _tables(
    results: pd.DataFrame,
    table: pd.DataFrame,
    accuracies: pd.DataFrame,
    held: Sequence[Contest],
    found: Claims | None,
) -> dict[str, pd.DataFrame]:
    """Gather all tables by the names of their files."""
    said = statements(results, found)
    ranked = [mean_ranks(each.ranks).rename_axis("method").reset_index() for each in held]
    tables = {
        "accuracy": accuracies.assign(difference=accuracies["accuracy"] - accuracies["paper"]),
        "paper": pd.DataFrame([vars(each) for each in said]),
        "cells": table[[*CELL, "instances", "valid", "errors", *NAMES]],
        "failures": _failures(results),
        "methods": results[["method", "library"]].drop_duplicates().reset_index(drop=True),
    }
    tables |= dict(zip(("mean_ranks", "mean_ranks_limited"), ranked, strict=False))
    return tables | (_claim_tables(found) if found else {})


def _claim_tables(found: Claims) -> dict[str, pd.DataFrame]:
    """Lay the claims out, one table each."""
    standings = [
        (
            len(s.test.methods),
            s.test.runs,
            s.test.rank(ECE),
            s.test.difference,
            s.test.p,
            s.first,
            ", ".join(s.not_beaten),
        )
        for s in found.overall
    ]
    matches = [
        (m.peer, m.size, m.cells, m.matched, d.setting, d.best_cells, d.as_good, ", ".join(d.loses))
        for m in found.matches
        for d in m.duels
    ]
    leads = [
        (
            s.runs,
            s.test.rank(ECE),
            s.test.methods[0],
            s.test.mean_ranks[0],
            s.test.difference,
            s.first,
            s.tied_first,
        )
        for s in found.leads
    ]
    named = {
        "claim_overall": (
            standings,
            [
                "methods",
                "runs",
                "ECE",
                "critical difference",
                "Friedman p",
                "first",
                "not significantly worse",
            ],
        ),
        "claim_settings": (
            matches,
            [
                "peer",
                "size",
                "cells",
                "cells matched by any",
                "setting",
                "cells matched",
                "metrics as good",
                "worse on",
            ],
        ),
        "claim_metrics": (
            leads,
            ["metric", "ECE", "first method", "its rank", "critical difference", "first", "first or tied"],
        ),
    }
    return {name: pd.DataFrame(rows, columns=columns) for name, (rows, columns) in named.items()}


def _failures(results: pd.DataFrame) -> pd.DataFrame:
    """List who gave no answer where and why, and how often."""
    failed = results[results["error"].notna()]
    rows = []
    for (method, box, reason), group in failed.groupby(["method", "black_box", "error"]):
        sets, ks = (", ".join(str(x) for x in sorted(group[name].unique())) for name in ("set", "k"))
        ran = int((group["instance"] >= 0).sum())
        rows.append((method, box, sets, ks, f"{ran} answers missing" if ran else "could not run", reason))
    return pd.DataFrame(rows, columns=["method", "black_box", "sets", "k", "what", "reason"])


def _facts(results: pd.DataFrame, table: pd.DataFrame, command: str) -> list[tuple[str, str]]:
    """List what was run, and whatever the results say of how."""
    seeds = sorted(results["seed"].dropna().unique()) if "seed" in results else []
    listed = {
        name: ", ".join(str(x) for x in dict.fromkeys(table[name])) for name in ("set", "black_box", "k")
    }
    facts = [
        ("Command", command),
        ("Data sets", listed["set"]),
        ("Black boxes", listed["black_box"]),
        ("k", listed["k"]),
        ("Methods", str(table["method"].nunique())),
        ("Instances a cell", f"up to {table['instances'].max()}"),
        ("Seed", ", ".join(str(int(seed)) for seed in seeds) or NONE),
    ]
    shown = {name.lower() for name, _ in facts}
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
        for metric in METRICS:
            top = part.groupby("k")[metric.name].transform("max" if metric.more else "min")
            best[metric.name] = (part[metric.name] - top).abs() <= TIE
        found.append((f"{name}, {box}", part, best.to_numpy().tolist()))
    return found


def _save_tables(tables: dict[str, pd.DataFrame], folder: Path) -> None:
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

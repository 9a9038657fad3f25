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

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template
from matplotlib.figure import Figure

from counterpoint_study.findings.ablation import ablation
from counterpoint_study.findings.claims import Claims
from counterpoint_study.findings.ranks import (
    METRICS,
    OURS,
    STEPS,
    TIE,
    Contest,
    can_be_tested,
    contests,
    critical_difference,
    mean_ranks,
    means,
)
from counterpoint_study.findings.rivals import explained, rivals, times
from counterpoint_study.findings.seeds import by_seed, seeds_of, settings_beside
from counterpoint_study.findings.statements import NONE
from counterpoint_study.findings.survival import survival
from counterpoint_study.page import figures, markdown, tables, verdicts
from counterpoint_study.page.lines import lines, named
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
    survived = survival(results, methods)
    laid_out = tables.of_cells(table, held, topic.metrics) | {
        "accuracy": accuracies.assign(difference=accuracies["accuracy"] - accuracies["paper"]),
        "paper": pd.DataFrame(topic.statements(results, table, found)),
        "failures": tables.failures(every),
        "methods": every[["method", "library"]].drop_duplicates().reset_index(drop=True),
        "times": times(results),
        "explained": explained(results),
        **({"survival": survived} if len(survived) else {}),
        **({"ablation": steps.values, "ablation_changes": steps.changes} if steps else {}),
        **(_judged(topic, results, table, found) if found else {}),
    }
    markdown.save_tables(laid_out, folder / "tables")
    markdown.save_texts(_texts(every, topic, laid_out, found), folder / "tables")
    drawn = _draw(table, held, found, topic.metrics) | {f"gallery_{n}": each for n, each in galleries.items()}
    saved = {name: figures.save(figure, folder / "figures", name) for name, figure in drawn.items()}
    html = _template().render(
        topic=topic,
        facts=_facts(every, table, command, topic),
        metrics=[metric for metric in METRICS if metric.name in topic.metrics],
        claims=found,
        figures={name: b64encode(svg.encode()).decode() for name, svg in saved.items()},
        tables=laid_out,
        galleries=list(galleries),
        places=_by_place(laid_out["cells"]),
        contests=held,
        nowhere=[name for name in methods if name not in ran],
    )
    path = folder / "index.html"
    path.write_text(html, encoding="utf-8")
    return path


def _judged(
    topic: Topic, results: pd.DataFrame, table: pd.DataFrame, found: Claims
) -> dict[str, pd.DataFrame]:
    """Lay out all that is about our default: what is claimed of it, and where it stands beside others."""
    beside = settings_beside(results, found.matches)
    return {
        **tables.claims(found),
        "claims": verdicts.verdicts(found),
        "rivals": verdicts.where_it_loses(rivals(results, topic.metrics)),
        "seeds": by_seed(results, topic.claims),
        **({"settings_beside": beside} if len(beside) else {}),
        **({"summary": tables.summary(table, found.overall[0].test)} if found.overall else {}),
    }


def _texts(
    results: pd.DataFrame, topic: Topic, laid_out: Mapping[str, pd.DataFrame], found: Claims | None
) -> dict[str, str]:
    """Say in sentences what was run and found."""
    texts = {
        "runs": verdicts.runs(results, topic.name),
        "paper_in_short": verdicts.statements_in_short(laid_out["paper"]),
    }
    if found:
        texts["headline"] = verdicts.headline(found)
        texts["paper_and_ours"] = verdicts.paper_and_ours(found)
    return {name: text for name, text in texts.items() if text}


def _template() -> Template:
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    page.filters |= {"text": markdown.written, "word": lambda count: _WORDS.get(count, str(count))}
    return page.from_string(files(__package__).joinpath("page.html.j2").read_text("utf-8"))


def _draw(
    table: pd.DataFrame, held: Sequence[Contest], found: Claims | None, metrics: Sequence[str]
) -> dict[str, Figure]:
    """Draw all figures by the names of their files."""
    ranked = mean_ranks(held[0].ranks) if held else None
    names = None if ranked is None else named(list(ranked.index))
    drawn = {"lines": lines(table, metrics, with_names=names)}
    if ranked is not None:
        drawn["heat"] = figures.heat(ranked)
    standings = found.overall if found else ()
    for standing in standings:
        drawn[DIAGRAMS[standing.runs]] = figures.diagram(standing.test)
    shown = {frozenset(standing.test.methods) for standing in standings}
    if held and frozenset(held[0].methods) not in shown and can_be_tested(held[0].ranks):
        drawn["ranks_all"] = figures.diagram(critical_difference(held[0].ranks))
    return drawn


def _facts(results: pd.DataFrame, table: pd.DataFrame, command: str, topic: Topic) -> list[tuple[str, str]]:
    """List what was run, and whatever the results say of how."""
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
        ("Seed", ", ".join(str(seed) for seed in seeds_of(results)) or NONE),
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

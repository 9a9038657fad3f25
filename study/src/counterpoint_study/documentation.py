"""The study's tables, sentences and figures in README and docs, each at a mark in the text.

A mark is ``<!-- study: tables/claims -->`` … ``<!-- /study -->``. What stands between the two is written by
`update`, never by hand: a table or a few sentences by its name, or a figure such as ``tables/ranks.png`` with
its caption. What no results give is empty.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from counterpoint_study.topics import TOPICS

MARKED = re.compile(r"(<!-- study: (\w+)/([\w.]+) -->\n)(.*?)(<!-- /study -->)", re.DOTALL)

FIGURES = Path("docs", "study")
"""The folder of the figures, in a checkout."""

RESULTS = Path("study", "results")
"""The folder of the published results, in a checkout."""

TEXTS = (
    *("runs", "headline", "claims", "claim_overall", "claim_settings", "claim_metrics", "settings_beside"),
    *("seeds", "summary", "rivals", "times", "explained", "failures", "methods", "accuracy"),
    "survival",
    *(
        "ablation",
        "ablation_changes",
        "paper",
        "paper_in_short",
        "paper_and_ours",
        "mean_ranks",
        "mean_ranks_limited",
    ),
    *("cells", "size_of_x", "size_runs"),
)
"""The names of all tables and sentences."""

CAPTIONS = {
    "ranks": (
        "Mean ranks of Counterpoint and the others",
        "Mean ranks, the best on the left. A bar joins methods that do not differ significantly.",
    ),
    "ranks_quantiles": (
        "Mean ranks by a distance that no method searches with",
        "The same answers, measured with a distance that no method searches with.",
    ),
    "ranks_plotted": (
        "Mean ranks by the metrics that the paper plots",
        "The same by the metrics that the paper plots: size, impl, dis_dist, div_dist and runtime.",
    ),
    "ranks_limited": (
        "Mean ranks where methods that are limited to some black boxes ran",
        "Over the cells in which the methods ran that cannot explain every black box.",
    ),
    "ranks_all": (
        "Mean ranks of all methods",
        "All methods, our settings and base explainers too. More methods shift the ranks of all.",
    ),
    "lines": (
        "A plot for each metric: each method's mean against k",
        "Means over data sets and black boxes against k; ↑ more is better, ↓ less is better. Named are our "
        "default, the paper's method and the best ranked of the others. A method's line is over the cells in "
        "which it ran.",
    ),
    "heat": (
        "Mean rank of each method in each metric",
        "Mean rank of each method in each metric: the darker, the better. The best of a column is bold.",
    ),
    "size_of_x": (
        "A plot for each metric: each method's mean against the size of X",
        "Means over data sets and black boxes against the share of the known instances that methods get.",
    ),
}
"""The figures, each with its text for those who do not see it, and its caption."""


def update(root: Path, out: Path) -> list[Path]:
    """Renew what README.md and docs of a checkout mark, and the figures; list what changed.

    Figures that no results give are removed.
    """
    changed, shown = [], set()
    for path in pages(root):
        old = path.read_text(encoding="utf-8")
        new = filled(old, out, path.parent.relative_to(root))
        shown |= set(_figures(new, out))
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    return changed + _renew(root / FIGURES, {_name(drawn): drawn for drawn in sorted(shown)})


def pages(root: Path) -> list[Path]:
    """List the pages of a checkout that may have marks."""
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def filled(text: str, out: Path, folder: Path = Path()) -> str:
    """Put what was computed where a page, in some folder of the checkout, marks it.

    Examples
    --------
    >>> filled("No mark, no change.", Path("anywhere"))
    'No mark, no change.'
    """

    def fresh(found: re.Match[str]) -> str:
        start, topic, name, _, end = found.groups()
        return start + _content(topic, name, out, folder) + end

    return MARKED.sub(fresh, text)


def _content(topic: str, name: str, out: Path, folder: Path) -> str:
    stem = name.removesuffix(".png")
    if topic not in TOPICS or stem not in (CAPTIONS if name != stem else TEXTS):
        raise ValueError(f"A mark must name a table or figure of the study, got {topic}/{name}.")
    if name != stem:
        drawn = out / topic / "figures" / name
        return _picture(drawn, folder) if drawn.exists() else ""
    path = out / topic / "tables" / f"{name}.md"
    if path.exists():
        return path.read_text(encoding="utf-8")
    return _nothing(topic) if name == "runs" else ""


def _nothing(topic: str) -> str:
    return (
        f"No results on {topic} are published for the present version. `counterpoint study {topic}` makes "
        "them.\n"
    )


def _picture(drawn: Path, folder: Path) -> str:
    alt, caption = CAPTIONS[drawn.stem]
    link = os.path.relpath(FIGURES / _name(drawn), folder)
    return f"![{alt}]({Path(link).as_posix()})\n\n{caption}\n"


def _figures(text: str, out: Path) -> list[Path]:
    marks = [(topic, name) for _, topic, name, _, _ in MARKED.findall(text)]
    drawn = [out / topic / "figures" / name for topic, name in marks if name.endswith(".png")]
    return [path for path in drawn if path.exists()]


def _name(drawn: Path) -> str:
    """Name a figure's file in the documentation, where all topics share a folder."""
    topic = drawn.parts[-3]
    return drawn.name if topic == "tables" else f"{topic}_{drawn.name}"


def _renew(folder: Path, drawn: dict[str, Path]) -> list[Path]:
    changed = []
    for name, source in drawn.items():
        shown = folder / name
        if not shown.exists() or shown.read_bytes() != source.read_bytes():
            folder.mkdir(parents=True, exist_ok=True)
            shown.write_bytes(source.read_bytes())
            changed.append(shown)
    for old in sorted(folder.glob("*.png")):
        if old.name not in drawn:
            old.unlink()
            changed.append(old)
    return changed

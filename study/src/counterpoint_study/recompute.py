"""Every number and figure of the study again, from its results alone: nothing is trained, nothing is run.

The files are those that `counterpoint study` writes. Each has one row per instance, and says with which plan,
versions and machine it was made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from counterpoint_study.findings.claims import claims
from counterpoint_study.findings.seeds import HELD_OUT, lines, pooled
from counterpoint_study.findings.size import PERCENT, by_size, size_table
from counterpoint_study.page import figures, page
from counterpoint_study.topics import TOPICS

# A table of the study within a page of the documentation.
MARKED = re.compile(r"(<!-- study: (\w+)/(\w+) -->\n)(.*?)(<!-- /study -->)", re.DOTALL)


def recompute(files: Sequence[Path], out: Path) -> list[Path]:
    """Write pages, tables and figures from results; return what to read.

    For each topic, the run with the smallest seed is the one with a page of its own. Those with the seeds
    that claims are made on are judged together, and so are those with different sizes of X.
    """
    studies = [pd.read_parquet(file) for file in files]
    written = []
    for topic in dict.fromkeys(_topic(study) for study in studies):
        mine = [study for study in studies if _topic(study) == topic]
        whole = sorted((s for s in mine if not _is_about_size(s)), key=lambda s: s["seed"].min())
        sized = [study for study in mine if _is_about_size(study)]
        if whole:
            written.append(_page(whole[0], out / topic))
        held_out = [study for study in whole if study["seed"].min() in HELD_OUT]
        if held_out and topic == "tables":
            written.append(held_out_tables(held_out, out / topic / "tables"))
        if sized:
            written.append(size_of_x(pd.concat(sized, ignore_index=True), out / topic))
    return written


def _topic(study: pd.DataFrame) -> str:
    return str(study.attrs["plan"]["topic"])


def _is_about_size(study: pd.DataFrame) -> bool:
    return "share" in study and bool((study["share"] < 1).any())


def _page(results: pd.DataFrame, folder: Path) -> Path:
    columns = ["set", "black_box", "accuracy", "paper"]
    accuracies = pd.DataFrame(results.attrs.get("accuracies", []), columns=columns)
    command = str(results.attrs.get("command", ""))
    return page.write(TOPICS[_topic(results)], results, accuracies, folder, command)


def held_out_tables(studies: Sequence[pd.DataFrame], folder: Path) -> Path:
    """Write what is claimed of our settings, judged on the seeds that no weight was chosen on."""
    together = pooled(studies)
    found = claims(together)
    tables = {f"held_out_{name}": table for name, table in page.claim_tables(found).items()}
    for match in found.matches:
        name = re.sub(r"\W+", "_", match.peer).strip("_")
        tables[f"held_out_{name}"] = pd.DataFrame(lines(together, match))
    page.save_tables(tables, folder)
    return folder / "held_out_claim_settings.md"


def size_of_x(results: pd.DataFrame, folder: Path) -> Path:
    """Write the figure and the table on the size of X."""
    page.save_tables({"size_of_x": size_table(results)}, folder / "tables")
    figure = figures.lines(by_size(results), along=PERCENT, label=PERCENT)
    figures.save(figure, folder / "figures", "size_of_x")
    return folder / "figures" / "size_of_x.png"


def with_tables(text: str, out: Path) -> str:
    """Put the recomputed tables where a page of the documentation marks them.

    Examples
    --------
    >>> with_tables("No mark, no change.", Path("anywhere"))
    'No mark, no change.'
    """

    def fresh(found: re.Match[str]) -> str:
        start, topic, name, _, end = found.groups()
        return start + (out / topic / "tables" / f"{name}.md").read_text(encoding="utf-8") + end

    return MARKED.sub(fresh, text)


def update_docs(root: Path, out: Path) -> list[Path]:
    """Renew the marked tables of README.md and docs, and the figures of docs/study; list what changed."""
    changed = []
    for path in (root / "README.md", *sorted((root / "docs").rglob("*.md"))):
        old = path.read_text(encoding="utf-8")
        new = with_tables(old, out)
        if new != old:
            path.write_text(new, encoding="utf-8")
            changed.append(path)
    for drawn in sorted(out.glob("*/figures/*.png")):
        topic = drawn.parts[-3]
        name = drawn.name if topic == "tables" else f"{topic}_{drawn.name}"
        shown = root / "docs" / "study" / name
        if shown.exists() and shown.read_bytes() != drawn.read_bytes():
            shown.write_bytes(drawn.read_bytes())
            changed.append(shown)
    return changed

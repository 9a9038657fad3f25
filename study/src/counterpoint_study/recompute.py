"""Every number and figure of the study again, from its results alone: nothing is trained, nothing is run.

The files are those that `counterpoint study` writes, or the small ones that are published. Each has one row
per instance, and says with which plan, versions and machine it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from counterpoint_study import published
from counterpoint_study.findings.seeds import judged, pooled
from counterpoint_study.findings.size import PERCENT, by_size, size_table
from counterpoint_study.page import figures, markdown, page, verdicts
from counterpoint_study.page.lines import lines
from counterpoint_study.topics import TOPICS


def recompute(files: Sequence[Path], out: Path) -> list[Path]:
    """Write pages, tables and figures from results; return what to read.

    All runs of a topic are judged together. On tables, runs with the seeds that claims are made on are, and
    others are left out if there are any of these. Runs with different sizes of X have a figure of their own.
    """
    studies = [published.read(file) for file in files]
    written = []
    for topic in dict.fromkeys(_topic(study) for study in studies):
        mine = [study for study in studies if _topic(study) == topic]
        sized = [study for study in mine if published.is_about_size(study)]
        whole = [study for study in mine if not published.is_about_size(study)]
        if whole:
            chosen = judged(whole) if topic == "tables" else whole
            written.append(_page(pooled(chosen), out / topic))
        if sized:
            written.append(size_of_x(pooled(sized), out / topic))
    return written


def _topic(study: pd.DataFrame) -> str:
    return str(study.attrs["plan"]["topic"])


def _page(results: pd.DataFrame, folder: Path) -> Path:
    columns = ["set", "black_box", "accuracy", "paper"]
    accuracies = pd.DataFrame(results.attrs.get("accuracies", []), columns=columns)
    command = str(results.attrs.get("command", ""))
    return page.write(TOPICS[_topic(results)], results, accuracies, folder, command)


def size_of_x(results: pd.DataFrame, folder: Path) -> Path:
    """Write the figure and the table on the size of X."""
    markdown.save_tables({"size_of_x": size_table(results)}, folder / "tables")
    said = verdicts.runs(results[results["share"] == results["share"].max()], _topic(results))
    command = f"`{results.attrs['command']}`. " if results.attrs.get("command") else ""
    markdown.save_texts({"size_runs": command + said}, folder / "tables")
    figures.save(lines(by_size(results), along=PERCENT), folder / "figures", "size_of_x")
    return folder / "figures" / "size_of_x.png"

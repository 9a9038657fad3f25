"""Tables and sentences of the study as Markdown, and how a value is written for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint_study.findings.statements import NONE


def save_tables(tables: dict[str, pd.DataFrame], folder: Path) -> None:
    """Write each table as CSV, in full, and as Markdown, rounded."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
        rows = [
            [written(value).replace("|", "\\|") for value in row] for row in table.itertuples(index=False)
        ]
        marks = ["---:" if pd.api.types.is_numeric_dtype(kind) else "---" for kind in table.dtypes]
        lines = [" | ".join(line) for line in [[str(c) for c in table], marks, *rows]]
        (folder / f"{name}.md").write_text("".join(f"| {line} |\n" for line in lines), encoding="utf-8")


def save_texts(texts: Mapping[str, str], folder: Path) -> None:
    """Write paragraphs and lists, each as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def written(value: Any) -> str:
    """Write a value for people."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    return NONE if value is None or value == "" else " ".join(str(value).split())


def number(value: float) -> str:
    """Write a number with about three digits."""
    if np.isnan(value):
        return NONE
    if 0 < abs(value) < 0.0005:
        return f"{value:.1e}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}" if abs(value) < 1000 else f"{value:,.0f}"

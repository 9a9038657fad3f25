"""What every benchmark writes and prints: JSON with its circumstances, tables, and figures with targets."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn

import counterpoint as cp

# Below the current folder, so that nothing is written into an installed package.
FOLDER = Path("benchmarks", "results")
CACHE = FOLDER / "cache"


@dataclass(frozen=True)
class Figure:
    """One measured number and what it should be; `sign` is how the number should stand to its target."""

    name: str
    value: float
    target: float | None = None
    sign: str = "<="

    @property
    def passed(self) -> bool | None:
        """Whether the target is met; None if there is none."""
        if self.target is None:
            return None
        signs = {
            "<=": self.value <= self.target,
            "<": self.value < self.target,
            ">=": self.value >= self.target,
        }
        return bool(signs[self.sign])

    def plain(self) -> dict[str, Any]:
        """Return it as JSON takes it."""
        return {**asdict(self), "passed": self.passed}

    def cells(self) -> dict[str, str]:
        """Return it as a line of a table."""
        target = "" if self.target is None else f"{self.sign} {self.target:,g}"
        verdict = {None: "", True: "pass", False: "FAIL"}[self.passed]
        return {"figure": self.name, "value": number(self.value), "target": target, "": verdict}


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Make the parser of a benchmark's options."""
    return argparse.ArgumentParser(f"python -m {__package__}.{name}", description=description)


def number(value: Any) -> str:
    """Write a number so that a column of them can be read; a figure that was not taken is a dash."""
    if isinstance(value, str):
        return value
    if value is None or not math.isfinite(value):
        return "–" if value is None or math.isnan(value) else str(value)
    if isinstance(value, int | np.integer) or (abs(value) >= 1000 and float(value).is_integer()):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def table(lines: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    """Lay out lines of cells, texts to the left and numbers to the right."""
    lines = list(lines)
    names = list(columns or (lines[0] if lines else ()))
    cells = [[number(line.get(name)) for name in names] for line in lines]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    texts = [any(isinstance(line.get(name), str) for line in lines) for name in names]

    def lay(values: Sequence[str]) -> str:
        placed = zip(values, widths, texts, strict=True)
        return "  ".join(v.ljust(width) if text else v.rjust(width) for v, width, text in placed).rstrip()

    return "\n".join([lay(names), "  ".join("─" * width for width in widths), *map(lay, cells)])


def show(title: str, lines: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> None:
    """Print a table under a title."""
    print(f"\n{title}\n\n{table(lines, columns)}", flush=True)


def circumstances(seed: int) -> dict[str, Any]:
    """Say with what, on what and when a benchmark ran."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "machine": platform.platform(),
        "versions": {
            "counterpoint": cp.__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
            "pandas": pd.__version__,
        },
    }


def write(name: str, seed: int, body: Mapping[str, Any]) -> Path:
    """Write what a benchmark found, with its circumstances, to results/NAME.json."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / f"{name}.json"
    path.write_text(json.dumps(_plain({**circumstances(seed), **body}), indent=1, allow_nan=False) + "\n")
    print(f"\nWritten to {path}")
    return path


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers into Python's, and NaN, which JSON does not have, into null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value

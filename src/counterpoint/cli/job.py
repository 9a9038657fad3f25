"""What `counterpoint explain` is asked to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn

from counterpoint._util.atomic import check_writable, destination
from counterpoint.cli.constraints import Limits
from counterpoint.cli.errors import InputError, check_is_file, need
from counterpoint.cli.models import Request, checksum, content_of
from counterpoint.cli.outputs import check_ending
from counterpoint.explainers.run import MOST_K

# What outputs of some endings need, to be missed before the work and not after it.
NEEDED = {".parquet": ("pyarrow.parquet", "Writing parquet"), ".html": ("jinja2", "A report")}

# A part is held in memory.
MOST = {"-k": MOST_K, "--part": 1_000_000}


@dataclass(frozen=True)
class Question:
    """All that answers depend on, besides the model and the tables themselves."""

    target: str | None = None
    drop: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    want: str | None = None
    k: int = 5
    max_seconds: float | None = None
    setting: str = "balanced"
    seed: int = 0

    @property
    def max_changes(self) -> int | None:
        """The most columns that may change."""
        return self.limits.max_changes


@dataclass(frozen=True)
class Job:
    """A question about the rows of a table, and where its answers go.

    Parameters
    ----------
    model, data, rows, question
        Which model, the known instances, the rows to explain, and what is asked about them.
    is_one
        Whether `rows` must be a single one.
    out, report
        Files to write; without both, answers are printed.
    printed
        The format in which answers are printed; None for tables to read.
    groups
        Columns that the report parts costs by.
    part
        How many rows are explained and saved at a time.
    constraints
        The file that some of the question was read from.
    skip_invalid
        Leave out rows that cannot be explained.
    skipped
        A file to list all of these rows in.
    quiet
        Say nothing but errors.
    jobs
        How many processes explain rows; answers do not depend on it.
    raw
        Write texts to csv as they are, also those that a spreadsheet would run.
    """

    model: Request
    data: Path
    rows: Path
    question: Question
    is_one: bool
    out: Path | None = None
    report: Path | None = None
    printed: str | None = None
    groups: tuple[str, ...] = ()
    part: int = 1_000
    quiet: bool = False
    constraints: Path | None = None
    skip_invalid: bool = False
    skipped: Path | None = None
    jobs: int = 1
    raw: bool = False

    def check(self) -> None:
        """Refuse what can never succeed, before any work is done."""
        for path in (self.data, self.rows):
            if not path.exists():
                raise InputError(f"{path} does not exist; check the path.")
        if not self.data.is_dir():
            check_is_file(self.data)
        check_is_file(self.rows)
        self._check_outputs()
        self.keep_apart((self.data, self.rows, Path(self.model.text), self.constraints))
        numbers = {"-k": self.question.k, "--max-changes": self.question.max_changes, "--part": self.part}
        for name, number in numbers.items():
            if number is not None and number < 1:
                raise InputError(f"{name} must be at least 1, got {number}.")
            if name in MOST and number is not None and number > MOST[name]:
                raise InputError(f"{name} must be at most {MOST[name]:,}, got {number}.")
        if self.jobs == 0:
            raise InputError("--jobs must be a number of processes, or -1 for one per core, got 0.")
        seconds = self.question.max_seconds
        if seconds is not None and not seconds > 0:
            raise InputError(f"--max-seconds must be positive, got {seconds:g}.")
        if self.groups and ".html" not in {path.suffix.lower() for path in self.files}:
            raise InputError("--groups is for the report; add --report FILE.html.")
        if self.groups and self.is_one:
            raise InputError("--groups compares many rows, and --row is one; use --rows, or drop --groups.")
        if self.skip_invalid and self.is_one:
            raise InputError("--skip-invalid leaves out some of many rows, and --row is one; use --rows.")

    def _check_outputs(self) -> None:
        """Refuse outputs that cannot be written."""
        for path in self.files:
            check_ending(path)
            if path.suffix.lower() in NEEDED:
                need(*NEEDED[path.suffix.lower()])
        for name, given, ending in (("--report", self.report, ".html"), ("--skipped", self.skipped, ".csv")):
            if given is not None and given.suffix.lower() != ending:
                raise InputError(f"{name} must end in {ending}, got {given.name!r}.")
        places: dict[Path, Path] = {}
        for path in self.outputs:
            if path.is_dir():
                raise InputError(f"{path} cannot be written: it is a folder. Give another path.")
            _check_replaceable(path)
            if (other := places.setdefault(path.resolve(), path)) is not path:
                raise InputError(f"{other} and {path} are the same file; give one of them another path.")

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to write answers to, each once."""
        return tuple(dict.fromkeys(path for path in (self.out, self.report) if path is not None))

    @property
    def outputs(self) -> tuple[Path, ...]:
        """All files to write."""
        return (*self.files, self.skipped) if self.skipped else self.files

    def keep_apart(self, inputs: Iterable[Path | None]) -> None:
        """Refuse outputs that are inputs, by whatever name or link."""
        for path, given in product(self.outputs, inputs):
            if given is not None and path.exists() and given.exists() and path.samefile(given):
                raise InputError(
                    f"{path} is one of the inputs ({given}), and would be replaced; give another path."
                )

    def asked(self, model: str) -> dict[str, Any]:
        """Gather all that the answer to a row depends on, with checksums of the files, as plain data."""
        from counterpoint import __version__

        return {
            "versions": [__version__, np.__version__, pd.__version__, sklearn.__version__],
            "model": model,
            "classes": self.model.classes,
            "data": content_of(self.data),
            "question": asdict(self.question),
            "groups": self.groups,
        }

    def identity(self, model: str) -> dict[str, Any]:
        """Gather all that the answers depend on, with the rows and how they are cut into parts."""
        return {**self.asked(model), "rows": checksum(self.rows), "part": self.part}


def _check_replaceable(path: Path) -> None:
    """Refuse an output that is a pipe, a device or a read-only file, or a link that leads nowhere."""
    try:
        place = destination(path)
        check_writable(place)
    except (OSError, RuntimeError) as error:
        why = "it is read-only" if isinstance(error, PermissionError) else "its link leads in a circle"
        raise InputError(f"{path} cannot be replaced: {why}. Give another path.") from error
    if place.exists() and not place.is_file():
        raise InputError(f"{path} cannot be written: it is no file. Give another path, or --out - to print.")

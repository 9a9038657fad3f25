"""The command `counterpoint schema`: a draft of a file of constraints, from a table."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.cli.errors import InputError
from counterpoint.cli.identifiers import looks_like_identifier
from counterpoint.cli.tables import read_table
from counterpoint.data.schema import Feature, Schema

# More categories than these are not listed: nobody edits such a list.
LISTED = 30

HEAD = """\
# Constraints for {source}: {rows:,} rows, {columns} columns.
# Take away the # of what you want to hold, then: counterpoint explain --constraints THIS_FILE ...
#   immutable = true                 stays as it is
#   increase = true, decrease = true may only rise, may only fall
#   range = [low, high]              a number or date stays within (inf and -inf leave an end open)
#   range = ["a", "b"]               a category is one of these
#   kind = "category"                whole numbers that are names, not amounts
#   order = ["low", "mid", "high"]   categories from the lowest to the highest
#   onehot = ["job_a", "job_b"]      0/1 columns that encode one category
#   step = 100                       changes by whole multiples; "7 days" for dates
#   cost = 5                         hard to change (1 is as usual, inf is never)
#   cost = {{ up = 1, down = 4 }}      by direction
#   cost = {{ changes = [["clerk", "smith", 3]], otherwise = inf }}   by transition
#   max_change = 5                   changes by at most 5; "20%" for a share of its value
# Above the columns:
#   links = ["start <= end", {{ when = {{ job = "pupil" }}, then = {{ age = [0, 20] }} }}]
#   max_changes = 2                  at most two columns change
#   missing = "allow"                a value may go missing
#   onehot = false                   do not detect 0/1 columns of one category
"""


def add_schema(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "schema",
        description="Print a draft of constraints for a table, to edit and to give to explain --constraints.",
        parents=[common],
    )
    parser.add_argument("table", type=Path)
    parser.add_argument("--target", metavar="COLUMN", help="the label, which is no feature")
    parser.set_defaults(do=_schema)


def _schema(options: argparse.Namespace) -> None:
    table = read_table(options.table)
    if options.target is not None:
        if options.target not in table:
            raise InputError(f"{options.table} has no column {options.target!r}. Known: {list(table)}.")
        table = table.drop(columns=options.target)
    print(draft(table, options.table.name))


def draft(table: pd.DataFrame, source: str) -> str:
    """Draft a TOML file of constraints for a table; as it is, it constrains nothing.

    Examples
    --------
    >>> print(draft(pd.DataFrame({"age": [31, 45, 31], "job": ["clerk", "smith", "smith"]}), "people.csv"))
    # Constraints for people.csv: 3 rows, 2 columns.
    ...
    [columns.age]  # whole numbers
    kind = "number"
    # range = [31, 45]
    # immutable = true
    # increase = true
    # decrease = true
    <BLANKLINE>
    [columns.job]  # 2 categories
    kind = "category"
    # range = ["clerk", "smith"]
    # immutable = true
    """
    rows, columns = table.shape
    parts = [HEAD.format(source=source, rows=rows, columns=columns)]
    schema = Schema.infer(table)
    columns = schema.form.columns(table)
    parts += [
        "\n".join(_lines(feature, pd.Series(column), schema.onehot.get(feature.name, ())))
        for feature, column in zip(schema.features, columns, strict=True)
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts)


def _lines(feature: Feature, values: pd.Series, onehot: Sequence[Any]) -> list[str]:
    lines = [f"[columns.{_key(str(feature.name))}]  # {_about(feature, values)}"]
    if onehot:
        lines.append(f"onehot = [{', '.join(map(_value, onehot))}]")
    if not feature.moment:
        lines.append('kind = "category"' if feature.is_categorical else 'kind = "number"')
    if feature.is_categorical:
        known = [category for category in feature.categories if category is not None]
        if len(known) <= LISTED:
            lines.append(f"# range = [{', '.join(map(_value, known))}]")
    else:
        low, high = (feature.label(end) for end in feature.seen)
        lines.append(f"# range = [{_value(low)}, {_value(high)}]")
    lines.append("# immutable = true")
    one_way = [] if feature.is_categorical and not feature.ordered else ["increase", "decrease"]
    return lines + [f"# {way} = true" for way in one_way]


def _about(feature: Feature, values: pd.Series) -> str:
    """Say what a column holds, and what is odd about it."""
    if feature.is_categorical:
        about = f"{len(feature.categories):,} categories"
    else:
        about = "dates" if feature.moment else "numbers" if feature.step is None else "whole numbers"
    if values.isna().any():
        about += f", {values.isna().mean():.1%} missing"
    if values.nunique(dropna=False) == 1:
        return f"{about}; always the same"
    if looks_like_identifier(feature, values):
        return f"{about}; all differ: if it is an identifier, leave it out by --drop"
    return about


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    """Write a value as TOML does."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()  # TOML has dates
    return json.dumps(str(value), ensure_ascii=False)

"""Which columns of a table are the model's features, in the model's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from counterpoint.cli.errors import InputError
from counterpoint.cli.models import Opened


@dataclass(frozen=True)
class Columns:
    """The features in the model's order, and what is left out of tables: the label and what is dropped."""

    features: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: pd.DataFrame, opened: Opened, target: str | None, drop: Sequence[str]) -> Columns:
        """Match the columns of the known instances with what the model tells of its features.

        Examples
        --------
        >>> table = pd.DataFrame({"age": [31], "job": ["clerk"], "label": [1]})
        >>> Columns.of(table, Opened(None, ("job", "age"), 2, ""), "label", ()).features
        ('job', 'age')
        """
        left_out = tuple(name for name in (target, *drop) if name is not None)
        unknown = [name for name in left_out if name not in table]
        if unknown:
            raise InputError(f"--data has no column {unknown[0]!r} to leave out. Known: {list(table)}.")
        given = [name for name in table if name not in left_out]
        if opened.names is not None:
            return cls(_ordered(given, opened.names), left_out)
        if opened.count not in (None, len(given)):
            raise InputError(
                f"The model has {opened.count} features, and --data {len(given)}: {given}. Name the label by "
                f"--target, and other columns that are no features by --drop."
            )
        return cls(tuple(given), left_out)

    def take(self, table: pd.DataFrame, aside: Sequence[str] = ()) -> pd.DataFrame:
        """Take the features of a table; what else it holds must be known: left out, or kept aside."""
        fine = {*self.features, *self.left_out, *aside}
        unknown = [name for name in table if name not in fine]
        missing = [name for name in self.features if name not in table]
        if missing or unknown:
            parts = [f"lack the features {missing}"] if missing else []
            parts += [f"have the unknown columns {unknown}"] if unknown else []
            cure = "Give every feature" if missing else "Leave them out by --drop"
            raise InputError(f"The rows {' and '.join(parts)}. {cure}. Known: {list(self.features)}.")
        return table[list(self.features)]


def _ordered(given: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Bring columns into the model's order."""
    # LightGBM writes blanks in names as underscores.
    plain = {str(name).replace(" ", "_"): name for name in given}
    by_name = plain | {str(name): name for name in given}
    if len(names) == len(given) and set(names) <= by_name.keys():
        return tuple(by_name[name] for name in names)
    missing, fine = [name for name in names if name not in by_name], set(names)
    extra = [name for name in given if str(name) not in fine and str(name).replace(" ", "_") not in fine]
    parts = [f"the model knows {missing}, which --data lacks"] if missing else []
    parts += [f"--data has {extra}, which the model does not know"] if extra else []
    cure = f"if {extra[0]!r} is the label, add --target {extra[0]}; " if extra else ""
    raise InputError(
        f"The features differ: {'; '.join(parts)}. Cure: {cure}leave out by --drop what is no feature, and "
        f"give the table that the model was trained on."
    )

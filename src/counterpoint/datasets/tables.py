"""The four tables: what is kept from each raw file, and how it is read.

Categories are strings, so a column is categorical exactly when it is not a number. The immutable features are
those that the paper lists as actionable: its own counts show that it lists the ones that are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from sklearn.model_selection import train_test_split

from counterpoint.datasets.fetch import RawFile, fetch
from counterpoint.datasets.sources import Address, Wheel

if TYPE_CHECKING:
    from counterpoint.data.schema import Schema

TEST_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with labels, its constraints, and its split.

    Parameters
    ----------
    name
        The data set's name.
    X, y
        All rows, as a pandas frame of features and a series of labels.
    immutable, categorical
        Names of the features that may not change, and of the categorical features.
    X_train, X_test, y_train, y_test
        The same rows, split. They keep their index in `X`.

    Examples
    --------
    >>> from counterpoint.datasets import load
    >>> german = load("german")
    >>> german
    Dataset(name='german', 1000 rows, 7 continuous + 13 categorical features)
    >>> german.immutable[:3]
    ('age', 'people_under_maintenance', 'credit_history')
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    immutable: tuple[str, ...]
    categorical: tuple[str, ...]
    X_train: pd.DataFrame
    X_test: pd.DataFrame
    y_train: pd.Series
    y_test: pd.Series

    @property
    def schema(self) -> Schema:
        """The kind, range and categories of each feature, and whether it may change."""
        from counterpoint.data.schema import Schema

        return Schema.infer(self.X, categorical=self.categorical, immutable=self.immutable)

    def __repr__(self) -> str:
        rows, features = self.X.shape
        categorical = len(self.categorical)
        return (
            f"Dataset(name={self.name!r}, {rows} rows, "
            f"{features - categorical} continuous + {categorical} categorical features)"
        )


@dataclass(frozen=True)
class Table:
    """How to make a data set from a raw file; `read` returns all kept columns, including the target."""

    file: RawFile
    target: str
    immutable: tuple[str, ...]
    read: Callable[[Path], pd.DataFrame]

    def load(self, name: str, seed: int) -> Dataset:
        """Get the raw file, read it and split its rows."""
        frame = self.read(fetch(self.file))
        X, y = frame.drop(columns=self.target), frame[self.target]
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=seed
        )
        categorical = tuple(X.select_dtypes(exclude="number").columns)
        return Dataset(name, X, y, self.immutable, categorical, X_train, X_test, y_train, y_test)


def _read_adult(path: Path) -> pd.DataFrame:
    """Read adult; `?` stays a category, because people who did not answer a question can be explained too."""
    frame = pd.read_csv(path, skipinitialspace=True)
    frame = frame.drop(columns=["fnlwgt", "education-num"])
    return frame.rename(columns=lambda name: name.replace("-", "_"))


def _read_compas(path: Path) -> pd.DataFrame:
    """Read compas; the names and birth dates in the file are never read."""
    jail = ["c_jail_in", "c_jail_out"]
    kept = ["age", "sex", "race", "priors_count", "days_b_screening_arrest", "c_charge_degree"]
    kept += ["is_recid", "is_violent_recid", "two_year_recid"]
    frame = pd.read_csv(path, usecols=[*kept, *jail, "score_text"], parse_dates=jail)

    # 307 people have no jail booking on record: no days between screening and arrest, no times in jail.
    # Their stay is 0 days. Their days to arrest become 1, by far the most common value (and the median): 0 or
    # a code such as -1 would claim something rarer, and a code would extend the range of values to search.
    days = frame["days_b_screening_arrest"].abs().fillna(1).astype(int)
    # Dates only: the times lack a.m. and p.m., so 206 people would seem to leave before they arrive.
    came, left = (frame[time].dt.normalize() for time in jail)
    stay = (left - came).dt.days.fillna(0).astype(int)
    return frame[kept].assign(
        days_b_screening_arrest=days, length_of_stay=stay, score_text=frame["score_text"]
    )


def _read_fico(path: Path) -> pd.DataFrame:
    """Read fico; its codes for "no record", -7, -8 and -9, stay numbers, as in the paper."""
    return pd.read_csv(path)


def _read_german(path: Path) -> pd.DataFrame:
    """Read german, with its categories in plain words."""
    frame = pd.read_csv(path)
    for name, words in GERMAN_WORDS.items():
        frame[name] = [words.get(value, value) for value in frame[name].str.strip()]
    return frame


# The file's words, shortened. Those of `purpose` are corrected: the authors of the file sorted the original
# codes as text (A40, A41, A410, A42, ...) but not their meanings, so the file calls A43, radio or television,
# "domestic appliances", and so on. The original meanings are restored here.
GERMAN_WORDS: dict[str, dict[str, str]] = {
    "account_check_status": {
        "< 0 DM": "below 0 DM",
        "0 <= ... < 200 DM": "0 to 200 DM",
        ">= 200 DM / salary assignments for at least 1 year": "200 DM or more, or salary paid in",
    },
    "credit_history": {
        "no credits taken/ all credits paid back duly": "no credits, or all paid back",
        "all credits at this bank paid back duly": "all credits at this bank paid back",
        "existing credits paid back duly till now": "existing credits paid back so far",
        "delay in paying off in the past": "late in the past",
        "critical account/ other credits existing (not at this bank)": "critical, or credits elsewhere",
    },
    "purpose": {
        "furniture/equipment": "other",
        "radio/television": "furniture or equipment",
        "domestic appliances": "radio or television",
        "repairs": "domestic appliances",
        "education": "repairs",
        "(vacation - does not exist?)": "education",
        "car (new)": "new car",
        "car (used)": "used car",
    },
    "savings": {
        "... < 100 DM": "below 100 DM",
        "100 <= ... < 500 DM": "100 to 500 DM",
        "500 <= ... < 1000 DM": "500 to 1000 DM",
        ".. >= 1000 DM": "1000 DM or more",
        "unknown/ no savings account": "unknown or none",
    },
    "present_emp_since": {
        "... < 1 year": "below 1 year",
        "1 <= ... < 4 years": "1 to 4 years",
        "4 <= ... < 7 years": "4 to 7 years",
        ".. >= 7 years": "7 years or more",
    },
    "personal_status_sex": {
        "male : divorced/separated": "male, divorced or separated",
        "female : divorced/separated/married": "female, divorced, separated or married",
        "male : single": "male, single",
        "male : married/widowed": "male, married or widowed",
    },
    "property": {
        "if not A121 : building society savings agreement/ life insurance": "savings plan or life insurance",
        "if not A121/A122 : car or other, not in attribute 6": "car or other",
        "unknown / no property": "unknown or none",
    },
    "job": {
        "unemployed/ unskilled - non-resident": "unemployed, or unskilled non-resident",
        "unskilled - resident": "unskilled resident",
        "skilled employee / official": "skilled employee or official",
        "management/ self-employed/ highly qualified employee/ officer": "manager, self-employed or expert",
    },
    "telephone": {"yes, registered under the customers name": "yes", "none": "no"},
}


def _wheel(member: str, sha256: str) -> Wheel:
    """Describe a file of the package that contains all four."""
    return Wheel("teacher-xai", "1.0.1", f"teacher/datasets/data/{member}", sha256)


def _raw(name: str, sha256: str, *others: Address) -> RawFile:
    """Describe a raw file by its checksum in the package, and its other sources."""
    return RawFile(name, (_wheel(name, sha256), *others))


RECIPES: dict[str, Table] = {
    "adult": Table(
        _raw("adult.csv", "436df017aa662416b7d6e399a8a08710563c53eba65ca3a441b50ee6db79267a"),
        target="class",
        immutable=("age", "education", "marital_status", "relationship", "race", "sex", "native_country"),
        read=_read_adult,
    ),
    "compas": Table(
        _raw(
            "compas-scores-two-years.csv",
            "d180e410066da845eceb452417fbf8b119633f05526bcb29ef2c5b546d8946c5",
            # The same file with Windows line endings.
            Address(
                "https://raw.githubusercontent.com/propublica/compas-analysis/"
                "bafff5da3f2e45eca6c2d5055faad269defd135a/compas-scores-two-years.csv",
                "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
            ),
        ),
        target="score_text",
        immutable=("age", "sex", "race"),
        read=_read_compas,
    ),
    "fico": Table(
        _raw("heloc_dataset_v1.csv", "3ac25654f80c5ce724e2a9528e3cf3bd3f9369e44b4a5f7723eff46c330c2dfb"),
        target="RiskPerformance",
        immutable=("ExternalRiskEstimate",),
        read=_read_fico,
    ),
    "german": Table(
        _raw("german_credit.csv", "ef95f3cacbeb0ee784a60ac81e2f61cb45da516b660706eab9b574c1b95d7d86"),
        target="default",
        immutable=(
            "age",
            "people_under_maintenance",
            "credit_history",
            "purpose",
            "personal_status_sex",
            "housing",
            "foreign_worker",
        ),
        read=_read_german,
    ),
}

"""The command `counterpoint datasets`: the data sets there are, and which of them are on this machine."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoint.datasets import images, series, tables
from counterpoint.datasets.fetch import FOLDER_VARIABLE, RawFile, cache_folder

# What is in a data set is known before it is fetched.
SIZES = {
    "adult": "32,561 rows of 12 features",
    "compas": "7,214 rows of 10 features",
    "fico": "10,459 rows of 23 features",
    "german": "1,000 rows of 20 features",
    "mnist": "70,000 images of 28 x 28",
    "fashion": "70,000 images of 28 x 28",
    "gunpoint": "200 series of 150",
    "power": "1,096 series of 24",
    "ecg200": "200 series of 96",
}


@dataclass(frozen=True)
class Listed:
    """What is shown of a data set."""

    name: str
    what: str
    source: str
    is_here: bool


def add_datasets(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "datasets",
        description="List the data sets of the paper: what they hold, where they come from, and whether they "
        "are on this machine. In Python, counterpoint.datasets.load(NAME) loads one.",
        parents=[common],
    )
    parser.set_defaults(do=_print)


def listed() -> Iterator[Listed]:
    """Describe each data set.

    Examples
    --------
    >>> [each.name for each in listed()]
    ['adult', 'compas', 'fico', 'german', 'mnist', 'fashion', 'gunpoint', 'power', 'ecg200']
    """
    for name, files in _files().items():
        yield Listed(name, SIZES[name], str(files[0].sources[0]), all(map(_is_here, files)))


def _files() -> dict[str, tuple[RawFile, ...]]:
    recipes = images.RECIPES | series.RECIPES
    arrays = {name: (*recipe.train, *recipe.test) for name, recipe in recipes.items()}
    return {name: (recipe.file,) for name, recipe in tables.RECIPES.items()} | arrays


def _is_here(file: RawFile) -> bool:
    folders = [cache_folder(), *map(Path, filter(None, [os.environ.get(FOLDER_VARIABLE)]))]
    return any((folder / file.name).is_file() for folder in folders)


def _print(options: argparse.Namespace) -> None:
    for each in listed():
        here = "on this machine" if each.is_here else "to be fetched"
        print(f"{each.name:<9}{each.what:<29}{here:<17}{each.source}")

"""The page on the paper's method quotes lines of code that exist, and the parameters as they are."""

import dataclasses
import re
from pathlib import Path

import counterpoint as cp
from counterpoint.explainers import paper

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/paper.md").read_text(encoding="utf-8")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_each_line_of_algorithm_1_stands_beside_a_line_of_code() -> None:
    folder = Path(paper.__file__).parent
    code = "\n".join((folder / name).read_text(encoding="utf-8") for name in ("ensemble.py", "base.py"))
    lines = {line.strip() for line in code.splitlines()}
    quoted = [cells(line) for line in PAGE.splitlines() if re.match(r"\| \d \|", line)]
    assert [row[0] for row in quoted] == ["1", "2", "3", "4", "5", "6"]
    parts = [part for row in quoted for part in re.findall(r"`([^`]+)`", row[2])]
    assert len(parts) == 7
    assert [part for part in parts if part not in lines] == []


def test_the_parameters_are_listed_with_their_defaults() -> None:
    listed = {row[0].strip("`"): row[1].strip("`") for row in map(cells, PAGE.splitlines()) if len(row) == 3}
    fields = {field.name: field for field in dataclasses.fields(type(cp.Ensemble.paper()))}
    assert fields.keys() <= listed.keys()
    for name, field in fields.items():
        if field.default is not dataclasses.MISSING:
            assert listed[name] == str(field.default), name

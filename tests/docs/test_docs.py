"""The documentation: its examples run and print what it shows, its tables and pictures are the code's own."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import counterpoint as cp
from counterpoint.cli import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FENCE = re.compile(r"```(python|sh)([^\n]*)\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.DOTALL)
# Calls of other libraries, which are not installed here.
THEIRS = ('title="DiCE"', 'title="alibi"')
EXPLAINERS: dict[str, Any] = {
    "brute-force": cp.BruteForce,
    "tree": cp.Tree,
    "sphere": cp.Sphere,
    "neighbours": cp.Neighbours,
    "case-based": cp.CaseBased,
    "guided": cp.Guided,
    "evolution": cp.Evolution,
    "ensemble": cp.Ensemble,
    "exact": cp.Exact,
}
# Exact looks into the model, and that of the pictures is a function.
DRAWN = [page for page in EXPLAINERS if page != "exact"]


@dataclasses.dataclass(frozen=True)
class Example:
    """Python or commands of a page, the line they start at, and what the page says that they print."""

    language: str
    code: str
    line: int
    shown: str


def examples(page: Path) -> Iterator[Example]:
    """Find the examples of a page, but for those in other libraries' names."""
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        language, title, code, shown = found.groups()
        # Scripts have tests of their own: test_night.py, test_serve_page.py, and tests/remote.
        if title.strip() not in THEIRS and not re.search("night_|serve_|remote_", title):
            yield Example(language, code, text.count("\n", 0, found.start(3)), shown or "")


def run(page: Path) -> None:
    """Run the examples of a page one after the other, and check what they print."""
    names: dict[str, Any] = {"__name__": page.stem}
    for example in examples(page):
        with redirect_stdout(StringIO()) as printed:
            if example.language == "sh":
                command(example.code)
            else:
                # Empty lines before it make an error name the page's own line.
                code = compile("\n" * example.line + example.code, page, "exec", dont_inherit=True)
                exec(code, names)
        assert lines(printed.getvalue()) == lines(example.shown), f"{page.name}, line {example.line + 1}"


def command(text: str) -> None:
    """Run a command of ours, in this process; its output may go to a file."""
    line, _, output = os.path.expandvars(text).replace("\\\n", " ").partition(">")
    program, *arguments = shlex.split(line)
    assert program == "counterpoint"
    with redirect_stdout(StringIO()) as printed:
        assert main(arguments) == 0
    if output:
        Path(output.strip()).write_text(printed.getvalue(), encoding="utf-8")
    else:
        print(printed.getvalue(), end="")


def lines(text: str) -> list[str]:
    """Split what is printed. Training rounds by processor, which can move a count of rows by one."""
    return [
        re.sub(r"calls, [\d,]+ rows", "calls, … rows", line.rstrip()) for line in text.rstrip().splitlines()
    ]


def rows_of_tables(page: Path) -> Iterator[list[str]]:
    """Read the rows of all tables of a page, cell by cell."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| "):
            yield [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


PAGES = sorted(page for page in DOCS.rglob("*.md") if any(examples(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_examples_run_and_print_what_is_shown(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(page)


def test_every_explainer_has_its_page() -> None:
    public = {getattr(cp, name) for name in cp.__all__}
    explainers = {kind for kind in public if isinstance(kind, type) and issubclass(kind, cp.Explainer)}
    assert set(EXPLAINERS.values()) == explainers - {cp.Explainer}


@pytest.mark.parametrize("page", EXPLAINERS)
def test_an_explainer_page_lists_the_parameters_and_their_defaults(page: str) -> None:
    listed = {name: default for name, default, *_ in rows_of_tables(DOCS / f"explainers/{page}.md")}
    fields = {field.name: field for field in dataclasses.fields(EXPLAINERS[page])}
    # The seed and the codec, which all have, are on the page of the ensemble.
    assert fields.keys() - {"seed", "codec"} <= listed.keys()
    for name, field in fields.items():
        if name in listed and isinstance(field.default, int | float):
            assert float(listed[name]) == field.default, name


def test_the_page_on_remote_models_lists_the_parameters_and_their_defaults() -> None:
    listed = {row[0]: row[1] for row in rows_of_tables(DOCS / "remote.md") if len(row) == 3}
    fields = {field.name: field for field in dataclasses.fields(cp.RemoteModel)}
    assert fields.keys() - {"address", "protocol"} <= listed.keys()
    for name, field in fields.items():
        if name in listed and isinstance(field.default, int | float):
            assert float(listed[name]) == field.default, name


def test_the_named_settings_have_the_weights_that_are_shown() -> None:
    order = ("distance", "implausibility", "changes", "redundancy", "dispersion")
    shown = {row[0]: row[1:6] for row in rows_of_tables(DOCS / "choosing.md") if row[0].startswith("cp.")}
    for name in ("BALANCED", "CLOSE", "DIVERSE", "PLAUSIBLE", "SPARSE", "VARIED"):
        weights = [getattr(getattr(cp, name), weight) for weight in order]
        assert [float(weight) for weight in shown[f"cp.{name}"]] == weights, name


def test_the_reference_names_all_that_is_public() -> None:
    text = (DOCS / "reference.md").read_text(encoding="utf-8")
    missing = [name for name in cp.__all__ if not re.search(rf"(counterpoint\.|`){name}\b", text)]
    assert not missing


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", DOCS / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def test_all_explainer_pages_and_pictures_share_one_example(pictures: ModuleType) -> None:
    index = next(examples(DOCS / "explainers/index.md")).code
    for page in EXPLAINERS:
        assert next(examples(DOCS / f"explainers/{page}.md")).code == index, page
    names: dict[str, Any] = {}
    exec(index, names)
    known = pictures.applicants()
    assert known.equals(names["X"])
    assert np.array_equal(pictures.bank(known), names["model"](known))
    assert names["x"] == pictures.APPLICANT


@pytest.mark.parametrize("page", DRAWN)
def test_a_picture_shows_what_its_explainer_did(page: str, pictures: ModuleType) -> None:
    assert isinstance(pictures.EXPLAINERS[page], EXPLAINERS[page])
    scene = pictures.Scene.of(pictures.EXPLAINERS[page])
    assert 0 < len(scene.answers) <= pictures.K
    assert pictures.decided(scene.answers).all()
    assert not pictures.decided(scene.x).any()
    asked = {tuple(row) for row in scene.asked.tolist()}
    assert asked.issuperset(tuple(row) for row in scene.answers.tolist())
    title = pictures.draw(scene).axes[0].get_title(loc="left")
    assert title.startswith(f"{EXPLAINERS[page].__name__}: {len(asked):,} rows asked about")
    assert f"({page}.png)" in (DOCS / f"explainers/{page}.md").read_text(encoding="utf-8")
    assert (DOCS / f"explainers/{page}.png").stat().st_size < 150_000


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'counterpoint[docs]'")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    loads = re.compile(r"<(?:script|img|iframe)[^>]+src=\"https?:[^>]*>|<link[^>]+href=\"https?:[^>]*>")
    outside = {page.name: loads.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert not {name: found for name, found in outside.items() if found}

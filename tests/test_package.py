"""What the package holds, and what it does not: the study is a distribution of its own."""

import ast
import tomllib
from pathlib import Path

import counterpoint

PACKAGE = Path(counterpoint.__file__).parent
PROJECT = PACKAGE.parents[1] / "pyproject.toml"
# What reads like a study: peers and their pins, black boxes and their tuned settings, results and figures.
STUDY = ("study", "peer", "tuned", "pins", "benchmark", "paper_signals", "paper_tables")


def test_the_wheel_holds_only_the_package():
    wheel = tomllib.loads(PROJECT.read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel == {"packages": ["src/counterpoint"]}


def test_no_file_of_the_package_belongs_to_the_study():
    names = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.suffix != ".pyc"]
    assert not [name for name in names if any(word in name for word in STUDY)]


def test_the_package_never_imports_the_study():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [module for module in modules if module.startswith("counterpoint_study")], path


def test_no_extra_pulls_in_the_study():
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert "study" not in extras
    assert not [need for needs in extras.values() for need in needs if "study" in need or "posthocs" in need]

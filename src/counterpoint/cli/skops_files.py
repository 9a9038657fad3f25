"""Opening skops files: what they claim to hold is checked first, and what they may build is limited."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from counterpoint._util.archive import check_archive
from counterpoint._util.short_text import one_line
from counterpoint.cli.errors import InputError, need
from counterpoint.cli.trees import TREE, check_trees

# Types of these packages are offered for --trust; a file's author cannot add to them. Names of classes begin
# with a capital, and functions are never offered.
_MODELLING = {"category_encoders", "imblearn", "lightgbm", "numpy", "scipy", "sklearn", "xgboost"}

# Of Python's own modules, only what these hold is harmless to build. The others can start programs, read
# files or call any function, and no model needs them.
_HARMLESS = {"collections", "datetime", "decimal", "enum", "fractions", "numbers", "uuid"}

# Packages inside scikit-learn that import another library when they are imported.
_WRAPPERS = [f"sklearn.externals.array_api_compat.{name}" for name in ("cupy", "dask", "torch")]

# The description of a model is a tree; skops goes through it by recursion.
DEEPEST = 200


def open_skops(path: Path, trusted: Sequence[str]) -> Any:
    """Open a skops file of which every type is trusted by skops or by the user."""
    with _no_other_arrays():
        io = need("skops.io", "A skops model")
    with ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)
        _check_depth(json.loads(archive.read("schema.json")))
    _refuse_programs(path, trusted, "--trust must not name")
    found = io.get_untrusted_types(file=path)
    _refuse_programs(path, found, "It holds")
    unknown = [name for name in found if name not in (TREE, *trusted)]
    if unknown:
        raise InputError(_refusal(path, unknown))
    model = io.load(path, trusted=found)
    check_trees(model, str(path))
    return model


@contextmanager
def _no_other_arrays() -> Iterator[None]:
    """Keep skops from importing torch, dask and cupy, which takes a second or two and much memory.

    To list all estimators, it imports every package inside scikit-learn, also those that only wrap these
    libraries. One that is None here counts as not installed, to this walk only.
    """
    hidden = [name for name in _WRAPPERS if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def _check_depth(schema: Any) -> None:
    """Refuse a description that is nested deeper than any model."""
    level, depth = [schema], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} deep")
        inside = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [part for parts in inside for part in parts if isinstance(part, dict | list)]


def _refuse_programs(path: Path, names: Sequence[str], what: str) -> None:
    """Refuse types that can run programs, whether the user trusts them or not."""
    dangerous = [name for name in names if is_program(name)]
    if dangerous:
        raise InputError(
            one_line(
                f"{path} is not opened. {what} {', '.join(dangerous)}, which can run programs or read files; "
                f"no model needs that. Do not open the file by other means either."
            )
        )


def is_program(name: str) -> bool:
    """Tell whether a type is one of Python's own modules that can do more than hold data.

    Examples
    --------
    >>> is_program("os.system"), is_program("builtins.eval"), is_program("sklearn.svm._classes.SVC")
    (True, True, False)
    """
    module = name.partition(".")[0]
    return (module in sys.stdlib_module_names or module == "posix") and module not in _HARMLESS


def _refusal(path: Path, unknown: Sequence[str]) -> str:
    offered = [name for name in unknown if _is_offered(name)]
    text = f"{path} holds types that skops does not trust: {', '.join(unknown)}. "
    if offered == list(unknown):
        flags = " ".join(f"--trust {name}" for name in unknown)
        return one_line(f"{text}If you know them to be harmless, add: {flags}")
    others = ", ".join(name for name in unknown if name not in offered)
    return one_line(
        f"{text}Of these, {others} can be anything. Only if you wrote what they name, or know who did, allow "
        f"each by --trust TYPE."
    )


def _is_offered(name: str) -> bool:
    package, *_, last = name.split(".")
    return package in _MODELLING and last.lstrip("_")[:1].isupper() and last.isidentifier()

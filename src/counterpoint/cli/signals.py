"""Images and series in files of numpy: .npy, or .npz with one array or one that is called X."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.archive import check_archive, read_array
from counterpoint._util.short_text import one_line, short
from counterpoint.cli.constraints import Limits
from counterpoint.cli.errors import InputError, check_is_file
from counterpoint.cli.job import Question
from counterpoint.cli.models import open_model
from counterpoint.cli.options import question_of, request_of
from counterpoint.cli.wanted import wanted
from counterpoint.codecs import Kernel
from counterpoint.data.signals import as_signals
from counterpoint.explainers.ensemble import Ensemble
from counterpoint.explainers.fitting import window_of
from counterpoint.selection.selection import NAMED

ENDINGS = (".npy", ".npz")
# The array of a file that holds several.
NAME = "X"


def are_signals(path: Path) -> bool:
    """Tell whether a file holds images or series, and no table.

    Examples
    --------
    >>> are_signals(Path("digits.npy")), are_signals(Path("people.csv"))
    (True, False)
    """
    return path.suffix.lower() in ENDINGS


def read_signals(path: Path) -> NDArray[Any]:
    """Read images or series; nothing in the file is run.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "digits.npz"
    >>> np.savez(path, X=np.zeros((5, 8, 8)), y=np.arange(5))
    >>> read_signals(path).shape
    (5, 8, 8)
    """
    if not are_signals(path):
        raise InputError(f"{path} must end in {' or '.join(ENDINGS)}, as the other images or series do.")
    if not path.exists():
        raise InputError(f"{path} does not exist.")
    check_is_file(path)
    try:
        return as_signals(_array(path))
    except (OSError, EOFError, ValueError, TypeError, BadZipFile) as error:
        raise InputError(f"{path} cannot be read: {one_line(str(error), 300)}") from error


def _array(path: Path) -> NDArray[Any]:
    """Read the array of a file; what it claims to hold is checked before room is made for it."""
    if not is_zipfile(path):
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    with ZipFile(path) as archive:
        check_archive(archive, path.stat().st_size)
        return read_array(archive, _only(path, archive.namelist()))


def _only(path: Path, names: list[str]) -> str:
    """Choose the array of a file that may hold several."""
    name = names[0] if len(names) == 1 else f"{NAME}.npy"
    if name not in names:
        held = short([each.removesuffix(".npy") for each in names])
        raise InputError(f"{path} must hold one array, or one that is called {NAME}, got {held}.")
    return name


def signal_calls(options: argparse.Namespace) -> Any:
    """Open the model, fit on images or series, and make what their page asks."""
    from counterpoint.web.page.images import SignalCalls

    question = question_of(options, options.k)
    _check_for_signals(question)
    known = read_signals(options.data)
    cases = known if options.rows is None else read_signals(Path(options.rows))
    codec = None if known.ndim > 2 else Kernel(window_of(known.shape[1]))
    explainer = Ensemble(codec=codec, selection=NAMED[question.setting], seed=question.seed)
    explainer.fit(open_model(request_of(options)).model, known, progress=not options.quiet)
    title = options.title or Path(options.model).stem
    target = wanted(question.want, explainer.fitted_)
    return SignalCalls.of(explainer, cases, target=target, k=options.k, title=title)


def _check_for_signals(question: Question) -> None:
    """Refuse what is about columns, which images and series have none of."""
    given = {
        "--target": question.target,
        "--drop": question.drop,
        "What may change": question.limits != Limits(),
    }
    for name, value in given.items():
        if value:
            raise InputError(
                f"{name} is about columns of tables; leave it out for images and series, and draw on the "
                f"page what may not change."
            )

"""The page: facts laid out as one self-contained HTML file."""

from __future__ import annotations

import os
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterpoint._util.atomic import replacing
from counterpoint.report.groups import SMALL, contrast
from counterpoint.report.many import Many
from counterpoint.report.measures_in_words import brief
from counterpoint.report.one import One
from counterpoint.report.svg import draw_groups, draw_landscape
from counterpoint.show import plots

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# The number of counterfactuals side by side in one table, so that it fits on paper.
BESIDE = 5
# The number of features listed for many decisions, and shown per instance without a counterfactual.
LISTED, TOLD = 15, 6
# Words that may break, and the pieces they break into: parts of a name, of limited length.
_LONG = r"(\S{15,})"
_PIECE = r"[^_./=(-]{0,15}[_./=(-]|[^_./=(-]{1,16}"


def html(facts: One | Many) -> str:
    """Lay out facts as a page; equal facts give equal text.

    Needs jinja2, and matplotlib for images and series: ``pip install 'counterpoint[report]'``.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoint import Neighbours
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> explainer = Neighbours().fit(lambda rows: rows[:, 0] > 0, X)
    >>> page = html(Many.of(explainer.explain_many(X[:10], k=2, progress=False), X[:10]))
    >>> page.startswith("<!doctype html>")
    True
    """
    template, shown = _one(facts) if isinstance(facts, One) else _many(facts)
    return _pages().get_template(template).render(facts=facts, version=version("counterpoint"), **shown)


def write(facts: One | Many, path: str | os.PathLike[str]) -> Path:
    """Write facts as a page; an existing file is replaced only once the page is complete."""
    path = Path(path)
    text = html(facts)
    try:
        with replacing(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise OSError(error.errno, f"The report cannot be written: {error.strerror}", str(path)) from error
    return path


def _one(facts: One) -> tuple[str, dict[str, Any]]:
    count = facts.card.count
    return "one.html.j2", {
        "cells": bool(facts.explanation.schema.form.shape),
        "map": draw_landscape(facts.landscape),
        "picture": _picture(facts),
        "blocks": [range(start, min(start + BESIDE, count)) for start in range(0, count, BESIDE)],
    }


def _picture(facts: One) -> str:
    """Draw images and series; empty without matplotlib."""
    explanation = facts.explanation
    if not explanation.schema.form.shape or not len(explanation) or not plots.is_available():
        return ""
    return plots.html(explanation.plot(), "The instance and its counterfactuals")


def _many(facts: Many) -> tuple[str, dict[str, Any]]:
    return "many.html.j2", {
        "cells": not facts.features,
        "listed": facts.ranked[:LISTED],
        "told": facts.told(TOLD),
        "misses": any(case.miss for case in facts.cases),
        "charts": [
            (split.name, split.groups, draw_groups(split.groups), contrast(split.groups))
            for split in facts.splits
        ],
        "small": SMALL,
        "some_small": any(group.is_small for split in facts.splits for group in split.groups),
    }


def _pages() -> Environment:
    try:
        from jinja2 import DictLoader, Environment, StrictUndefined
    except ImportError as error:
        raise ImportError("A report needs jinja2: pip install 'counterpoint[report]'") from error
    folder = files(__package__).joinpath("templates")
    pages = {page.name: page.read_text("utf-8") for page in folder.iterdir() if page.is_file()}
    made = Environment(
        loader=DictLoader(pages),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"percent": _percent, "number": brief, "count": "{:,}".format, "soft": _soft}
    return made


def _percent(share: float) -> str:
    return "under 1%" if 0 < share < 0.005 else f"{share:.0%}"


def _soft(text: str) -> Markup:
    """Allow long words to break: names between their parts, and long parts anywhere."""
    from markupsafe import Markup, escape

    texts = re.split(_LONG, text)
    texts[1::2] = [Markup("<wbr>").join(re.findall(_PIECE, word)) for word in texts[1::2]]
    return Markup("").join(escape(each) for each in texts)

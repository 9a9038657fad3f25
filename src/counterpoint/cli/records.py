"""One part's answers as a tidy table."""

from __future__ import annotations

import pandas as pd

from counterpoint.cli.parts import Part


def tidy(part: Part) -> pd.DataFrame:
    """Lay out all counterfactuals of a part: the library's frame.

    A last column lists the names of the features that change.
    """
    frame, changes = part.explanations.frame, part.explanations.changes
    names: dict[tuple[int, int], list[str]] = {}
    for instance, number, feature in zip(*(changes.iloc[:, i].tolist() for i in range(3)), strict=True):
        names.setdefault((instance, number), []).append(str(feature))
    keys = zip(frame.iloc[:, 0].tolist(), frame.iloc[:, 1].tolist(), strict=True)
    title = "changes"
    while title in frame:
        title += "_"
    texts = [", ".join(names.get(key, ())) for key in keys]
    return frame.assign(**{title: pd.Series(texts, index=frame.index, dtype="str")})

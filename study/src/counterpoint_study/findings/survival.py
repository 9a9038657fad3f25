"""How many answers still hold when the black box is trained again, beside how far away they are.

Survival is reported: it is none of the paper's ten metrics, and nobody is ranked by it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from counterpoint_study.findings.ranks import CELL

COLUMNS = ["method", "survival", "median distance", "instances"]


def survival(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Give each method one line: survival as the mean over cells, and the median over cells of dis_dist.

    Both are over the instances for which survival was measured, `instances` in number: those with an answer.
    Methods without any have no line; results of before survival was measured have none at all.

    Examples
    --------
    >>> row = {"set": "toy", "black_box": "forest", "method": "Counterpoint", "k": 1}
    >>> rows = [row | {"survival": 0.5, "dis_dist": 1.0}, row | {"survival": None, "dis_dist": None}]
    >>> survival(pd.DataFrame(rows), ["Counterpoint", "NICE"]).values.tolist()
    [['Counterpoint', 0.5, 1.0, 1]]
    """
    if "survival" not in results:
        return pd.DataFrame(columns=COLUMNS)
    measured = results[results["survival"].notna()].astype({"survival": float, "dis_dist": float})
    cells = measured.groupby(CELL)[["survival", "dis_dist"]].mean().groupby("method")
    table = pd.DataFrame(
        {
            "survival": cells["survival"].mean(),
            "median distance": cells["dis_dist"].median(),
            "instances": measured.groupby("method").size(),
        }
    )
    named = [name for name in methods if name in table.index]
    return table.loc[named].rename_axis("method").reset_index()[COLUMNS]

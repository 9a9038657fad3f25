"""The same answers under a distance that no method searches with."""

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.data.known import Population
from counterpoint_study.findings.claims import claims
from counterpoint_study.findings.ranks import ANOTHER, BY_DISTANCE, under_another_distance
from counterpoint_study.scenes.quantiles import Quantiles
from made_up import cells

FRAME = pd.DataFrame({"a": [1.0, 2.0, 4.0, 1000.0], "b": [5.0, 5.0, 6.0, 7.0], "c": ["x", "y", "y", "y"]})
SCHEMA = cp.Schema.infer(FRAME)
KNOWN = Population.of(SCHEMA, SCHEMA.encode(FRAME), np.array([0, 0, 1, 1]))


def test_a_distance_is_the_mean_difference_of_ranks_and_the_share_of_categories() -> None:
    quantiles = Quantiles.of(KNOWN)
    shares = quantiles.shares(KNOWN.rows)
    assert shares[:, 0].tolist() == [0.125, 0.375, 0.625, 0.875]
    assert shares[:, 1].tolist() == [0.25, 0.25, 0.625, 0.875]
    assert quantiles.known.rows.tolist() == shares.tolist()
    away = quantiles.known.distance.between(shares[:1], shares)[0]
    assert away.tolist() == pytest.approx([0.0, 0.25 / 2 + 1, (0.5 + 0.375) / 2 + 1, (0.75 + 0.625) / 2 + 1])


def test_neither_units_nor_tails_matter() -> None:
    stretched = KNOWN.rows.copy()
    stretched[:, 0] = np.exp(stretched[:, 0] / 100)
    other = Population.of(SCHEMA, stretched, KNOWN.labels)
    np.testing.assert_array_equal(
        Quantiles.of(other).shares(stretched), Quantiles.of(KNOWN).shares(KNOWN.rows)
    )


def test_a_missing_number_is_in_the_middle() -> None:
    rows = KNOWN.rows[:1].copy()
    rows[0, 0] = np.nan
    assert Quantiles.of(KNOWN).shares(rows)[0, 0] == 0.5


def with_quantiles(table: pd.DataFrame, **values: float) -> pd.DataFrame:
    return table.assign(**{f"{name}{ANOTHER}": values.get(name, 1.0) for name in BY_DISTANCE})


def test_the_ranking_under_another_distance_is_part_of_the_claim() -> None:
    better = {"impl": 0.5, "dis_dist": 0.5, "inst": 0.5, "dipo": 2.0}
    ours = cells("Counterpoint", **better)
    others = [with_quantiles(cells(name)) for name in ("x", "y")]
    for again, wins in ((better, True), ({"impl": 9.0, "dis_dist": 9.0, "inst": 9.0, "dipo": 0.1}, False)):
        table = pd.concat([with_quantiles(ours, **again), *others], ignore_index=True)
        found = claims(table, ["Counterpoint"], ["x", "y"])
        assert [each.runs for each in found.overall] == ["overall", "quantiles"]
        assert found.overall[0].first
        assert found.overall[1].first is wins


def test_results_without_it_are_judged_without_it() -> None:
    table = pd.concat([cells(name) for name in ("Counterpoint", "x", "y")], ignore_index=True)
    assert under_another_distance(table) is None
    assert [each.runs for each in claims(table, ["Counterpoint"], ["x", "y"]).overall] == ["overall"]

"""Means, ranks and tests, against cases worked out by hand and one from the literature."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoint_study.findings import ranks as r
from made_up import NAN, PLACES, cells, failed

# Hollander and Wolfe, Nonparametric Statistical Methods, 1973: 22 players' times to round first base in three
# ways. The published results are rank sums 53, 47 and 32, a statistic of 11.14 and p = .0038.
ROUNDING = """
5.40 5.50 5.55  5.85 5.70 5.75  5.20 5.60 5.50  5.55 5.50 5.40  5.90 5.85 5.70  5.45 5.55 5.60  5.40 5.40 5.35
5.45 5.50 5.35  5.25 5.15 5.00  5.85 5.80 5.70  5.25 5.20 5.10  5.65 5.55 5.45  5.60 5.35 5.45  5.05 5.00 4.95
5.50 5.50 5.40  5.45 5.55 5.50  5.55 5.55 5.35  5.45 5.50 5.55  5.50 5.45 5.25  5.65 5.60 5.40  5.70 5.65 5.55
6.30 6.30 6.25
"""


def result(method: str, instance: int, **other: Any) -> dict[str, Any]:
    """One row of results, all metrics 1 unless said otherwise."""
    row = {"set": "s1", "black_box": "forest", "method": method, "k": 2, "instance": instance}
    return row | dict.fromkeys(r.NAMES, 1.0) | {"given": 2, "valid": 2, "error": None} | other


def one_metric(**values: float) -> pd.DataFrame:
    """Means of one cell in which only size was measured."""
    row = dict.fromkeys(r.NAMES, NAN) | {"set": "s1", "black_box": "forest", "k": 1, "instances": 1}
    return pd.DataFrame([row | {"method": name, "size": value} for name, value in values.items()])


# --- metrics and means -----------------------------------------------------------------------------------


def test_the_ten_metrics_are_in_the_papers_order_and_direction() -> None:
    assert " ".join(r.NAMES) == "size act impl dis_dist dis_count div_dist div_count dipo inst runtime"
    assert {m.name for m in r.METRICS if m.more} == {"size", "act", "div_dist", "div_count", "dipo"}


def test_means_skip_what_does_not_exist() -> None:
    table = r.means(
        pd.DataFrame([result("a", 0, impl=NAN), result("a", 1, impl=3.0), result("a", 2, impl=5.0)])
    )
    assert table["impl"].tolist() == [4.0]
    assert table["instances"].tolist() == [3]


def test_means_count_valid_rows_among_those_given() -> None:
    rows = [
        result("a", 0, given=2, valid=1),
        result("a", 1, given=2, valid=2),
        result("b", 0, given=0, valid=0),
    ]
    table = r.means(pd.DataFrame(rows)).set_index("method")
    assert table.loc["a", "valid"] == 0.75
    assert np.isnan(table.loc["b", "valid"])


def test_a_cell_that_could_not_run_has_no_instances_and_no_means() -> None:
    failure = result("b", -1, **dict.fromkeys(r.NAMES, NAN), given=0, valid=0, error="no networks")
    table = r.means(pd.DataFrame([result("a", 0), result("a", 1, error="too slow"), failure])).set_index(
        "method"
    )
    assert table["instances"].tolist() == [2, 0]
    assert table["errors"].tolist() == [1, 1]
    assert table.loc["b", r.NAMES].isna().all()


def test_means_keep_cells_apart() -> None:
    table = r.means(pd.DataFrame([result("a", 0), result("a", 0, k=5, size=0.5), result("a", 0, set="s2")]))
    assert table[["set", "k", "size"]].values.tolist() == [["s1", 2, 1.0], ["s1", 5, 0.5], ["s2", 2, 1.0]]


def test_means_name_the_columns_that_are_missing() -> None:
    with pytest.raises(ValueError, match=r"columns \['error', 'inst'\]"):
        r.means(pd.DataFrame([result("a", 0)]).drop(columns=["inst", "error"]))


# --- ranks -----------------------------------------------------------------------------------------------


def test_ranks_share_ties_and_put_the_missing_last() -> None:
    table = one_metric(a=0.5, b=NAN, c=1.0, d=0.5, e=NAN)
    assert r.ranks(table, list("abcde")).values.tolist() == [[2.5, 4.5, 1, 2.5, 4.5]]


def test_a_method_without_a_cell_ranks_last() -> None:
    assert r.ranks(one_metric(a=0.0, b=0.5), ["a", "b", "absent"]).values.tolist() == [[2, 1, 3]]


def test_values_apart_by_rounding_only_are_ties() -> None:
    assert r.ranks(one_metric(a=0.3, b=0.1 + 0.2, c=0.3 - 5e-9), list("abc")).values.tolist() == [
        [1.5, 1.5, 3]
    ]


def test_less_is_better_where_it_is() -> None:
    table = pd.concat([cells("a", PLACES[:1], (1,), size=0.5, runtime=9.0), cells("b", PLACES[:1], (1,))])
    found = r.ranks(table, ["a", "b"])
    assert found.loc[("s1", "forest", 1, "size")].tolist() == [2, 1]
    assert found.loc[("s1", "forest", 1, "runtime")].tolist() == [2, 1]
    assert found.loc[("s1", "forest", 1, "dipo")].tolist() == [1.5, 1.5]
    assert len(found) == 10


def test_only_the_methods_asked_for_are_ranked() -> None:
    assert r.ranks(one_metric(a=0.2, b=0.5, c=1.0), ["a", "b"]).values.tolist() == [[2, 1]]
    assert r.ranks(one_metric(a=NAN, b=NAN, c=1.0), ["a", "b"]).empty


def test_mean_ranks_by_metric_and_overall() -> None:
    table = pd.concat([cells("a", size=0.5), cells("b"), cells("c", size=0.5, act=0.0)])
    found = r.mean_ranks(r.ranks(table, ["a", "b", "c"]))
    assert found.index.tolist() == ["b", "a", "c"]
    assert found.columns.tolist() == [*r.NAMES, "overall"]
    assert found["size"].to_dict() == {"a": 2.5, "b": 1.0, "c": 2.5}
    # Act: a and b share 1.5, c is 3. The other eight are ties, rank 2 each.
    assert found["overall"].to_dict() == pytest.approx({"a": 2.0, "b": 1.85, "c": 2.15})


# --- critical difference ---------------------------------------------------------------------------------


def test_a_known_friedman_example() -> None:
    times = np.array(ROUNDING.split(), dtype=float).reshape(-1, 3)
    found = r.critical_difference(pd.DataFrame(times, columns=["round", "narrow", "wide"]).rank(axis=1))
    assert found.methods == ("wide", "narrow", "round")
    assert found.mean_ranks == pytest.approx((32 / 22, 47 / 22, 53 / 22))
    assert found.runs == 22
    assert found.p == pytest.approx(0.003805, abs=5e-7)
    # 2.343 * sqrt(3 * 4 / (6 * 22)) = .707, and the mean ranks are 1.45, 2.14 and 2.41.
    assert found.difference == pytest.approx(0.707, abs=1e-3)
    assert found.groups == (("wide", "narrow"), ("narrow", "round"))


def test_alike_is_to_share_a_group() -> None:
    found = r.critical_difference(
        pd.DataFrame([[1.0, 2, 3]] * 8 + [[2.0, 1, 3], [3.0, 2, 1]], columns=list("abc"))
    )
    # Mean ranks 1.3, 1.9 and 2.8 over 10 runs; the critical difference is 2.343 * sqrt(12 / 60) = 1.048.
    assert found.alike("a", "b")
    assert found.alike("c", "b")
    assert found.alike("c", "c")
    assert not found.alike("a", "c")


def test_nobody_differs_where_all_are_tied() -> None:
    found = r.critical_difference(pd.DataFrame(2.0, index=range(5), columns=list("abc")))
    assert found.p == 1
    assert found.groups == (("a", "b", "c"),)


def test_too_few_to_test() -> None:
    with pytest.raises(ValueError, match="at least 3 methods and 2 runs, got 2 and 5"):
        r.critical_difference(pd.DataFrame(1.5, index=range(5), columns=list("ab")))


# --- contests --------------------------------------------------------------------------------------------


def test_a_method_for_networks_has_a_contest_of_its_own() -> None:
    networks = [place for place in PLACES if place[1] == "network"]
    forests = [place for place in PLACES if place[1] == "forest"]
    limited = pd.concat([cells("limited", networks[:1]), failed("limited", [*forests, networks[1]])])
    table = pd.concat([cells("a"), cells("b"), limited, failed("nowhere", PLACES)], ignore_index=True)
    overall, second = r.contests(table, ["a", "limited", "b", "nowhere"])
    assert overall.methods == ("a", "b")
    assert len(overall.ranks) == 8 * 10
    assert second.methods == ("a", "limited", "b")
    assert set(second.means[["set", "black_box"]].itertuples(index=False, name=None)) == {("s1", "network")}
    assert len(second.ranks) == 2 * 10


def test_a_method_that_fails_on_one_set_only_stays_and_ranks_last_there() -> None:
    lame = pd.concat([cells("lame", PLACES[:2]), failed("lame", PLACES[2:])])
    (overall,) = r.contests(pd.concat([cells("a"), cells("b"), lame], ignore_index=True), ["a", "b", "lame"])
    assert overall.methods == ("a", "b", "lame")
    assert overall.ranks.loc[("s2", "forest", 1, "size"), "lame"] == 3


def test_of_two_that_share_no_cell_the_one_that_ran_more_is_ranked() -> None:
    more = pd.concat([cells("more", [PLACES[1], PLACES[3]]), failed("more", [PLACES[0], PLACES[2]])])
    less = pd.concat([cells("less", [PLACES[0]]), failed("less", PLACES[1:])])
    _, second = r.contests(pd.concat([cells("a"), more, less], ignore_index=True), ["a", "less", "more"])
    assert second.methods == ("a", "more")

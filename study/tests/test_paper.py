"""The paper's statements are judged by what was measured."""

import pandas as pd

from counterpoint_study.findings.claims import claims
from counterpoint_study.findings.paper_tables import statements
from counterpoint_study.findings.ranks import means
from counterpoint_study.findings.statements import Statement
from made_up import NAN, rows, study


def verdicts(results: pd.DataFrame) -> dict[str, str]:
    return {each.text: each.verdict for each in statements(results, means(results), claims(results))}


def one(results: pd.DataFrame, start: str) -> Statement:
    (found,) = [s for s in statements(results, means(results), None) if s.text.startswith(start)]
    return found


def test_a_statement_holds_in_part_or_not_at_all() -> None:
    judge = Statement.judged
    assert judge("t", "r", [("a", True), ("b", True)]).verdict == "holds"
    assert judge("t", "r", [("a", True), ("b", False)]) == Statement("t", "r", "✓ a; ✗ b", "in part")
    assert judge("t", "r", [("a", False)]).verdict == "does not hold"
    assert judge("t", "r", []) == Statement("t", "r", "–", "not measured")


def test_who_returns_most_of_what_is_wanted() -> None:
    start = "Only ECE, DiCE, CBCE and FAT"
    good, few = rows("ECE (paper)", size=1.0) + rows("FAT", size=0.8), rows("CEM", size=0.2)
    assert one(study(good, few), start).verdict == "holds"
    assert (
        one(study(good, rows("CEM", size=0.9)), start).measured
        == "✓ ECE (paper) 1.00; ✓ FAT 0.80; ✗ CEM 0.90"
    )


def test_a_single_counterfactual_is_one_at_the_largest_k() -> None:
    start = "Most other methods"
    assert (
        one(study(rows("CEM", size=0.2), rows("WACH", size=0.5)), start).measured
        == "✓ CEM 1.00 of 5; ✗ WACH 2.50 of 5"
    )
    assert one(study(rows("CEM", ks=(1,))), start).verdict == "not measured"


def test_pairs_are_compared_where_both_have_a_value() -> None:
    far = rows("ECE (paper)", dis_dist=0.2) + rows("ECE (paper)", "network", dis_dist=9.0)
    found = one(study(far, rows("FAT", dis_dist=0.3)), "FAT is closer")
    assert (found.measured, found.verdict) == ("✗ FAT 0.30, ECE (paper) 0.20", "does not hold")


def test_constantly_means_at_every_k() -> None:
    ours = rows("ECE (paper)", ks=(1,), impl=0.1) + rows("ECE (paper)", ks=(5,), impl=0.7)
    assert (
        one(study(ours, rows("FAT", impl=0.5)), "ECE's implausibility is constantly").verdict
        == "does not hold"
    )
    assert (
        one(study(rows("ECE (paper)", impl=0.1), rows("FAT")), "ECE's implausibility is constantly").verdict
        == "holds"
    )


def test_equivalent_means_near() -> None:
    results = study(rows("ECE (paper)", dis_count=0.41, div_count=0.2), rows("FAT"))
    assert one(results, "FAT and ECE are equivalent").verdict == "in part"


def test_missing_instability_is_counted() -> None:
    lacking = rows("CEM", inst=NAN)
    lacking[0]["inst"] = 0.5
    assert one(study(lacking, rows("WACH")), "CEM, CEGP and WACH often").measured == "✓ CEM 88%; ✗ WACH 0%"


def test_first_place_must_be_significant() -> None:
    better = {"size": 1.0, "act": 1.0, "dipo": 1.0, "div_dist": 1.0, "div_count": 1.0}
    others = [rows("Counterpoint"), rows("FAT"), rows("CEM")]
    clear = study(rows("ECE (paper)", **better, impl=0.1, runtime=0.1), *others)
    name = "ECE ranks best over all runs, and the difference is significant."
    assert verdicts(clear)[name] == "holds"
    assert verdicts(study(rows("ECE (paper)", size=1.0), *others))[name] == "in part"

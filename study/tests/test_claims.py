"""Claims hold where hand-made means say so, and only there."""

import pandas as pd
import pytest

from counterpoint_study.findings.claims import LEADS, Claims, claims
from made_up import NAN, PLACES, cells, failed

GOOD = {"impl": 0.5, "dis_dist": 0.5, "dis_count": 0.5, "inst": 0.5, "runtime": 0.5}
BAD = {"size": 0.9, "act": 0.5, "div_dist": 0.5, "div_count": 0.5, "dipo": 0.5}


def test_a_clear_winner_is_first_and_beats_everyone() -> None:
    table = pd.concat(
        [cells("Counterpoint", **GOOD), cells("x", **BAD), cells("y", **BAD, runtime=2.0)], ignore_index=True
    )
    found = claims(table, ["Counterpoint"], ["x", "y"])
    (standing,) = found.overall
    assert standing.first
    assert standing.not_beaten == ()
    assert [each.runs for each in found.leads] == list(LEADS)
    assert all(each.first and each.tied_first for each in found.leads)


def test_peers_that_are_better_or_too_close_are_named() -> None:
    fast = cells("fast", **GOOD | {"runtime": 0.1})
    table = pd.concat([cells("Counterpoint", **GOOD), cells("x", **BAD), fast], ignore_index=True)
    found = claims(table, ["Counterpoint"], ["x", "fast"])
    (standing,) = found.overall
    assert not standing.first
    assert standing.not_beaten == ("fast",)
    by_metric = {each.runs: each for each in found.leads}
    assert by_metric["impl"].first
    assert not by_metric["runtime"].first
    # Runtime ranks 1, 2, 3 in 8 runs; the critical difference is 2.343 * sqrt(12 / 48) = 1.17.
    assert by_metric["runtime"].tied_first


def test_behind_the_first_by_a_significant_margin() -> None:
    names = ["x", "y", "z"]
    faster = [cells(name, runtime=0.1 * i) for i, name in enumerate(names)]
    found = claims(pd.concat([cells("Counterpoint"), *faster], ignore_index=True), ["Counterpoint"], names)
    (runtime,) = [each for each in found.leads if each.runs == "runtime"]
    # Mean ranks 1 and 4; the critical difference is 2.569 * sqrt(20 / 48) = 1.66.
    assert not runtime.tied_first


def test_a_peer_that_finds_too_little_is_not_matched() -> None:
    table = pd.concat(
        [cells("Counterpoint"), cells("few", size=0.79), cells("most", size=0.8)], ignore_index=True
    )
    found = claims(table, ["Counterpoint"], ["few", "most"])
    assert [(match.peer, match.size) for match in found.matches] == [("most", pytest.approx(0.8))]


def test_one_setting_must_be_as_good_on_every_metric_at_once() -> None:
    ours = [cells("Counterpoint", dis_dist=2.0), cells("Counterpoint diverse", impl=2.0)]
    table = pd.concat([*ours, cells("peer"), cells("slow", dis_dist=2.0)], ignore_index=True)
    peer, slow = claims(table, ["Counterpoint", "Counterpoint diverse"], ["peer", "slow"]).matches
    assert (peer.holds, peer.matched, peer.cells) == (False, 0, 8)
    assert [(duel.setting, duel.as_good, duel.loses) for duel in peer.duels] == [
        ("Counterpoint", 9, ("dis_dist",)),
        ("Counterpoint diverse", 9, ("impl",)),
    ]
    assert (slow.holds, slow.matched, slow.best.setting) == (True, 8, "Counterpoint")


def test_cells_and_averages_are_judged_apart() -> None:
    # The peer is faster in two of eight cells, by so much that it is faster on average.
    peer = cells("peer", runtime=2.0)
    peer.loc[:1, "runtime"] = -20.0
    (match,) = claims(
        pd.concat([cells("Counterpoint"), peer], ignore_index=True), ["Counterpoint"], ["peer"]
    ).matches
    assert match.matched == 6
    assert match.best.loses == ("runtime",)


def test_what_a_peer_lacks_is_no_loss_for_us_and_what_we_lack_is_one() -> None:
    ours, peer = cells("Counterpoint", dipo=2.0), cells("peer", inst=NAN)
    ours.loc[0, "dipo"] = NAN
    (match,) = claims(pd.concat([ours, peer], ignore_index=True), ["Counterpoint"], ["peer"]).matches
    assert match.best.loses == ("dipo",)
    assert match.matched == 7


def test_a_peer_is_compared_on_the_instances_that_it_answers() -> None:
    """Ours answers a hard instance too, which the peer has no value for; on the easy one it is nearer."""
    easy, hard = (
        cells("Counterpoint", dis_dist=dis_dist).assign(instance=i) for i, dis_dist in enumerate((0.9, 9.0))
    )
    table = pd.concat([easy, hard, cells("peer")], ignore_index=True)
    (match,) = claims(table, ["Counterpoint"], ["peer"]).matches
    assert (match.holds, match.matched) == (True, 8)

    table = pd.concat([easy, hard, cells("peer"), cells("peer", dis_dist=2.0).assign(instance=1)])
    (match,) = claims(table, ["Counterpoint"], ["peer"]).matches
    assert match.best.loses == ("dis_dist",)


def test_values_apart_by_rounding_are_as_good() -> None:
    table = pd.concat([cells("Counterpoint", impl=0.1 + 0.2), cells("peer", impl=0.3)], ignore_index=True)
    (match,) = claims(table, ["Counterpoint"], ["peer"]).matches
    assert match.holds


def test_claims_need_results_of_ours() -> None:
    with pytest.raises(ValueError, match="about 'Counterpoint', which has no results"):
        claims(pd.concat([failed("Counterpoint", PLACES), cells("peer")], ignore_index=True))


def test_with_one_peer_there_is_no_test_but_a_match() -> None:
    found = claims(pd.concat([cells("Counterpoint"), cells("FAT")], ignore_index=True))
    assert found.overall == found.leads == ()
    assert found.matches[0].peer == "FAT"


def test_what_is_in_our_own_package_is_judged_apart_from_packages_to_pick() -> None:
    table = pd.concat(
        [cells("Counterpoint", impl=2.0), cells("FAT", impl=2.0), cells("CBCE")], ignore_index=True
    )
    found = claims(table)
    assert [(match.peer, match.holds) for match in found.packages] == [("FAT", True)]
    assert [(match.peer, match.holds) for match in found.rewritten] == [("CBCE", False)]


def test_significance_is_claimed_over_all_runs_and_the_first_place_over_the_others_too() -> None:
    """A method that explains one kind of black box only is compared in a contest of its own."""
    forests, networks = ([place for place in PLACES if kind in place] for kind in ("forest", "network"))
    everyone = [cells("Counterpoint", **GOOD), cells("x", **BAD), cells("y", **BAD, runtime=2.0)]

    def claimed(runtime: float) -> Claims:
        near = cells("near", networks, **GOOD | {"runtime": runtime})
        table = pd.concat([*everyone, near, failed("near", forests)], ignore_index=True)
        return claims(table, ["Counterpoint"], ["x", "y", "near"])

    slower, faster = claimed(0.6), claimed(0.4)
    assert [each.not_beaten for each in slower.overall] == [(), ("near",)]
    assert slower.wins
    assert not faster.wins


def test_the_table_of_a_claim_says_how_many_instances_a_slow_peer_explained() -> None:
    ours = [cells("Counterpoint").assign(instance=i) for i in range(3)]
    (match,) = claims(
        pd.concat([*ours, cells("peer")], ignore_index=True), ["Counterpoint"], ["peer"]
    ).matches
    assert (match.explained, match.asked) == (8, 24)


def test_the_papers_own_method_is_judged_among_the_others_without_ours() -> None:
    table = pd.concat(
        [
            cells("Counterpoint", **GOOD),
            cells("ECE (paper)", **GOOD),
            cells("FAT", **BAD),
            cells("NICE", **BAD),
        ],
        ignore_index=True,
    )
    found = claims(table)
    assert found.paper is not None
    assert found.paper.ours == "ECE (paper)"
    assert set(found.paper.test.methods) == {"ECE (paper)", "FAT", "NICE"}
    assert found.paper.first
    assert set(found.overall[0].test.methods) == {"Counterpoint", "ECE (paper)", "FAT", "NICE"}

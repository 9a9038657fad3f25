"""What a study found in sentences: the bold words are true, whether a claim holds or not."""

import pandas as pd

from counterpoint_study.findings.claims import Claims, Standing, claims
from counterpoint_study.findings.ranks import CriticalDifference
from counterpoint_study.page.verdicts import headline, rank_in_words
from made_up import cells


def standing(runs: str, *methods: str, groups: tuple[tuple[str, ...], ...] = ()) -> Standing:
    """Counterpoint among methods in the order of their mean ranks, 1, 2 and so on."""
    ranks = tuple(float(place + 1) for place in range(len(methods)))
    return Standing(runs, CriticalDifference(methods, ranks, 80, 0.001, 0.9, groups), "Counterpoint")


def found(*overall: Standing, wins: bool = False) -> Claims:
    return Claims("Counterpoint ranks first over all runs, significantly", wins, overall)


FIRST = standing("overall", "Counterpoint", "CBCE", "FAT")


def test_a_claim_that_holds_is_made() -> None:
    assert rank_in_words(found(FIRST, wins=True)) == "Counterpoint ranks first over all runs, significantly"


def test_who_is_better_is_said_first() -> None:
    behind = standing("overall", "CBCE", "Counterpoint", "FAT", groups=(("CBCE", "Counterpoint"),))
    text = headline(found(behind))
    assert text.startswith(
        "- **Counterpoint is not first: over all runs, CBCE has a better mean rank, though not "
        "significantly.** Over all runs (80), mean rank 2.00 among 3 methods: behind CBCE (1.00), not "
        "significantly."
    )
    assert "ranks first" not in text


def test_several_that_are_better_and_differ() -> None:
    behind = standing("overall", "CBCE", "NICE", "Counterpoint", groups=(("NICE", "Counterpoint"),))
    assert rank_in_words(found(behind)).endswith("over all runs, CBCE and NICE have better mean ranks")
    text = headline(found(behind))
    assert "behind CBCE (1.00) and NICE (2.00), of which CBCE is significantly better." in text


def test_first_by_one_distance_only() -> None:
    again = standing("quantiles", "CBCE", "Counterpoint", "FAT")
    assert rank_in_words(found(FIRST, again)) == (
        "Counterpoint has the best mean rank over all runs, but not over all runs by the second distance"
    )


def test_first_but_not_significantly() -> None:
    close = standing("overall", "Counterpoint", "CBCE", "FAT", groups=(("Counterpoint", "CBCE"),))
    assert rank_in_words(found(close)) == (
        "Counterpoint has the best mean rank over all runs, but it is not significantly better than CBCE"
    )


def test_no_setting_is_as_good() -> None:
    table = pd.concat([cells("Counterpoint", dis_dist=2.0), cells("FAT"), cells("NICE")], ignore_index=True)
    text = headline(claims(table, ["Counterpoint"], ["FAT", "NICE"]))
    assert "**No setting is at least as good on all ten metrics at once** as one of the two packages" in text
    good = pd.concat([cells("Counterpoint"), cells("FAT"), cells("NICE", size=0.9)], ignore_index=True)
    text = headline(claims(good, ["Counterpoint"], ["FAT", "NICE"]))
    assert (
        "at once** as 2 of the two packages that find at least 80 % of what is wanted: Counterpoint" in text
    )

"""What a study found in sentences, so that no figure in the documentation is typed by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pandas as pd

from counterpoint_study.findings.claims import ENOUGH, Claims, Match, Standing
from counterpoint_study.findings.ranks import METRICS, OURS, PAPER, STEPS
from counterpoint_study.findings.rivals import Rival
from counterpoint_study.findings.seeds import HELD_OUT, seeds_of
from counterpoint_study.findings.statements import FAILS, HOLDS, PARTLY, UNKNOWN

COLUMNS = ["claim", "verdict", "measured"]

RUNS = {
    "overall": "all runs",
    "limited": "the runs of methods that cannot explain every black box",
    "plotted": "the metrics that the paper plots",
    "quantiles": "all runs by the second distance",
}
"""What each standing is over, in words."""


def verdicts(found: Claims) -> pd.DataFrame:
    """List every claim, whether it holds, and what was measured."""
    rows = []
    if found.overall:
        measured = "; ".join(_standing(each) for each in found.overall)
        rows.append((found.headline, _verdict(found.wins), measured))
    rows += [(_as_good_as(match), _verdict(match.holds), _match(match)) for match in found.packages]
    rows += [
        (
            f"first, or tied with the first, on {each.runs} (a weak claim)",
            _verdict(each.tied_first),
            _lead(each),
        )
        for each in found.leads
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def headline(found: Claims) -> str:
    """Say in a short list what may be claimed, and what may not."""
    lines = []
    if found.overall:
        measured = [_sentence(_standing(each)) for each in found.overall]
        lines.append(" ".join([f"**{rank_in_words(found)}.**", *measured]))
    if found.paper:
        own = f"{found.paper.test.rank(PAPER):.2f}"
        best = found.paper.test.methods[0]
        place = "it is first" if found.paper.first else f"the first is {best}"
        lines.append(
            f"**{PAPER}**, the paper's method, has the mean rank {own} when ours is left out; {place}."
        )
    if found.packages:
        lines.append(_settings(found.packages))
    if found.leads:
        lines.append(_leads(found.leads))
    return "".join(f"- {line}\n" for line in lines)


def rank_in_words(found: Claims) -> str:
    """Say what may be said of our default's rank: what is claimed, or how far from it the truth is."""
    first, *others = found.overall
    if found.wins:
        return found.headline
    if not first.first:
        better = _better(first)
        have = "have better mean ranks" if len(better) > 1 else "has a better mean rank"
        sure = ", though not significantly" if first.tied_first else ""
        return f"{first.ours} is not first: over {RUNS[first.runs]}, {_listed(better)} {have}{sure}"
    best = f"{first.ours} has the best mean rank over {RUNS[first.runs]}"
    if lost := [each for each in others if not each.first]:
        return f"{best}, but not over {_listed([RUNS[each.runs] for each in lost])}"
    return f"{best}, but it is not significantly better than {_listed(first.not_beaten)}"


def paper_and_ours(found: Claims) -> str:
    """Say where the paper's method and ours stand over all runs; nothing if one of them was not ranked."""
    test = found.overall[0].test if found.overall else None
    if test is None or PAPER not in test.methods:
        return ""
    differ = "do not differ significantly" if test.alike(OURS, PAPER) else "differ significantly"
    return (
        f"In the study, over all runs ({test.runs}) and {len(test.methods)} methods, {PAPER} has the mean "
        f"rank {test.rank(PAPER):.2f} and {OURS} {test.rank(OURS):.2f}. They {differ}.\n"
    )


def where_it_loses(found: Sequence[Rival]) -> pd.DataFrame:
    """Lay out where our default is better and worse than each other method."""
    rows = [
        (
            each.name,
            f"{each.explained:,} of {each.asked:,}",
            each.size,
            ", ".join(each.better),
            ", ".join(f"{name} ({_percent(share)})" for name, share in each.worse_by.items()),
        )
        for each in found
    ]
    columns = ["method", "explained", "found of k", f"{OURS} is better on", f"{OURS} is worse on (by)"]
    return pd.DataFrame(rows, columns=columns)


def runs(results: pd.DataFrame, topic: str) -> str:
    """Say what was run: seeds, instances, k, methods, versions and machine."""
    seeds, ran = seeds_of(results), results[results["instance"] >= 0]
    per_seed = {seed: _instances(ran[ran["seed"] == seed]) for seed in seeds}
    counts = sorted(set(per_seed.values()))
    listed = {name: _listed(ran[name].unique()) for name in ("set", "black_box", "k")}
    methods = ran[~ran["method"].isin(STEPS)]["method"].nunique()
    text = (
        f"These figures are from {_plural(len(seeds), 'seed')} ({_listed(seeds)}), with "
        f"{' to '.join(str(count) for count in {counts[0]: 0, counts[-1]: 0})} instances of each data set "
        f"({listed['set']}), k = {listed['k']}, and {methods} methods. Black boxes: {listed['black_box']}. "
    )
    return text + _on_seeds(seeds, topic) + _machine(results) + "\n"


def statements_in_short(statements: pd.DataFrame) -> str:
    """Count what became of the paper's statements."""
    counts = Counter(statements["verdict"])
    words = {
        HOLDS: ("holds", "hold"),
        PARTLY: ("holds in part", "hold in part"),
        FAILS: ("does not hold", "do not hold"),
        UNKNOWN: ("could not be judged", "could not be judged"),
    }
    parts = [
        f"{counts[verdict]} {one if counts[verdict] == 1 else several}"
        for verdict, (one, several) in words.items()
        if counts[verdict]
    ]
    return f"Of {len(statements)} statements of the paper, {_listed(parts)}.\n"


def _on_seeds(seeds: Sequence[int], topic: str) -> str:
    """Say whether claims may be made on these seeds; only on tables were settings chosen by results."""
    if topic != "tables":
        return ""
    held_out = [seed for seed in seeds if seed in HELD_OUT]
    if not held_out:
        return "These seeds had a part in choosing settings, so nothing is claimed from them. "
    wanted = f"the seeds that no setting was chosen on ({_listed(HELD_OUT)})"
    if len(held_out) == len(HELD_OUT):
        return f"They are {wanted}; everything is judged over all of them together. "
    return f"They are {len(held_out)} of {wanted}; the others are not there yet. "


def _machine(results: pd.DataFrame) -> str:
    versions, machine = (results.attrs.get(name) or {} for name in ("versions", "machine"))
    where = f"{machine['system']}, {machine['cores']} cores" if {"system", "cores"} <= set(machine) else ""
    what = ", ".join(f"{name} {versions[name]}" for name in ("counterpoint", "python") if name in versions)
    return f"Run with {what} on {where}." if what and where else ""


def _standing(each: Standing) -> str:
    rank, better = each.test.rank, _better(each)
    if better:
        listed = _listed([f"{name} ({rank(name):.2f})" for name in better])
        place = f"behind {listed}{_by_how_much(each, better)}"
    else:
        after = next(name for name in each.test.methods if name != each.ours)
        place = f"first, the next is {after} ({rank(after):.2f})"
    close = [name for name in each.not_beaten if name not in better]
    tied = f"; not significantly better than {_listed(close)}" if close else ""
    return (
        f"over {RUNS[each.runs]} ({each.test.runs}), mean rank {rank(each.ours):.2f} among "
        f"{len(each.test.methods)} methods: {place}{tied}"
    )


def _by_how_much(each: Standing, better: Sequence[str]) -> str:
    """Say whether those with a better mean rank differ from ours."""
    apart = [name for name in better if not each.test.alike(each.ours, name)]
    if len(apart) in (0, len(better)):
        return ", significantly" if apart else ", not significantly"
    return f", of which {_listed(apart)} {'is' if len(apart) == 1 else 'are'} significantly better"


def _better(each: Standing) -> list[str]:
    """Name the methods with a better mean rank, the best first."""
    return [] if each.first else list(each.test.methods[: each.test.methods.index(each.ours)])


def _settings(packages: Sequence[Match]) -> str:
    """Say beside which packages one setting is at least as good on every metric."""
    good = [match for match in packages if match.holds]
    metrics, share = f"all {_count(len(METRICS))} metrics", f"{100 * ENOUGH:.0f} %"
    which = "package that finds" if len(packages) == 1 else "packages that find"
    wanted = f"of the {_count(len(packages))} {which} at least {share} of what is wanted"
    if not good:
        return f"**No setting is at least as good on {metrics} at once** as one {wanted}."
    listed = ", ".join(_beside(match) for match in good)
    return f"**One setting is at least as good on {metrics} at once** as {len(good)} {wanted}: {listed}."


def _as_good_as(match: Match) -> str:
    return f"one setting is at least as good as {match.peer} on all {_count(len(METRICS))} metrics"


def _match(match: Match) -> str:
    explained = f"{match.peer} explained {match.explained:,} of {match.asked:,} instances"
    return (
        f"{_beside(match)}; {explained}, and a setting matches it in {match.matched} of {match.cells} cells"
    )


def _beside(match: Match) -> str:
    best = match.best
    if not best.loses:
        return f"{best.setting} beside {match.peer}"
    worse = f"worse on {_listed(best.loses)}"
    return f"beside {match.peer}, {best.setting} is as good on {best.as_good} and {worse}"


def _lead(each: Standing) -> str:
    own = f"mean rank {each.test.rank(each.ours):.2f}"
    if each.first:
        return f"{own}, first"
    differ = "not significantly better" if each.tied_first else "significantly better"
    return f"{own}; {each.test.methods[0]} is {differ} ({each.test.mean_ranks[0]:.2f})"


def _leads(leads: Sequence[Standing]) -> str:
    groups = {
        "first on": [each.runs for each in leads if each.first],
        "tied with the first on": [each.runs for each in leads if each.tied_first and not each.first],
        "behind on": [each.runs for each in leads if not each.tied_first],
    }
    parts = [f"{title} {_listed(names)}" for title, names in groups.items() if names]
    tied = [each for each in leads if each.tied_first]
    return (
        f"**By single metrics, first or tied with the first on {len(tied)} of {len(leads)}** (a weak claim): "
        f"{'; '.join(parts)}."
    )


def _verdict(holds: bool) -> str:
    return HOLDS if holds else FAILS


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _instances(rows: pd.DataFrame) -> int:
    """Tell how many instances of a data set were explained by whoever explained most."""
    return int(rows.groupby(["method", "set", "black_box", "k"]).size().max())


def _plural(count: int, word: str) -> str:
    return f"{_count(count)} {word}{'s' if count != 1 else ''}"


def _count(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if number < len(words) else str(number)


def _listed(values: Sequence[object]) -> str:
    """List values as a sentence does.

    Examples
    --------
    >>> _listed([4, 5, 6])
    '4, 5 and 6'
    """
    *first, last = [str(value) for value in values]
    return f"{', '.join(first)} and {last}" if first else last


def _percent(share: float) -> str:
    if share == float("inf"):
        return "from 0"
    return f"{100 * share:.1f} %" if share < 1 else f"{1 + share:.1f} times as much"

"""Why there are fewer answers than asked for, in the words of the page."""

from __future__ import annotations

from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.search.why import Why
from counterpoint.show.wording import decision_texts, miss_text


def note(found: Explanation) -> str:
    """Say why there are no more answers, and what comes closest if there is none; empty if all were found.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50], "income": [1, 2, 3, 4]})
    >>> explainer = cp.Ensemble().fit(lambda X: X["age"] > 35, X)
    >>> note(explainer.explain(X.iloc[0], immutable=["age", "income"]))
    'No answer: the limits leave nothing to try.'
    """
    short = found.shortfall
    if short is None:
        return ""
    if short.already:
        own = decision_texts(found.decision, found.labels)[0]
        return f"Nothing has to change: the decision is already {own}."
    if short.found:
        return f"{short.found} of {short.asked} answers: {_reason(short)}."
    miss = found.nearest_miss
    text = f"No answer: {_reason(short)}."
    if miss is None:
        return text
    return f"{text} The closest is not enough: {miss_text(miss.schema, miss.x, miss.row, miss.standing)}."


def _reason(short: Shortfall) -> str:
    """Give the reason without the words of the library."""
    tries = "1 change was" if short.count == 1 else f"{short.count:,} changes were"
    none, others = ("no other", "others") if short.found else ("none", "answers")
    plain = {
        Why.NOT_FOUND: f"{tries} tried, and {none} leads to another decision",
        Why.NOT_WORTH_IT: f"the {others} that were found are not worth what they take",
        Why.NEEDLESS: f"the {others} that were found change more than is needed, or hardly differ",
        Why.NOT_ALLOWED: "the limits leave nothing to try",
        Why.UNSAFE: f"the {others} that were found are not safe: the decision could easily be the old one",
        Why.MAX_ROWS: f"the search ended after {short.count:,} tries",
    }
    return plain.get(short.why, short.reason)

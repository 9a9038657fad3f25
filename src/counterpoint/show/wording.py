"""What changed, as tables and in words.

In words, numbers are rounded, but never so far that two different numbers look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.constraint import Constraint, ConstraintKind
from counterpoint.data.distance import changed
from counterpoint.data.outputs import is_continuous
from counterpoint.data.schema import Feature, Schema
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.model.scores import Standing
from counterpoint.search.actions import WAYS

T = TypeVar("T")

DIGITS = 6
MOST_DIGITS = 17  # enough to tell any two floats apart
MISSING = "missing"
MORE = 3  # alternatives that are told


def changes(schema: Schema, x: Rows, rows: Rows) -> pd.DataFrame:
    """List every change of rows from one x, or from one x per row.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> changes(schema, np.array([31.0, 0.0]), np.array([[31.0, 1.0], [45.0, 1.0]]))
       counterfactual feature   from     to
    0               1     job  clerk  smith
    1               2     age     31     45
    2               2     job  clerk  smith
    """
    indices, features = np.nonzero(changed(rows, x))
    before, after = np.broadcast_to(x, rows.shape)[indices, features], rows[indices, features]
    names, table = objects(schema.names), {"from": objects([None] * len(indices))}
    table["to"] = table["from"].copy()
    for i in np.unique(features):  # one feature at a time, which is fast for many changes
        mask = features == i
        table["from"][mask] = _labels(schema.features[i], before[mask])
        table["to"][mask] = _labels(schema.features[i], after[mask])
    columns = {name: pd.Series(values, dtype=object) for name, values in table.items()}
    if schema.following.any():  # these are consequences, not actions
        columns["follows"] = pd.Series(schema.following[features])
    return pd.DataFrame({"counterfactual": indices + 1, "feature": names[features], **columns})


def shares(schema: Schema, x: Rows, rows: Rows) -> pd.Series:
    """Compute the share of rows that change each feature, largest first; 0 if there are no rows.

    A feature that follows others is not changed by itself, and has 0.
    """
    counts = (changed(rows, x) & ~schema.following).sum(axis=0)
    values = counts / max(1, len(rows))
    order = np.argsort(-values, kind="stable")
    index = pd.Index(objects(schema.names)[order], name="feature", tupleize_cols=False)
    return pd.Series(values[order], index=index, name="share")


def framed(schema: Schema, rows: Rows, before: dict[str, Any], after: dict[str, Any]) -> Any:
    """Decode rows into a frame with further columns before and after; features keep their names.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45]}))
    >>> framed(schema, np.array([[45.0]]), {"instance": [0]}, {"age": [1.5]})
       instance  age  age_
    0         0   45   1.5
    """
    table = schema.decode(rows)
    names = schema.form.caller.names
    before = {_free(name, names): column for name, column in before.items()}
    after = {_free(name, names): column for name, column in after.items()}
    if schema.form.kind == "polars":
        import polars as pl

        return pl.DataFrame(before).hstack(table).hstack(pl.DataFrame(after))
    if schema.form.kind == "array":
        table = pd.DataFrame(table.reshape(len(table), len(names)), columns=list(names))
    return pd.concat([pd.DataFrame(before), table, pd.DataFrame(after)], axis=1)


def _free(name: str, names: Sequence[Any]) -> str:
    """Find a name that no column has."""
    while name in names:
        name += "_"
    return name


def objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Make an array of values of any type, one per entry; np.array would spread tuples over columns."""
    return np.fromiter(values, dtype=object, count=len(values))


def _labels(feature: Feature, values: Row) -> NDArray[np.object_]:
    """Apply `Feature.label` to many values."""
    distinct, indices = np.unique(values, return_inverse=True)
    return objects([feature.label(value) for value in distinct])[indices]


# `PLAUSIBLE` keeps changes that make answers more plausible. Of images and series, changes are too many to be
# undone one by one.
UNCHECKED = "Some of these changes may not be needed"


def way_text(way: float) -> str:
    """Say which way a feature goes; see `search.actions.directions`.

    Examples
    --------
    >>> way_text(1.0), way_text(2.0)
    ('up', 'other')
    """
    return next(text for text, number in WAYS.items() if number == way)


def bound_text(gap: float, by_cost: bool = False) -> str:
    """Say what is proven about the nearest counterfactual: by what share a nearer one could undercut it.

    Examples
    --------
    >>> bound_text(0.0)
    'It is proven that none is nearer than the first'
    >>> bound_text(0.06)
    'The first is at most 6 % farther than the best possible'
    """
    nearer, farther = ("cheaper", "dearer") if by_cost else ("nearer", "farther")
    if gap == 0:
        return f"It is proven that none is {nearer} than the first"
    if not np.isfinite(gap):
        return f"It is not known whether one is {nearer} than the first"
    share = f"{gap:.0%}" if gap >= 0.095 else f"{gap:.2g}" if gap < 0.0001 else f"{gap:.1%}"
    share = share.replace(".0%", "%").replace("%", " %")
    return f"The first is at most {share} {farther} than the best possible"


def range_text(feature: Feature, low: float, high: float, codes: Sequence[float] = ()) -> str:
    """Say which values of a feature hold: an interval with the ends that it has, or categories.

    Examples
    --------
    >>> range_text(Feature("amount", step=1), 500.0, 8075.0)
    'amount at least 500 and at most 8075'
    >>> range_text(Feature("hours", step=1), 45.0, np.inf)
    'hours at least 45'
    """
    if feature.is_categorical:
        return f"{feature.name} {' or '.join(value_texts(feature, np.array(codes), quote=True))}"
    ends = [value for value in (low, high) if np.isfinite(value)]
    texts = dict(zip(ends, value_texts(feature, np.array(ends)), strict=True)) if ends else {}
    if low == high:
        return f"{feature.name} exactly {texts[low]}"
    parts = [f"at least {texts[low]}"] if np.isfinite(low) else []
    parts += [f"at most {texts[high]}"] if np.isfinite(high) else []
    return f"{feature.name} {' and '.join(parts) if parts else 'at any value'}"


def alternatives(parts: Sequence[str]) -> str:
    """Join what may be chosen from.

    Examples
    --------
    >>> alternatives(["a", "b", "c"])
    'a, b or c'
    """
    *most, last = parts
    return f"{', '.join(most)} or {last}" if most else last


def variants_text(different: int) -> str:
    """Say that some answers repeat an action.

    Examples
    --------
    >>> variants_text(1)
    'Only 1 different action was found; the others are variants of it'
    """
    found, of = ("action was", "it") if different == 1 else ("actions were", "these")
    return f"Only {different} different {found} found; the others are variants of {of}"


def number_text(value: float, digits: int = DIGITS, grouped: bool = False) -> str:
    """Write a number for people; digits before the decimal point are all kept.

    Examples
    --------
    >>> number_text(0.1 + 0.2), number_text(36.0), number_text(1234567.8, grouped=True), number_text(2e-9)
    ('0.3', '36', '1,234,568', '2e-09')
    """
    if np.isnan(value):
        return MISSING
    if value and not 1e-4 <= abs(value) < 1e16:
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - int(np.floor(np.log10(abs(value) or 1))))
    text = f"{value + 0.0:{',' if grouped else ''}.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def number_texts(values: Sequence[float]) -> list[str]:
    """Write numbers with the same number of digits, enough to tell the others from the first.

    Thousands are separated from five digits on: 2015 may be a year, 12,000 is an amount.

    Examples
    --------
    >>> number_texts([4500, 12000]), number_texts([0.1, 0.1000000001])
    (['4,500', '12,000'], ['0.1', '0.1000000001'])
    """
    grouped = any(abs(value) >= 10_000 for value in values)
    return _apart(list(values), lambda value, digits: number_text(value, digits, grouped))


def value_texts(feature: Feature, values: Row, quote: bool = False) -> list[str]:
    """Write values of a feature, the first being x's; with `quote`, strings are quoted.

    Examples
    --------
    >>> job = Feature("job", kind="categorical", categories=("clerk", "smith", None))
    >>> value_texts(job, np.array([0.0, 2.0])), value_texts(job, np.array([0.0, 1.0]), quote=True)
    (['clerk', 'missing'], ["'clerk'", "'smith'"])
    """
    if feature.calendar is not None:
        return feature.calendar.texts(values, MISSING)
    if not feature.is_categorical:
        return number_texts(values.tolist())
    labels = [feature.label(value) for value in values]
    texts = [_name(label, quote) for label in labels]
    alike = any(a == texts[0] and label != labels[0] for a, label in zip(texts, labels, strict=True))
    # The number 1 and the string "1" look the same unless quoted.
    return [_name(label, True) for label in labels] if alike else texts


def decision_texts(decision: Any, labels: Labels, quote: bool = False) -> list[str]:
    """Write the decisions of x and of its counterfactuals.

    Examples
    --------
    >>> decision_texts("bad", np.array(["good"])), decision_texts(0.25, np.array([0.750000001]))
    (['bad', 'good'], ['0.25', '0.75'])
    >>> decision_texts(np.array([0.25, 0.75]), np.array([[1.0, 0.0]]))
    ['[0.25, 0.75]', '[1, 0]']
    """
    values = [np.asarray(decision), *np.asarray(labels)]
    if values[0].ndim:
        return _apart([v.tolist() for v in values], _vector_text)
    if values[0].dtype.kind == "f":
        return number_texts([float(value) for value in values])
    return [_name(value.item(), quote) for value in values]


def decision_word(decision: Any, labels: Labels) -> str:
    """Choose the word for the model's output: "output" if it is a number, otherwise "decision".

    Examples
    --------
    >>> decision_word("bad", np.array(["good"])), decision_word(0.25, np.array([0.75]))
    ('decision', 'output')
    """
    outputs = [np.asarray(decision)[None], np.asarray(labels)]
    return "output" if any(is_continuous(output) for output in outputs) else "decision"


def sentences(
    schema: Schema, row: Row, rows: Rows, decision: Any, labels: Labels, word: str | None = None
) -> list[str]:
    """Describe each counterfactual in one sentence; `word` says what the model's output is.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> rows = np.array([[45.0, 1.0]])
    >>> sentences(schema, np.array([31.0, 0.0]), rows, "bad", np.array(["good"]))[0]
    "If age were 45 instead of 31 and job were 'smith' instead of 'clerk', the decision would be 'good'
    instead of 'bad'."
    """
    word = word or decision_word(decision, labels)
    masks = changed(rows, row)
    return [
        f"If {_changes_text(schema, row, rows[i], masks[i])}, "
        f"{_outcome_text(word, *decision_texts(decision, labels[i : i + 1], quote=True))}."
        for i in range(len(rows))
    ]


def cell_sentences(row: Row, rows: Rows, decision: Any, labels: Labels, word: str | None = None) -> list[str]:
    """Describe each counterfactual of an image or a series in one sentence.

    Examples
    --------
    >>> cell_sentences(np.zeros(4), np.array([[0.0, 0, 1, 0]]), 7, np.array([9]))
    ['If 1 of 4 cells were different, the decision would be 9 instead of 7.']
    """
    word = word or decision_word(decision, labels)
    return [
        f"If {count} of {len(row)} cells were different, "
        f"{_outcome_text(word, *decision_texts(decision, labels[i : i + 1], quote=True))}."
        for i, count in enumerate(changed(rows, row).sum(axis=1).tolist())
    ]


def miss_sentence(schema: Schema, x: Row, row: Row, standing: Standing) -> str:
    """Describe a nearest miss: what it changes, the score that it gets, and the score that is needed."""
    return f"The nearest miss is not a counterfactual: {miss_text(schema, x, row, standing)}."


def miss_text(schema: Schema, x: Row, row: Row, standing: Standing) -> str:
    """Describe a nearest miss without saying what it is."""
    mask = changed(row[None], x)[0]
    if schema.form.shape:
        changes = f"{int(mask.sum())} of {len(row)} cells were different"
    else:
        changes = _changes_text(schema, x, row, mask)
    what, score, limit = _standing_parts(standing)
    return f"if {changes}, the {what} would be {score}, and {limit}"


def standing_text(standing: Standing) -> str:
    """Describe a score in a few words.

    Examples
    --------
    >>> from counterpoint.model.scores import ScoreKind
    >>> standing_text(Standing(ScoreKind.PROBABILITY, 0.46, 0.5, ("granted",), is_strict=True))
    "probability of 'granted': 0.46; more than 0.5 is needed"
    """
    what, score, limit = _standing_parts(standing)
    return f"{what}: {score}; {limit}"


def _standing_parts(standing: Standing) -> tuple[str, str, str]:
    """Say what a score is, its value, and what is needed."""
    what = str(standing.kind)
    what += f" of {' or '.join(map(repr, standing.wanted))}" if standing.wanted else ""
    if standing.needed is None:
        return what, number_text(standing.score, digits=3), "the decision is the same"
    score, needed = (number_text(value, digits=3) for value in (standing.score, standing.needed))
    if score == needed:
        score, needed = number_texts([standing.score, standing.needed])
    if standing.rival is not None:
        return what, score, f"{standing.rival!r} has {needed}"
    way = "more than" if standing.is_strict else "at least"
    return what, score, f"{way if standing.score <= standing.needed else 'at most'} {needed} is needed"


def constraint_text(constraint: Constraint) -> str:
    """Describe a constraint.

    Examples
    --------
    >>> constraint_text(Constraint(ConstraintKind.RANGE, "amount", (500, np.inf)))
    'amount must be at least 500'
    >>> constraint_text(Constraint(ConstraintKind.MAX_CHANGES, None, 2))
    'at most 2 features may change'
    """
    kind, name, value = constraint.kind, constraint.feature, constraint.value
    name = name if isinstance(name, str) else f"feature {name}"
    if kind is ConstraintKind.RANGE:
        return f"{name} must be {_range_text(value)}"
    if kind is ConstraintKind.MAX_CHANGE:
        amount = value if isinstance(value, str) else number_text(float(value))
        return f"{name} may change by at most {amount}"
    return {
        ConstraintKind.IMMUTABLE: f"{name} may not change",
        ConstraintKind.INCREASE: f"{name} may only rise",
        ConstraintKind.DECREASE: f"{name} may only fall",
        ConstraintKind.COST: f"some changes of {name} have an infinite cost",
        ConstraintKind.MAX_CHANGES: f"at most {value} feature{'s' * (value != 1)} may change",
    }[kind]


def _range_text(values: Sequence[Any]) -> str:
    """Describe admissible values: two numbers are the ends of a range, others are listed."""
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)
    if len(values) != 2 or not numbers:
        return " or ".join(_name(each, True) for each in values)
    low, high = values
    if np.isinf(low) or np.isinf(high):
        return f"at least {number_text(low)}" if np.isinf(high) else f"at most {number_text(high)}"
    return f"between {' and '.join(number_texts([low, high]))}"


def relaxation_text(released: Sequence[Constraint], alternatives: Sequence[Sequence[Constraint]] = ()) -> str:
    """Describe which constraints have to be released for an answer.

    Examples
    --------
    >>> locks = [Constraint(ConstraintKind.IMMUTABLE, name) for name in ("age", "job")]
    >>> relaxation_text(locks[:1], [locks[1:]])
    'There would be an answer without this constraint: age may not change. Or without this one: job may not
    change.'
    """
    if not released:
        return "No constraint has to be released."
    these = "this constraint" if len(released) == 1 else f"these {len(released)} constraints"
    first, *others = ["; ".join(map(constraint_text, each)) for each in (released, *alternatives[:MORE])]
    text = f"There would be an answer without {these}: {first}."
    this = "this one" if len(released) == 1 else "these"
    return " ".join([text, *(f"Or without {this}: {each}." for each in others)])


def _changes_text(schema: Schema, row: Row, other: Row, mask: Any) -> str:
    """Describe what differs: "age were 45 instead of 31 and job were ..., so bmi becomes ..."."""
    parts: dict[bool, list[str]] = {False: [], True: []}
    for i in np.flatnonzero(mask):
        feature = schema.features[i]
        before, after = value_texts(feature, np.array([row[i], other[i]]), quote=True)
        name = feature.name if isinstance(feature.name, str) else f"feature {feature.name}"
        verb = "becomes" if feature.follows else "were"
        parts[feature.follows].append(f"{name} {verb} {after} instead of {before}")
    return ", so ".join(_listing(some) for some in parts.values() if some)


def _listing(parts: list[str]) -> str:
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def _outcome_text(word: str, before: str, after: str) -> str:
    """Describe the decision; a user's own target may accept x's decision too."""
    if before == after:
        return f"the {word} would still be {before}"
    return f"the {word} would be {after} instead of {before}"


def _apart(values: list[T], write: Callable[[T, int], str]) -> list[str]:
    """Write values with the fewest digits at which none looks like the first without being equal."""
    first = values[0]
    for digits in range(DIGITS, MOST_DIGITS + 1):
        texts = [write(value, digits) for value in values]
        pairs = zip(texts, values, strict=True)
        # Only a missing value differs from itself, and all missing values should look the same.
        if all(text != texts[0] or value == first or value != value for text, value in pairs):
            break
    return texts


def _vector_text(values: list[Any], digits: int) -> str:
    """Write a vector of scores, or of decisions if the model makes several per row."""
    parts = [number_text(v, digits) if isinstance(v, float) else _name(v, True) for v in values]
    return f"[{', '.join(parts)}]"


def _name(label: Any, quote: bool) -> str:
    """Write a category or a class."""
    if label is None:
        return MISSING
    return repr(label) if isinstance(label, str) and (quote or not label.strip()) else str(label)

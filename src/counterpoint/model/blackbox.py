"""The black box: the only module that calls the user's model. It counts, splits and checks calls."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices, Labels, Rows
from counterpoint.model.adapters import adapting, ask
from counterpoint.model.adapters.probability import ClassProbability
from counterpoint.model.errors import ModelError as ModelError
from counterpoint.model.representation import Instances, View
from counterpoint.model.scores import ScoreKind, Scores
from counterpoint.model.tree_models import is_made_of_trees
from counterpoint.model.trees import Structure, UnreadableError, read_structure

# A question is split into calls with at most this many rows and cells. Models take much memory per row of a
# call (one-hot columns and a forest: 1.5 kB), and larger calls are hardly cheaper per row.
MAX_ROWS = 32_768
MAX_CELLS = 50_000_000

# To see whether a model's scores depend on the batch, it gets a batch of this size, and this many rows alone.
BATCH = 64
PROBES = 16


@dataclass
class Count:
    """The number of calls of a model, of rows in them, and the time they took."""

    calls: int = 0
    rows: int = 0
    seconds: float = 0.0


class BlackBox:
    """A model seen as a function from rows to labels.

    Parameters
    ----------
    model
        Anything with ``predict``, a torch, Keras or ONNX network, or a callable from a table to labels.
    view
        Turns rows into the format that the model was trained on.
    example
        Some known instances in the model's format, which show the layout that a network expects.
    max_cells
        A larger question is split into calls of at most this many cells, which bounds memory.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.data.schema import Schema
    >>> from counterpoint.model.representation import Direct
    >>> people = pd.DataFrame({"age": [31, 45]})
    >>> blackbox = BlackBox(lambda table: table["age"] > 40, Direct(Schema.infer(people)))
    >>> blackbox.predict(np.array([[31.0], [45.0]]))
    array([False,  True])
    >>> blackbox.count.calls, blackbox.count.rows
    (1, 2)
    """

    def __init__(self, model: Any, view: View, example: Any = None, max_cells: int = MAX_CELLS) -> None:
        self._ask = ask(model, example)
        # A network's adapter knows the classes, unlike the network.
        self.model = self._ask if hasattr(self._ask, "classes_") else model
        self.view = view
        self.max_rows = max(1, min(MAX_ROWS, max_cells // max(1, len(view.schema.features))))
        self.count = Count()
        self._ever = Count()  # includes other runs, to know how fast the model is
        self.is_steady = is_made_of_trees(_owner(model))  # no row depends on the others in its batch
        self._structure: list[Structure | UnreadableError] = []  # read when asked for, shared by all runs
        self._depends: dict[str, bool] = {}  # filled in when known, shared by all runs
        self._good: tuple[Rows, Indices] | None = None
        self._about = Instances(np.empty((0, 0)), np.empty((0, 0)))
        self.opener: Callable[[], Any] | None = None  # opens the model in other processes

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the model if other processes can open it, and what was read of it."""
        state = dict(self.__dict__) | {"_structure": []}
        if self.opener is not None:
            state["_ask"] = adapting(self._ask)
            del state["model"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.opener is not None:
            opened = self.opener()
            self._ask = self._ask(opened)
            self.model = self._ask if hasattr(self._ask, "classes_") else opened

    def __copy__(self) -> BlackBox:
        """Copy as any object; by its state, each copy would open the model again."""
        box = object.__new__(type(self))
        box.__dict__.update(self.__dict__)
        return box

    def about(self, instances: Instances) -> BlackBox:
        """Return the same black box for one run: about these instances, with its own count."""
        box = copy(self)
        box.count, box._about, box._good = Count(), instances, None
        return box

    def seen_by(self, view: View) -> BlackBox:
        """Return the same black box for rows of another view, with a shared count."""
        box = copy(self)
        box.view = view
        return box

    def giving_probability(self, classes: tuple[Any, ...]) -> BlackBox:
        """Return a black box whose output is the probability of some classes, by `predict_proba`."""
        box = copy(self)
        box.model = ClassProbability(_owner(self.model), classes).check()
        box._ask = box.model.predict
        box.count, box._ever, box._depends, box._good = Count(), Count(), {}, None
        return box

    def structure(self, schema: Schema, known: Rows) -> Structure:
        """Read the trees of the model, once; raise `UnreadableError` if it is not made of trees.

        `schema` tells what rows are, and `known` holds some. The model is not asked.
        """
        if not self._structure:
            try:
                self._structure.append(read_structure(self.model, schema, known))
            except UnreadableError as error:
                self._structure.append(error)
        (read,) = self._structure
        if isinstance(read, UnreadableError):
            raise read
        return read

    def scores(self, rows: Rows, instance: Indices) -> NDArray[Any] | None:
        """Return the scores by which the model decides about rows; None if it has none.

        They come from its ``decision_function`` or ``predict_proba``. For a bound method such as
        ``model.predict``, they come from the model that it belongs to.
        """
        for name in ("decision_function", "predict_proba"):
            if callable(method := getattr(_owner(self.model), name, None)):
                return self._numbers(method, rows, instance)
        return None

    def class_scores(self, rows: Rows, instance: Indices) -> Scores | None:
        """Return the scores of each class, probabilities if the model has them; None if it has no scores."""
        owner = _owner(self.model)
        classes = getattr(owner, "classes_", None)
        if classes is None or np.ndim(classes) != 1:
            return None
        kinds = {"predict_proba": ScoreKind.PROBABILITY, "decision_function": ScoreKind.SCORE}
        for name, kind in kinds.items():
            if callable(method := getattr(owner, name, None)):
                numbers = self._numbers(method, rows, instance)
                if numbers is None or not np.isfinite(numbers).all():
                    return None
                return Scores.of(numbers, np.asarray(classes).tolist(), kind)
        return None

    @property
    def has_steady_scores(self) -> bool:
        """Whether the model gives scores of its classes that do not depend on the batch."""
        owner = _owner(self.model)
        classes = np.asarray(getattr(owner, "classes_", None))
        return callable(getattr(owner, "predict_proba", None)) and classes.ndim == 1 and self.is_steady

    def _numbers(self, method: Callable[[Any], Any], rows: Rows, instance: Indices) -> NDArray[Any] | None:
        """Ask the model for numbers; None if it fails: predict is what counts."""
        parts = []
        for part in self._parts(len(rows)):
            self._count(len(rows[part]))
            try:
                table = self.view.decode(rows[part], self._about, instance[part])
                started = monotonic()
                numbers = np.asarray(method(table))
            except Exception:
                return None
            self._ever.seconds += monotonic() - started
            if numbers.ndim not in (1, 2) or len(numbers) != len(rows[part]) or numbers.dtype.kind != "f":
                return None
            parts.append(numbers)
        return np.concatenate(parts) if parts else None

    def _parts(self, count: int) -> list[slice]:
        """Split rows into calls."""
        return [slice(start, start + self.max_rows) for start in range(0, count, self.max_rows)]

    @property
    def is_known_to_depend(self) -> bool:
        """Whether the model's scores are known to depend on the batch."""
        return self._depends.get("batch", False)

    def depends_on_batch(self, ask: Callable[[Indices], NDArray[Any]], count: int) -> bool:
        """Tell whether the result of `ask` for indices of `count` rows depends on the number of indices."""
        if "batch" not in self._depends:
            together = ask(np.arange(BATCH) % count)
            alone = [ask(np.array([index]))[0] for index in range(min(PROBES, count))]
            depends = any(not np.array_equal(one, other) for one, other in zip(alone, together, strict=False))
            if not depends and len(alone) < PROBES:
                return False  # not for these rows, but there may be others
            self._depends["batch"] = depends
        return self._depends["batch"]

    def predict(self, rows: Rows, instance: Indices | None = None) -> Labels:
        """Label rows, in as few calls as the row limit allows; `instance` gives the instance of each row."""
        if not len(rows):
            return np.empty(0)
        instance = np.zeros(len(rows), dtype=np.intp) if instance is None else instance
        parts = [self._call(rows[part], instance[part]) for part in self._parts(len(rows))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def classes(self) -> list[Any]:
        """List the classes that the model itself names, if any."""
        named = getattr(_owner(self.model), "classes_", None)
        return [] if named is None or np.ndim(named) != 1 else np.asarray(named).tolist()

    def _call(self, rows: Rows, instance: Indices) -> Labels:
        table = self.view.decode(rows, self._about, instance)
        self._count(len(rows))
        started = monotonic()
        try:
            output = self._ask(table)
        except ModelError:
            raise  # an adapter has said all there is to say
        except Exception as error:
            text = f"{type(error).__name__}: {error}".rstrip(". ")
            raise ModelError(f"The model raised {text}. It was given {self._given(len(rows))}.") from error
        self._ever.seconds += monotonic() - started
        labels = _labels(output, len(rows))
        self._good = rows[:1], instance[:1]
        return labels

    def _count(self, rows: int) -> None:
        for count in (self.count, self._ever):
            count.calls += 1
            count.rows += rows

    def rows_in(self, seconds: float) -> float:
        """Estimate how many rows the model labels in a given time, from its calls so far."""
        return seconds * self._ever.rows / self._ever.seconds if self._ever.seconds else np.inf

    def is_down(self) -> bool:
        """Whether the model now fails even on a row that it labelled before."""
        return self._good is not None and self._failure(*self._good) is not None

    def _given(self, rows: int) -> str:
        """Describe the model's input, which is the first thing to check when it fails."""
        form = self.view.schema.form
        if form.shape:
            return f"an array of shape {(rows, *form.shape)} and {form.dtypes[0]}, as in X"
        kind = {"pandas": "a pandas frame", "polars": "a polars frame", "array": "an array"}
        size = f"{rows:,} row{'s' * (rows != 1)} and {len(form.caller.names)} columns"
        return f"{kind[form.kind]} of {size}, as in X"

    def first_failing(self, rows: Rows, instance: Indices) -> tuple[int, ModelError] | None:
        """Find the first row that the model fails on, by bisection; None if it fails on no single row."""
        error = self._failure(rows, instance)
        if error is None:
            return None
        low, high = 0, len(rows)
        while high - low > 1:
            middle = (low + high) // 2
            half_error = self._failure(rows[low:middle], instance[low:middle])
            low, high = (low, middle) if half_error else (middle, high)
        return low, self._failure(rows[low : low + 1], instance[low : low + 1]) or error

    def _failure(self, rows: Rows, instance: Indices) -> ModelError | None:
        try:
            self._call(rows, instance)
        except ModelError as error:
            return error
        return None


def _owner(model: Any) -> Any:
    """Find the model that a bound method such as ``model.predict`` belongs to."""
    return getattr(model, "__self__", model)


def _labels(output: Any, expected: int) -> Labels:
    """Check the model's output and convert it to an array of labels."""
    try:
        labels = np.asarray(output)
    except Exception as error:
        raise ModelError(f"The model's output cannot be read as an array of labels: {error}") from error
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # CatBoost returns a column for several classes
    if labels.ndim not in (1, 2) or len(labels) != expected:
        got = f"an array of shape {labels.shape}" if labels.ndim else f"a {type(output).__name__}"
        raise ModelError(f"The model must return one label per row: got {got} for {expected:,} rows.")
    labels = labels.astype(object, copy=False) if labels.dtype.kind == "T" else labels
    if labels.dtype.kind == "O" and pd.api.types.infer_dtype(labels, skipna=False) == "string":
        codes, texts = pd.factorize(labels.ravel())  # much faster than turning each into a string
        return np.asarray(texts.astype(str)[codes]).reshape(labels.shape)
    missing = np.asarray(pd.isna(labels))
    if missing.any():
        raise ModelError(
            f"The model returned {int(missing.sum()):,} missing labels for {expected:,} rows; "
            f"it must decide on every row."
        )
    return _plain(labels) if labels.dtype.kind == "O" else labels


def _plain(labels: Labels) -> Labels:
    """Turn an object array of strings, numbers or bools into an array of that type."""
    values = [v.item() if isinstance(v, np.generic) else v for v in labels.ravel().tolist()]
    kinds = {type(value) for value in values}
    if not (kinds <= {str} or kinds <= {bytes} or kinds <= {int, float, bool}):
        names = sorted(kind.__name__ for kind in kinds)
        raise ModelError(f"The model's labels must be all strings, all numbers or all bools, got {names}.")
    return np.array(values).reshape(labels.shape)

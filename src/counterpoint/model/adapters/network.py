"""Shared by the adapters of networks: from the caller's instances to batches, and from outputs to labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, get_args

import numpy as np
import pandas as pd

from counterpoint.data.tables import TableFormat
from counterpoint.model.adapters import outputs as read
from counterpoint.model.adapters.layouts import LAYOUTS, Array, Inputs, Layout, find, lay_out
from counterpoint.model.adapters.outputs import Output

# The threshold of a binary output is decided on at most this many known instances.
SAMPLE = 1_000


@dataclass(frozen=True)
class Network(ABC):
    """A network as a function from instances to labels: the base of `TorchModel` and the others.

    Parameters
    ----------
    model
        The network, trained.
    output
        "labels" turns outputs into labels: the index of the largest of several scores, or 0 or 1 by the
        threshold for a single score; integers, bools and strings stay as they are. "scores" leaves outputs
        as they are, for a regressor or for your own target.
    layout
        The layout of instances that the network expects; None finds it by trying, in the class's `order`. If
        several work (a first layer that flattens accepts any order of channels), the first is used.
    threshold
        A single score above it is class 1. None decides it once: by the last layer if that is certain
        (sigmoid: 0.5, linear: 0), else 0.5 if the scores of the known instances all lie in [0, 1], else 0.
    classes
        Names of the classes in the order of the outputs; None uses their indices, 0, 1, 2 …
    batch
        Number of instances per call.
    """

    model: Any = field(repr=False)
    output: Output = field(default="labels", kw_only=True)
    layout: Layout | None = field(default=None, kw_only=True)
    threshold: float | None = field(default=None, kw_only=True)
    classes: Sequence[Any] | None = field(default=None, kw_only=True)
    batch: int = field(default=1_024, kw_only=True)

    order: ClassVar[tuple[Layout, ...]] = LAYOUTS

    def __post_init__(self) -> None:
        name = type(self).__name__
        if self.output not in get_args(Output):
            raise ValueError(f'{name}.output must be "labels" or "scores", got {self.output!r}.')
        if self.layout is not None and self.layout not in LAYOUTS:
            raise ValueError(f"{name}.layout must be None or one of {list(LAYOUTS)}, got {self.layout!r}.")
        if self.batch < 1:
            raise ValueError(f"{name}.batch must be at least 1, got {self.batch}.")

    @property
    def classes_(self) -> Sequence[Any] | None:
        """The classes, under scikit-learn's name for them."""
        return self.classes

    def on(self, known: Any) -> Self:
        """Decide what was left open: the layout, and the threshold of a binary output."""
        inputs = self._read(known)
        layout = self._layout(inputs)
        threshold = self.threshold
        if threshold is None and self.output == "labels":
            threshold = self._threshold(inputs, layout)
        return replace(self, layout=layout, threshold=threshold)

    def __call__(self, X: Any) -> Array:
        """Label instances."""
        inputs = self._read(X)
        outputs = self._outputs(inputs, self.layout or self._layout(inputs))
        if self.output == "scores":
            return read.scores(outputs)
        threshold = self.threshold
        if threshold is None and read.is_binary(outputs):
            threshold = self._last_layer()
            if threshold is None:
                # Not decided on X: then the label of an instance could depend on the other instances.
                raise ValueError(
                    f"The threshold of the model's single output is open. Give {type(self).__name__} "
                    f"threshold=0 for logits or threshold=0.5 for probabilities, or let .on(X) decide it."
                )
        return read.labels(outputs, threshold, self.classes)

    @abstractmethod
    def _run(self, inputs: Inputs) -> Array:
        """Return the model's outputs for one batch in the layout that it expects."""

    @abstractmethod
    def _last_layer(self) -> float | None:
        """Find the threshold of a single output from the last layer; None if it is not certain."""

    def _read(self, X: Any) -> list[Array]:
        """Turn the caller's instances into the model's inputs."""
        return [matrix(X, type(self).__name__) if is_frame(X) else np.asarray(X)]

    def _layout(self, inputs: Inputs) -> Layout:
        """Find the layout, or check the given one."""
        name = type(self).__name__
        if not len(inputs[0]):
            raise ValueError(f"{name} needs at least one instance to find the model's layout, got none.")
        return find(self._run, inputs, [self.layout] if self.layout else self.order, name)

    def _outputs(self, inputs: Inputs, layout: Layout) -> Array:
        """Call the model batch by batch."""
        starts = range(0, max(1, len(inputs[0])), self.batch)  # 0 instances are one batch too
        return np.concatenate(
            [
                self._run([lay_out(array[start : start + self.batch], layout) for array in inputs])
                for start in starts
            ]
        )

    def _threshold(self, inputs: Inputs, layout: Layout) -> float | None:
        """Decide the threshold, if the output needs one."""
        if not read.is_binary(self._outputs([array[:1] for array in inputs], layout)):
            return None
        certain = self._last_layer()
        if certain is not None:
            return certain
        count = len(inputs[0])
        # Evenly spaced, because known instances are often sorted by class.
        indices = np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.intp))
        return read.likely_threshold(self._outputs([array[indices] for array in inputs], layout))


def is_frame(X: Any) -> bool:
    """Tell whether X is a pandas or polars frame, not an array."""
    return hasattr(X, "columns")


def matrix(frame: Any, who: str) -> Array:
    """Read a frame of numbers and bools as a matrix.

    Examples
    --------
    >>> matrix(pd.DataFrame({"age": [31, 45], "owner": [True, False]}), "TorchModel")
    array([[31.,  1.],
           [45.,  0.]])
    """
    form = TableFormat.of(frame)
    columns = [_numbers(values) for values in form.columns(frame)]
    other = [str(name) for name, values in zip(form.names, columns, strict=True) if values is None]
    if other:
        raise TypeError(
            f"{who} accepts numbers only, and X has columns that are not numbers: {', '.join(other)}. Give a "
            f"callable that encodes the frame, calls the model and returns one label per row."
        )
    return np.column_stack([values for values in columns if values is not None])


def _numbers(values: Array) -> Array | None:
    """Read a column as numbers, if it holds numbers or bools."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    if pd.api.types.infer_dtype(values, skipna=True) == "boolean":
        return np.asarray(pd.array(values, dtype="boolean").to_numpy(dtype=np.float64, na_value=np.nan))
    return None


def first_of(outputs: Any) -> Any:
    """Return the logits of several named outputs, or the first of several.

    Examples
    --------
    >>> first_of((1, 2)), first_of({"loss": 1, "logits": 2}), first_of(3)
    (1, 2, 3)
    """
    while isinstance(outputs, tuple | list | dict):
        if isinstance(outputs, dict):
            outputs = list(outputs.values()) if "logits" not in outputs else [outputs["logits"]]
        outputs = outputs[0]
    return outputs

"""An ONNX model, opened with onnxruntime, as a function from arrays or frames to labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.tables import TableFormat
from counterpoint.model.adapters.layouts import Array, Inputs
from counterpoint.model.adapters.network import Network, is_frame

FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
LABELS = {
    "tensor(string)": np.object_,
    "tensor(bool)": np.bool_,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(int16)": np.int16,
    "tensor(uint16)": np.uint16,
    "tensor(int32)": np.int32,
    "tensor(uint32)": np.uint32,
    "tensor(int64)": np.int64,
    "tensor(uint64)": np.uint64,
}
DTYPES = FLOATS | LABELS


class OnnxModel(Network):
    """An onnxruntime session as a function from arrays or frames to labels.

    Parameters are those of `Network`. Shapes and dtypes come from the session. If its inputs have the names
    of a frame's columns, as skl2onnx exports a pipeline, each input gets its column. The first output that
    holds labels (integers, strings or bools) is used; if there is none, or for ``output="scores"``, the first
    that holds floats. A model that was exported for a fixed number of instances is called with this many.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._output()

    def _read(self, X: Any) -> list[Array]:
        inputs = self.model.get_inputs()
        names = [given.name for given in inputs]
        if is_frame(X):
            form = TableFormat.of(X)
            columns = dict(zip(map(str, form.names), form.columns(X), strict=True))
            if columns.keys() >= set(names):
                return [_upright(columns[given.name], len(given.shape)) for given in inputs]
        if len(inputs) == 1:
            return super()._read(X)
        raise TypeError(
            f"The ONNX model has {len(inputs)} inputs, {', '.join(names)}: X must be a frame with a column "
            f"for each, got {_described(X)}. Or give a callable that builds the inputs itself."
        )

    def _run(self, inputs: Inputs) -> Array:
        output = self._output()
        feeds = [_fitted(array, given) for array, given in zip(inputs, self.model.get_inputs(), strict=True)]
        parts = self._parts(feeds)
        names = [given.name for given in self.model.get_inputs()]
        answers = [self.model.run([output], dict(zip(names, part, strict=True)))[0] for part in parts]
        outputs = np.concatenate(answers)
        if len(outputs) == sum(len(part[0]) for part in parts):  # else the number of outputs is wrong
            outputs = outputs[: len(feeds[0])]
        return np.asarray(outputs.astype(np.float64) if outputs.dtype.kind == "f" else outputs)

    def _parts(self, feeds: list[Array]) -> list[list[Array]]:
        """Split a batch into parts of the size that the model was exported for, the last one padded."""
        sizes = [given.shape[0] for given in self.model.get_inputs() if given.shape]
        size = next((size for size in sizes if isinstance(size, int)), None)
        count = len(feeds[0])
        if size is None or not count:
            return [feeds]
        starts = range(0, count, size)
        indices = [np.minimum(np.arange(start, start + size), count - 1) for start in starts]
        return [[feed[part] for feed in feeds] for part in indices]

    def _output(self) -> str:
        """Choose the output to read. Other outputs are not computed."""
        outputs = self.model.get_outputs()
        for kinds in (LABELS, FLOATS) if self.output == "labels" else (FLOATS,):
            for output in outputs:
                if output.type in kinds:
                    return str(output.name)
        found = ", ".join(f"{output.name} of type {output.type}" for output in outputs)
        raise TypeError(
            f"The ONNX model has no output that is an array of {self.output}, only {found}. "
            f"With skl2onnx, export with options={{'zipmap': False}}."
        )

    def _last_layer(self) -> float | None:
        return None  # a session does not show its layers


def _fitted(array: Array, given: Any) -> Array:
    """Check an array against the shape that the model declares, and convert it to the declared dtype."""
    if given.type not in DTYPES:
        raise TypeError(f"the input {given.name} is a {given.type}, but only arrays are supported")
    # For onnxruntime, an axis of any length is a string or None, and an unknown shape has no axes.
    wanted = tuple(size if isinstance(size, int) else "any" for size in given.shape)
    fits = len(wanted) == array.ndim and all(
        size in ("any", length) for size, length in zip(wanted[1:], array.shape[1:], strict=True)
    )
    if wanted and not fits:
        raise ValueError(f"the model's input {given.name} has the shape {wanted}")
    return np.ascontiguousarray(array, dtype=DTYPES[given.type])


def _upright(values: Array, rank: int) -> Array:
    """Return a column as skl2onnx expects it: a matrix with one column."""
    return values if rank == 1 else values[:, None]


def _described(X: Any) -> str:
    if is_frame(X):
        return f"the columns {', '.join(map(str, X.columns))}"
    return f"an array of shape {np.shape(X)}"

"""The layout that a model expects: with or without a channel axis, and where. It is found by trying."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# The inputs of one call: one array per input, all with the same number of instances.
Inputs = Sequence[Array]
Run = Callable[[Inputs], Array]

Layout = Literal[
    "as given",
    "add channel first",
    "add channel last",
    "move channels first",
    "move channels last",
    "flat",
]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

# A model's own error message is cut to this length, per layout tried.
REASON = 160


def lay_out(instances: Array, layout: Layout) -> Array:
    """Bring instances of shape (n, ...) into a layout.

    Examples
    --------
    >>> images = np.zeros((5, 28, 28))
    >>> lay_out(images, "add channel first").shape, lay_out(images, "add channel last").shape
    ((5, 1, 28, 28), (5, 28, 28, 1))
    >>> lay_out(np.zeros((5, 32, 32, 3)), "move channels first").shape
    (5, 3, 32, 32)
    """
    match layout:
        case "add channel first":
            return instances[:, None]
        case "add channel last":
            return instances[..., None]
        case "move channels first":
            return np.moveaxis(instances, -1, 1) if instances.ndim > 2 else instances
        case "move channels last":
            return np.moveaxis(instances, 1, -1) if instances.ndim > 2 else instances
        case "flat":
            # Not -1, which numpy cannot resolve for 0 instances.
            return instances.reshape(len(instances), int(np.prod(instances.shape[1:])))
    return instances


def find(run: Run, inputs: Inputs, layouts: Sequence[Layout], who: str) -> Layout:
    """Find the first layout in which a model returns one entry, or one row of scores, per instance.

    Examples
    --------
    >>> def run(inputs):  # one channel, which comes first
    ...     if inputs[0].ndim != 3 or inputs[0].shape[1] != 1:
    ...         raise ValueError("one channel, please")
    ...     return inputs[0].mean(axis=2)
    >>> find(run, [np.zeros((10, 150))], ["as given", "add channel first"], "Model")
    'add channel first'
    """
    three = [array[np.arange(3) % len(array)] for array in inputs]
    tried: dict[tuple[int, ...], str] = {}
    for layout in layouts:
        laid_out = [lay_out(array, layout) for array in three]
        shape = laid_out[0].shape
        if shape in tried:  # a transposed square image has the same shape, and is never what is meant
            continue
        reason = _misfit(run, laid_out)
        if reason is None:
            return layout
        tried[shape] = f"{layout}, {shape}: {reason}"
    raise TypeError(
        f"{who} cannot be called with instances of shape {three[0].shape[1:]}. Tried, with 3 instances:\n"
        + "\n".join(f"  {line}" for line in tried.values())
        + "\nGive a callable that brings instances into the model's layout and returns one label each."
    )


def _misfit(run: Run, three: Inputs) -> str | None:
    """Say why a layout is wrong; None if it may be right."""
    try:
        # A model may read several instances as the channels of one. Then it accepts only some numbers of
        # instances, or the output for one depends on the others. Two instances in another order show this.
        of_three, of_two = run(three), run([array[[2, 1]] for array in three])
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return text if len(text) <= REASON else text[: REASON - 1] + "…"
    if of_three.ndim not in (1, 2) or len(of_three) != 3 or of_two.shape != (2, *of_three.shape[1:]):
        return f"the output has shape {of_three.shape}, not one entry or row of scores per instance"
    if not _agree(of_three[[2, 1]], of_two):
        return "the output for an instance depends on the other instances in the batch"
    return None


def _agree(a: Array, b: Array) -> bool:
    """Compare outputs within the tolerance of half precision and another order of sums."""
    if a.dtype.kind != "f":
        return bool((a == b).all())
    size = float(np.nan_to_num(np.abs(b)).max(initial=0))
    return bool(np.allclose(a, b, rtol=0.01, atol=0.01 * size, equal_nan=True))

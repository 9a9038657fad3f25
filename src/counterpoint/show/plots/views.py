"""What a plot of an answer shows: x, its counterfactuals, and where they differ from it.

Everything is computed here; the other modules only draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.signals import is_image
from counterpoint.data.types import Labels
from counterpoint.show.wording import decision_texts, number_text

Kind = Literal["image", "series"]
Floats = NDArray[np.float64]

# How many dimensions an instance of each kind may have, and what they are.
SHAPES = {
    "image": ((2, 3), "(h, w) or (h, w, c)"),
    "series": ((1, 2), "(length,) or (channels, length)"),
}
# At most this many channels of a series are shown.
CHANNELS = 6
# Smaller differences, relative to the largest value, are due to rounding.
ROUNDING = 1e-6
# The number of channels of a colour image, without and with transparency.
COLOURS = (3, 4)


@dataclass(frozen=True, eq=False)
class Views:
    """What is shown of one answer: an image or a series, its counterfactuals, and facts about them.

    Parameters
    ----------
    kind
        "image" or "series"; `kind_of` guesses it from a shape.
    x
        The explained instance: an image (h, w) or (h, w, c), a series (length,) or (channels, length).
    counterfactuals
        The counterfactuals (m, *shape of x); m may be 0.
    decision, decisions
        The model's output for x, and for each counterfactual.
    distances
        The distance of each counterfactual from x.
    found_by
        The explainer that found each, if it should be shown.
    note
        A sentence below the plot, such as why there are fewer counterfactuals than asked for.

    Examples
    --------
    >>> other = np.array([[0.0, 2.0, 2.0, 0.0]])
    >>> views = Views("series", np.zeros(4), other, "no", np.array(["yes"]), np.array([2.83]))
    >>> titles(views)
    [('x: no',), ('1: yes', 'distance 2.83')]
    >>> describe(views)
    "A series decided 'no' and 1 counterfactual, decided 'yes'."
    """

    kind: Kind
    x: NDArray[Any]
    counterfactuals: NDArray[Any]
    decision: Any
    decisions: Labels
    distances: Floats
    found_by: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in SHAPES:
            raise ValueError(f"kind must be 'image' or 'series', got {self.kind!r}.")
        dimensions, shapes = SHAPES[self.kind]
        if self.x.ndim not in dimensions or not self.x.size:
            raise ValueError(f"x must have shape {shapes} for kind {self.kind!r}, got {self.x.shape}.")
        if self.counterfactuals.shape[1:] != self.x.shape:
            raise ValueError(
                f"counterfactuals must be a stack of arrays of x's shape {self.x.shape}, "
                f"got shape {self.counterfactuals.shape}."
            )
        counts = {"decisions": len(self.decisions), "distances": len(self.distances)}
        counts |= {"found_by": len(self.found_by)} if self.found_by else {}
        for name, count in counts.items():
            if count != len(self):
                raise ValueError(f"{name} must have one entry per counterfactual, {len(self)}, got {count}.")

    def __len__(self) -> int:
        return len(self.counterfactuals)


def kind_of(shape: Sequence[int]) -> Kind:
    """Tell what an instance of a shape is drawn as.

    Examples
    --------
    >>> kind_of((28, 28)), kind_of((12, 96))
    ('image', 'series')
    """
    return "image" if is_image(shape) else "series"


def differences(views: Views) -> Floats:
    """Compute each counterfactual minus x: (m, *shape of x).

    Examples
    --------
    >>> x = np.array([250, 5], dtype=np.uint8)
    >>> views = Views("series", x, np.array([[250, 2]], dtype=np.uint8), 0, np.array([1]), np.array([3.0]))
    >>> differences(views)
    array([[ 0., -3.]])
    """
    return np.asarray(views.counterfactuals.astype(np.float64) - views.x.astype(np.float64))


def change_maps(views: Views) -> Floats:
    """Compute one signed change per pixel, (m, h, w): for several channels, the largest.

    Examples
    --------
    >>> x = np.zeros((1, 2, 3))
    >>> other = np.array([[[[0.1, -0.5, 0.2], [0.0, 0.0, 0.3]]]])
    >>> change_maps(Views("image", x, other, 0, np.array([1]), np.array([0.6])))
    array([[[-0.5,  0.3]]])
    """
    changes = differences(views)
    if changes.ndim == 3:
        return changes
    largest = np.abs(changes).argmax(axis=-1)[..., None]
    return np.asarray(np.take_along_axis(changes, largest, axis=-1)[..., 0])


def value_range(signals: NDArray[Any]) -> tuple[float, float]:
    """Find the values drawn as black and white, or lowest and highest: the minimum and the maximum.

    Colours have a fixed range: 0 to 255 if they are bytes, and 0 to 1 if all values lie in between.

    Examples
    --------
    >>> value_range(np.array([[[0.0, 16.0]]])), value_range(np.full((1, 2, 2, 3), 0.5))
    ((0.0, 16.0), (0.0, 1.0))
    """
    low, high = float(signals.min()), float(signals.max())
    colours = signals.ndim == 4 and signals.shape[-1] in COLOURS
    if colours and signals.dtype == np.uint8:
        return 0.0, 255.0
    if colours and low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def pixels(images: NDArray[Any], limits: tuple[float, float]) -> Floats:
    """Scale images to 0 for black and 1 for white: grey (n, h, w) or coloured (n, h, w, c).

    Values beyond the limits are clipped. Channels that are not colours, two or more than four, are averaged.

    Examples
    --------
    >>> pixels(np.array([[[0, 4, 8, 20]]]), (0, 16))
    array([[[0.  , 0.25, 0.5 , 1.  ]]])
    """
    low, high = limits
    scaled = np.clip((images.astype(np.float64) - low) / (high - low), 0.0, 1.0)
    return np.asarray(
        scaled.mean(axis=-1) if images.ndim == 4 and images.shape[-1] not in COLOURS else scaled
    )


def reach(views: Views) -> float:
    """Find the largest absolute change of any cell, the limit of the common scale; 0 for no change."""
    return float(np.abs(differences(views)).max(initial=0.0))


def spans(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """List the runs of true values in a mask, each as its start and its end (exclusive).

    Examples
    --------
    >>> spans(np.array([True, False, False, True, True]))
    [(0, 1), (3, 5)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def changed_steps(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Tell which steps of a channel differ by more than rounding to 32 bits.

    Examples
    --------
    >>> x = np.array([0.1, 0.2, 0.3])
    >>> changed_steps(x, x.astype(np.float32)), changed_steps(x, np.array([0.1, 0.2001, 0.3]))
    (array([False, False, False]), array([False,  True, False]))
    """
    return np.asarray(np.abs(after - before) > ROUNDING * np.abs(before).max())


def shown_channels(views: Views) -> list[int]:
    """Choose the channels of a series to show: all, or the six that change most.

    Examples
    --------
    >>> x, other = np.zeros((8, 5)), np.zeros((1, 8, 5))
    >>> other[0, [0, 2, 3, 4, 6, 7]] = 1.0
    >>> shown_channels(Views("series", x, other, 0, np.array([1]), np.array([5.5])))
    [0, 2, 3, 4, 6, 7]
    """
    shape = np.atleast_2d(views.x).shape
    changes = np.abs(differences(views)).reshape(len(views), *shape).sum(axis=(0, 2))
    return sorted(np.argsort(-changes, kind="stable")[:CHANNELS].tolist())


def titles(views: Views) -> list[tuple[str, ...]]:
    """Write the titles of x and of each counterfactual, line by line."""
    before, *after = decision_texts(views.decision, views.decisions)
    names = views.found_by or ("",) * len(views)
    lines = [
        (f"{i}: {text}", f"distance {number_text(away, digits=3)}", name)
        for i, (text, away, name) in enumerate(zip(after, views.distances, names, strict=True), start=1)
    ]
    return [(f"x: {before}",), *(tuple(line for line in three if line) for three in lines)]


def describe(views: Views) -> str:
    """Describe a plot in one sentence, as alternative text."""
    before, *after = decision_texts(views.decision, views.decisions, quote=True)
    count = f"{len(views) or 'no'} counterfactual{'' if len(views) == 1 else 's'}"
    article = "An image" if views.kind == "image" else "A series"
    decided = f", decided {', '.join(after)}" if after else ""
    return f"{article} decided {before} and {count}{decided}."

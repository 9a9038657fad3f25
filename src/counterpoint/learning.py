"""From what the caller gives to `fit` to a black box and known instances, labelled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.blackbox import BlackBox, Labels
from counterpoint.codecs import Codec, Kernel
from counterpoint.population import MOST, Population
from counterpoint.schema import Schema
from counterpoint.signals import as_signals, classifies_series
from counterpoint.view import Direct, Through

# Of images and series so many are known at most, and so many latent cells of them: some 4,000 images seen
# pixel by pixel, 10,000 images of 28 x 28 seen through few latent features.
CELLS = 8_000_000
LATENT_CELLS = 3_200_000

# So many known instances show an adapter how a network wants them, and what its outputs look like.
EXAMPLES = 1_000

# A chosen window parts a time axis into about so many blocks, and a side of an image.
BLOCKS, TILES = 24, 7

# Without a codec, arrays (n, side, side) of at least so long sides are images.
SIDE = 8


@dataclass(frozen=True)
class Constraints:
    """What the caller says about columns and what may change; see `Explainer.fit`."""

    schema: Schema | None
    categorical: Iterable[Any] | None
    immutable: Iterable[Any]
    ranges: Mapping[Any, Sequence[Any]] | None
    increase: Iterable[Any]
    decrease: Iterable[Any]

    def of_table(self, X: Any) -> Schema:
        """Infer what columns are, or take the caller's word, and add the constraints."""
        limits: dict[str, Any] = {
            "immutable": self.immutable,
            "ranges": self.ranges,
            "increase": self.increase,
            "decrease": self.decrease,
        }
        if self.schema is None:
            return Schema.infer(X, categorical=self.categorical, **limits)
        if not isinstance(self.schema, Schema):
            kind = type(self.schema).__name__
            raise TypeError(f"schema must be a Schema, such as Schema.infer(X), got {kind}.")
        if self.categorical is not None:
            raise ValueError(
                "Give either schema or categorical, not both: a schema says what is categorical."
            )
        return self.schema.constrain(**limits)

    def of_signals(self) -> Any:
        """Give the mask of cells that may not change, and refuse what is for tables only."""
        names = ("schema", "categorical", "ranges", "increase", "decrease")
        given = [name for name in names if getattr(self, name) not in (None, ())]
        if given:
            raise ValueError(
                f"{given[0]} is for the columns of tables; images and series take immutable, a mask of "
                f"cells, and rule. Leave {given[0]} out."
            )
        return self.immutable


def learn(
    model: Any, X: Any, constraints: Constraints, codec: Codec | None, rng: np.random.Generator
) -> tuple[BlackBox, Population]:
    """Read known instances and have the model label them."""
    if codec is None:
        codec = chosen_codec(X, model)
    if codec is None:
        return _learn_table(model, X, constraints, rng)
    return _learn_signals(model, X, constraints, codec, rng)


def chosen_codec(X: Any, model: Any = None) -> Codec | None:
    """Choose a codec for images and series whose caller names none; None for tables.

    An array of two dimensions is a table, unless the model is made for series. One of three holds series of
    channels, (n, channels, length), as aeon has them, unless both sides are equal and long enough for an
    image; one of four holds images. Windows part a time axis into some two dozen blocks, and a height and
    width into seven.

    Examples
    --------
    >>> chosen_codec(np.zeros((5, 2, 96)))
    Kernel(window=(1, 4))
    >>> chosen_codec(np.zeros((5, 3)))
    """
    shape = np.shape(X)[1:] if isinstance(X, np.ndarray) else ()
    if len(shape) == 1 and classifies_series(model):
        return Kernel(_window(shape[0]))
    is_image = len(shape) == 3 or (len(shape) == 2 and shape[0] == shape[1] >= SIDE)
    if is_image:
        return Kernel((*(max(1, round(length / TILES)) for length in shape[:2]), *[1] * (len(shape) - 2)))
    return Kernel((1, _window(shape[1]))) if len(shape) == 2 else None


def _window(length: int) -> int:
    return max(1, round(length / BLOCKS))


def _learn_table(
    model: Any, X: Any, constraints: Constraints, rng: np.random.Generator
) -> tuple[BlackBox, Population]:
    schema = constraints.of_table(X)
    if not schema.actionable:
        raise ValueError("Every feature is immutable, so nothing can change; leave at least one free.")
    schema, rows, _ = schema.read(X).valid()
    schema = schema.seen_in(rows)
    view = Direct(schema)
    blackbox = BlackBox(model, view, schema.decode(rows[:EXAMPLES]))
    labels = _checked(blackbox.predict(rows))
    return blackbox, Population.of(schema, rows, labels).sample(rng, MOST)


def _learn_signals(
    model: Any, X: Any, constraints: Constraints, codec: Codec, rng: np.random.Generator
) -> tuple[BlackBox, Population]:
    X = as_signals(X)
    view = Through.of(X, codec, constraints.of_signals())
    if not view.latent.actionable:
        raise ValueError("Every cell is immutable, so nothing can change; leave some free.")
    most = max(100, min(CELLS // len(view.schema.features), LATENT_CELLS // len(view.latent.features)))
    # Sampled before they are labelled: a network takes longer than all else.
    known = X if len(X) <= most else X[np.sort(rng.permutation(len(X))[:most])]
    instances = view.read(known).valid().instances
    view = view.within(instances.rows)
    blackbox = BlackBox(model, view, known[:EXAMPLES])
    labels = _checked(blackbox.about(instances).predict(instances.rows, np.arange(len(known))))
    return blackbox, Population(view.latent, instances.rows, labels, view.distance(instances.rows))


def _checked(labels: Labels) -> Labels:
    """Refuse labels that are all the same."""
    if labels.ndim == 1 and (labels == labels[0]).all():
        raise ValueError(
            f"The model decides every known instance as {labels[0].item()!r}: X shows no other decision. "
            f"Give known instances of at least two decisions."
        )
    return labels

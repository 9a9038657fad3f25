"""How searches see the caller's instances: tables directly, images and series through a codec.

A search works on rows only. A view reads the caller's instances into cells, turns cells into rows, and
decodes rows into the model's input. For a table, the cells are the rows. With a codec, the rows are latent:
ζ(cells).
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.row_blocks import in_blocks
from counterpoint.codecs import Codec, LocalCodec
from counterpoint.data.distance import Distance, Euclidean
from counterpoint.data.problems import InvalidError, Problem
from counterpoint.data.schema import Feature, Schema, TableReading
from counterpoint.data.signals import as_signals, read_signals, signal_schema
from counterpoint.data.tables import TableFormat, refuse_masked
from counterpoint.data.types import Indices, Rows

# The decoder is tried on this many known instances, to see how far each latent feature moves what it decodes
# to.
PROBED = 20


class Instances(NamedTuple):
    """Instances as cells, in the caller's units, and as rows."""

    cells: Rows
    rows: Rows
    labels: pd.Index | None = None  # the index of the caller's table, if it has one

    def take(self, indices: Indices) -> Instances:
        """Keep some instances; those without an index are named by their position."""
        labels = pd.RangeIndex(len(self.rows)) if self.labels is None else self.labels
        return Instances(self.cells[indices], self.rows[indices], labels.take(indices))


class Sight(NamedTuple):
    """The instances of one call, the view that read them, and the values that cannot be explained."""

    view: View
    instances: Instances
    problems: tuple[Problem, ...] = ()

    def valid(self, what: str = "X") -> Sight:
        """Raise an error for instances that cannot be explained."""
        if self.problems:
            raise InvalidError(self.problems, what)
        return self

    def with_problems(self, more: Iterable[Problem]) -> Sight:
        """Add values that cannot be explained, in order of rows."""
        problems = sorted((*self.problems, *more), key=lambda problem: problem.row)
        return self._replace(problems=tuple(problems))

    def split(self) -> tuple[Sight, Indices]:
        """Leave out the rows that cannot be explained, and return the indices of the others."""
        bad = [problem.row for problem in self.problems]
        good = np.setdiff1d(np.arange(len(self.instances.rows)), bad)
        return (self._replace(instances=self.instances.take(good)) if bad else self), good


class View(Protocol):
    """Converts the caller's instances to rows, and rows to the model's input."""

    @property
    def schema(self) -> Schema:
        """The schema of an instance's cells."""
        ...

    @property
    def latent(self) -> Schema:
        """What the features of a row are."""
        ...

    @property
    def name(self) -> str:
        """The codec in words; empty if there is none."""
        ...

    def read(self, X: Any) -> Sight:
        """Read many instances; the view in the result may know more values than this one."""
        ...

    def read_one(self, x: Any) -> Sight:
        """Read one instance."""
        ...

    def decode(self, rows: Rows, about: Instances, instance: Indices) -> Any:
        """Decode rows into the model's input; `instance` gives the instance of each row."""
        ...

    def cells(self, rows: Rows, about: Instances, instance: Indices) -> Rows:
        """Decode rows into cells."""
        ...

    def known(self, rows: Rows) -> Instances:
        """Make the rows of known instances into instances."""
        ...

    def distance(self, rows: Rows) -> Distance:
        """Learn the distance between rows from known ones."""
        ...


@dataclass(frozen=True)
class Direct:
    """Tables: the cells are the rows."""

    schema: Schema

    @property
    def latent(self) -> Schema:
        """What the features of a row are."""
        return self.schema

    @property
    def name(self) -> str:
        """Empty: there is no codec."""
        return ""

    def read(self, X: Any) -> Sight:
        """Read a table."""
        return self._sight(self.schema.read(X), _labels(X))

    def read_one(self, x: Any) -> Sight:
        """Read one instance."""
        return self._sight(self.schema.read_one(x), None)

    def _sight(self, reading: TableReading, labels: pd.Index | None) -> Sight:
        view = self if reading.schema is self.schema else Direct(reading.schema)
        return Sight(view, Instances(reading.rows, reading.rows, labels), reading.problems)

    def decode(self, rows: Rows, about: Instances, instance: Indices) -> Any:
        """Build a table in the caller's format."""
        return self.schema.decode(rows)

    def cells(self, rows: Rows, about: Instances, instance: Indices) -> Rows:
        """Return the rows themselves."""
        return rows

    def known(self, rows: Rows) -> Instances:
        """Make the rows of known instances into instances."""
        return Instances(rows, rows)

    def distance(self, rows: Rows) -> Distance:
        """Learn the paper's mixed distance."""
        return Distance.fit(self.schema, rows)


@dataclass(frozen=True)
class Through:
    """Images and series, seen through a codec.

    What a row does not change is kept from x exactly. If latent features stand for certain cells
    (`LocalCodec`), the cells of all features with x's value are kept, and the others are decoded. With any
    other codec, the whole instance is decoded, and x's own row stands for x itself.
    """

    schema: Schema
    latent: Schema
    codec: Codec
    fixed: NDArray[np.bool_]  # cells that may not change

    @classmethod
    def of(cls, X: Any, codec: Codec, fixed: Any = None) -> Through:
        """Learn the shape, dtype and range of instances; an unfitted codec is copied and fitted."""
        X = as_signals(X)
        schema = signal_schema(X)
        mask = _mask(fixed, schema)
        if not getattr(codec, "is_fitted", False):
            codec = copy(codec).fit(X)
        if mask.any() and not isinstance(codec, LocalCodec):
            raise ValueError(
                f"immutable does not work with {codec!r}: each of its latent features affects every cell, "
                f"so no region can be kept as it is. Use Identity() or Kernel(), or leave immutable out."
            )
        schema = replace(
            schema,
            features=tuple(
                replace(feature, immutable=bool(kept))
                for feature, kept in zip(schema.features, mask, strict=True)
            ),
        )
        view = cls(schema, schema, codec, mask)
        return replace(view, latent=view._latent(view._tried(X[:2]).shape[1]))

    @property
    def name(self) -> str:
        """The codec, in words."""
        own = type(self.codec).__repr__ is object.__repr__
        return type(self.codec).__name__ if own else repr(self.codec)

    def within(self, rows: Rows) -> Through:
        """Limit latent features to the range of the known rows."""
        if isinstance(self.codec, LocalCodec):
            return self
        limits = zip(self.latent.features, rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
        features = tuple(replace(feature, seen=(low, high)) for feature, low, high in limits)
        return replace(self, latent=replace(self.latent, features=features))

    def read(self, X: Any) -> Sight:
        """Read many instances."""
        signals, problems = read_signals(as_signals(X), self.schema, "X")
        cells = signals.reshape(len(signals), -1).astype(np.float64)
        return Sight(self, Instances(cells, self.encode(signals), _labels(X)), problems)

    def read_one(self, x: Any) -> Sight:
        """Read one instance, with or without a leading axis of length 1."""
        refuse_masked(x)
        signal = np.asarray(x)
        if signal.shape == (1, *self.schema.form.shape):
            signal = signal[0]
        if signal.shape != self.schema.form.shape:
            raise ValueError(
                f"x must be one instance of the shape of the known ones, {self.schema.form.shape}, got an "
                f"array of shape {signal.shape}."
            )
        return self.read(signal[None])

    def encode(self, signals: NDArray[Any]) -> Rows:
        """Encode instances, and check the result."""
        rows = np.asarray(self.codec.encode(signals), dtype=np.float64)
        if rows.ndim != 2 or len(rows) != len(signals):
            raise ValueError(
                f"{_name(self.codec)}.encode must return one row per instance: {len(signals)} instances of "
                f"shape {signals.shape[1:]}, got an array of shape {rows.shape}."
            )
        if not np.isfinite(rows).all():
            raise ValueError(f"{_name(self.codec)}.encode returned NaN or infinity for some instances.")
        return rows

    def decode(self, rows: Rows, about: Instances, instance: Indices) -> Any:
        """Decode rows into instances with the caller's shape, dtype and value range."""

        def finished(decoded: NDArray[Any], rows: Rows, instance: Indices) -> NDArray[Any]:
            return np.where(
                self._kept(rows, about.rows[instance]), self._held(about.cells[instance]), self._held(decoded)
            )

        decoded = self._decoded(rows)
        whole = in_blocks(decoded.shape[1], finished, decoded, rows, instance)
        return whole.reshape(len(rows), *self.schema.form.shape)

    def cells(self, rows: Rows, about: Instances, instance: Indices) -> Rows:
        """Decode rows into cells."""
        if not len(rows):
            return about.cells[:0]
        return np.asarray(self.decode(rows, about, instance).reshape(len(rows), -1), dtype=np.float64)

    def known(self, rows: Rows) -> Instances:
        """Make the rows of known instances into instances: what the codec decodes them to."""
        return Instances(self._held(self._decoded(rows)).astype(np.float64), rows)

    def distance(self, rows: Rows) -> Distance:
        """Learn a distance of rows that approximates the Euclidean distance of what they decode to."""
        return Euclidean.weighted(self._reach(rows), np.median(rows, axis=0))

    def _tried(self, signals: NDArray[Any]) -> Rows:
        """Encode and decode some instances, to check that the codec fits them."""
        try:
            rows = self.encode(signals)
            self._decoded(rows)
            local = isinstance(self.codec, LocalCodec) and self.codec.cells.shape != self.schema.form.shape
        except Exception as error:
            raise ValueError(self._unfit(f"{type(error).__name__}: {error}")) from error
        if local:
            raise ValueError(self._unfit(f"its cells are of shape {self.codec.cells.shape}"))  # type: ignore[attr-defined]
        return rows

    def _unfit(self, why: str) -> str:
        return (
            f"{_name(self.codec)} does not encode and decode instances of shape {self.schema.form.shape}: "
            f"{why} If it was fitted on other instances, give an unfitted one, or one fitted on these."
        )

    def _decoded(self, rows: Rows) -> NDArray[Any]:
        """Decode rows, and check and clip the result."""
        shape = self.schema.form.shape
        signals = np.asarray(self.codec.decode(rows))
        if signals.shape != (len(rows), *shape):
            raise ValueError(
                f"{_name(self.codec)}.decode must return instances of shape {shape}: {len(rows)} rows, "
                f"got an array of shape {signals.shape}."
            )
        low, high = self.schema.features[0].seen
        flat = signals.reshape(len(rows), -1)
        # Not with `initial`, which takes the dtype of the codec's output.
        least, most = (flat.min(), flat.max()) if flat.size else (low, high)
        if np.isnan(least):
            raise ValueError(f"{_name(self.codec)}.decode returned NaN for some rows.")
        # Most are within the range, and checking is faster than copying.
        if least < low or most > high:
            flat = np.clip(flat, low, high)
        return np.asarray(flat)

    def _held(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Round cells to what the caller's instances can hold."""
        dtype = self.schema.form.dtypes[0]
        whole = dtype.kind in "iu" and cells.dtype.kind == "f"
        return (np.rint(cells) if whole else cells).astype(dtype, copy=False)

    def _kept(self, rows: Rows, x: Rows) -> NDArray[np.bool_]:
        """Tell which cells keep x's value."""
        same = rows == x
        if self._features is None:
            return np.asarray(same.all(axis=1)[:, None])
        return np.asarray(np.take(same, self._features, axis=1) | self.fixed)

    @cached_property
    def _features(self) -> Indices | None:
        """The latent feature that each cell depends on, if there is exactly one."""
        return self.codec.cells.ravel() if isinstance(self.codec, LocalCodec) else None

    def _latent(self, width: int) -> Schema:
        """Make the schema of rows; features that stand for certain cells have the value range of cells."""
        names = tuple(f"z{i}" for i in range(width))
        if not isinstance(self.codec, LocalCodec):
            features = tuple(Feature(name) for name in names)
            return Schema(features, TableFormat("array", names, (np.dtype(np.float64),) * width))
        cell, dtype = self.schema.features[0], self.schema.form.dtypes[0]
        free = np.bincount(self.codec.cells.ravel(), weights=~self.fixed, minlength=width) > 0
        features = tuple(
            Feature(name, seen=cell.seen, step=cell.step, immutable=not free[i])
            for i, name in enumerate(names)
        )
        return Schema(features, TableFormat("array", names, (dtype,) * width))

    def _reach(self, rows: Rows) -> NDArray[np.float64]:
        """Measure how far one unit of each latent feature moves what a row decodes to."""
        if isinstance(self.codec, LocalCodec):
            return np.sqrt(np.bincount(self.codec.cells.ravel(), minlength=rows.shape[1]))
        probes = rows[np.linspace(0, len(rows) - 1, min(PROBED, len(rows))).astype(np.intp)]
        step = np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0) / 2
        moved = np.concatenate([probes, *(probes + step * axis for axis in np.eye(rows.shape[1]))])
        decoded = (
            self._held(self._decoded(moved)).astype(np.float64).reshape(rows.shape[1] + 1, len(probes), -1)
        )
        reach = np.sqrt(np.square(decoded[1:] - decoded[:1]).sum(axis=2).mean(axis=1)) / step
        return np.asarray(np.where(reach > 0, reach, reach[reach > 0].min(initial=1.0)))


def _labels(X: Any) -> pd.Index | None:
    """Return the index of the caller's instances, which only pandas frames have."""
    return X.index if isinstance(X, pd.DataFrame) else None


def _mask(fixed: Any, schema: Schema) -> NDArray[np.bool_]:
    """Read a mask of cells that may not change."""
    shape = schema.form.shape
    if fixed is None or (not isinstance(fixed, np.ndarray) and not len(fixed)):
        return np.zeros(len(schema.features), dtype=np.bool_)
    mask = np.asarray(fixed)
    if mask.shape != shape or mask.dtype != np.bool_:
        raise ValueError(
            f"immutable must be a mask of an instance's cells, True where nothing may change: an array of "
            f"bools of shape {shape}, got {mask.dtype} of shape {mask.shape}."
        )
    return mask.ravel()


def _name(codec: Codec) -> str:
    return type(codec).__name__

"""Saving a fitted explainer without its model, and loading it again.

The file is a zip of one JSON document and some arrays. Nothing in it is pickled and it causes no imports, so
loading a file runs no code from the file's author.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.archive import read_array
from counterpoint._util.atomic import replacing
from counterpoint._util.damage import DamagedError, check_size
from counterpoint._util.short_text import one_line
from counterpoint.codecs import PCA, Autoencoder, Codec, Identity, Kernel
from counterpoint.data import plain as storage
from counterpoint.data.distance import Distance, Euclidean
from counterpoint.data.known import Population
from counterpoint.data.problems import listed
from counterpoint.data.schema import Schema
from counterpoint.data.search_distance import Judge, Mixed
from counterpoint.data.stored import check_codec, check_known, check_parameters
from counterpoint.data.types import Labels, Rows
from counterpoint.explainers import Explainer
from counterpoint.explainers.fitting import Fitted
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.follows import Follows, Function
from counterpoint.model.representation import Direct, Instances, Through, View
from counterpoint.search.polish import Polish
from counterpoint.search.task import Rule
from counterpoint.selection.selection import Selection

FORMAT = "counterpoint explainer"
VERSION = 3
TEXT = "explainer.json"

# The model of a loaded explainer is asked about at most this many known instances, to check that it is right.
ASKED = 100

# Codecs that are saved with what they learned, and parameters that are objects other than explainers.
SAVED_CODECS = (Identity, Kernel, PCA, Autoencoder)
PARTS = (Polish, Selection, Mixed, Judge, *SAVED_CODECS)

# Stands for a custom codec.
OWN = {"codec": "own"}

Plain = Any


def save(explainer: Explainer, path: str | os.PathLike[str]) -> None:
    """Save a fitted explainer to a file, without its model; `load` reads it back.

    Parameters
    ----------
    explainer
        A fitted explainer. Its parameters must be plain data: numbers, strings, lists, other explainers.
    path
        The file to write. An existing file is replaced only when the new one is complete.

    Examples
    --------
    >>> import tempfile
    >>> import counterpoint as cp
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> def model(rows):
    ...     return rows[:, 0] > 0
    >>> explainer = cp.Tree().fit(model, X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(explainer, folder + "/tree.cp")
    ...     again = load(folder + "/tree.cp", model)
    >>> bool((again.explain(X[0]).rows == explainer.explain(X[0]).rows).all())
    True
    """
    fitted = explainer._fitted()
    known, codec = fitted.known, _codec(fitted.view)
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "explainer": _to_plain(explainer, type(explainer).__name__),
        "schema": storage.schema_to_plain(fitted.schema),
        "latent": storage.schema_to_plain(known.schema) if codec else None,
        "codec": _to_plain(codec, "codec") if codec else None,
        "rule": fitted.rule is not None,
    }
    arrays = {"rows": known.rows, "labels": known.labels}
    if codec:
        # Known rows do not decode to exactly what they were, so the model's labels may differ too.
        arrays["said"] = fitted.blackbox.about(_nowhere(fitted.view)).predict(_asked(known.rows))
    if isinstance(codec, SAVED_CODECS):
        arrays |= {f"codec.{name}": array for name, array in codec.arrays().items()}
    arrays |= {f"distance.{field.name}": getattr(known.distance, field.name) for field in fields(Distance)}
    _write(Path(path), json.dumps(meta, allow_nan=False), arrays)


def load(
    path: str | os.PathLike[str],
    model: Any,
    *,
    rule: Rule | None = None,
    follows: Mapping[Any, Function] | None = None,
    codec: Codec | None = None,
) -> Explainer:
    """Load a fitted explainer that `save` wrote; it gives the same answers as the original.

    Parameters
    ----------
    path
        The file to read.
    model
        The model that the explainer was fitted with, which is not in the file. It is asked about some known
        instances, to check that its decisions are the same.
    rule
        The user's test of candidates; required if the saved explainer had one.
    follows
        The functions of columns that follow others; required if the saved explainer had some.
    codec
        The fitted custom codec; required if the saved explainer had one. The codecs of this library are saved
        in the file.

    Examples
    --------
    >>> import tempfile
    >>> import counterpoint as cp
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(cp.Sphere(seed=3).fit(lambda rows: rows[:, 0] > 0, X), folder + "/sphere.cp")
    ...     load(folder + "/sphere.cp", lambda rows: rows[:, 0] > 0)
    Sphere(directions=100, radius=4.0, rounds=3, seed=3)
    """
    saved = _read(Path(path))
    if saved.rule and rule is None:
        raise ValueError(
            f"The explainer in {path} was fitted with a rule, which is not in the file; give rule= again."
        )
    if rule is not None and not callable(rule):
        raise TypeError(f"rule must be a function from candidates and x to a mask, got {rule!r}.")
    computed = _follows(path, saved.schema, follows)
    view = saved.view(path, codec)
    asked = _asked(saved.known.rows)
    try:
        example = view.decode(asked, _nowhere(view), np.zeros(len(asked), dtype=np.intp))
    except Exception as error:
        if saved.codec == OWN:
            raise
        raise _unreadable(path, error) from error
    blackbox = BlackBox(model, view, example)
    _check_model(blackbox.about(_nowhere(view)).predict(asked), saved.said)
    return saved.explainer.keep(Fitted(blackbox, saved.known, rule, follows=computed))


def _follows(path: Any, schema: Schema, follows: Mapping[Any, Function] | None) -> Follows | None:
    """Read the functions of columns that follow others, which are not in the file."""
    names = {feature.name for feature in schema.features if feature.follows}
    if names != set(follows or ()):
        raise ValueError(
            f"The explainer in {path} was fitted with functions for {listed(sorted(names, key=str))}, which "
            f"are not in the file, got {listed(list(follows or ()))}; give follows= again."
        )
    return Follows.of(follows, schema) if follows else None


@dataclass(frozen=True)
class _Saved:
    """The contents of a file."""

    explainer: Explainer
    schema: Schema
    known: Population
    rule: bool
    said: Labels  # the model's labels of some known rows
    codec: Any  # None for tables, OWN for a custom codec

    def view(self, path: Any, codec: Codec | None) -> View:
        """Return the view of instances, with the codec in the file or the custom one."""
        if self.codec is None:
            return Direct(self.schema)
        if self.codec == OWN and codec is None:
            raise ValueError(
                f"The explainer in {path} was fitted with a custom codec, which is not in the file; "
                f"give codec=."
            )
        found: Any = codec if self.codec == OWN else self.codec
        if self.codec == OWN:
            self.explainer.codec = codec
        fixed = np.array([feature.immutable for feature in self.schema.features])
        return Through(self.schema, self.known.schema, found, fixed)


def _asked(rows: Rows) -> Rows:
    """Choose the known instances that the model of a loaded explainer is asked about."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, ASKED).astype(np.intp))]


def _nowhere(view: View) -> Instances:
    """Make an instance that shares no value with any row, so that rows are decoded in full."""
    rows = np.full((1, len(view.latent.features)), np.nan)
    return Instances(np.zeros((1, len(view.schema.features))), rows)


def _write(path: Path, text: str, arrays: dict[str, NDArray[Any]]) -> None:
    """Write a JSON document and arrays to a zip file."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"Cannot save to {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise IsADirectoryError(f"Cannot save to {path}: it is a folder; give the name of a file.")
    write: Any = np.lib.format.write_array
    with replacing(path) as file, ZipFile(file, "w") as archive:
        # A new ZipInfo has no date, so the same explainer gives the same file.
        archive.writestr(ZipInfo(TEXT), text, ZIP_DEFLATED)
        for name, array in arrays.items():
            with archive.open(_deflated(f"{name}.npy"), "w", force_zip64=True) as member:
                write(member, np.asarray(array), allow_pickle=False)


def _deflated(name: str) -> ZipInfo:
    info = ZipInfo(name)
    info.compress_type = ZIP_DEFLATED
    return info


def _read(path: Path) -> _Saved:
    """Read a file, or raise an error if it is not ours, has another version, or is damaged."""
    with path.open("rb") as file:
        try:
            with ZipFile(file) as archive:
                check_size(archive.getinfo(TEXT).file_size, path.stat().st_size, TEXT)
                meta = json.loads(archive.read(TEXT))
                _check_format(path, meta)
                names = _needed(archive, meta["codec"])
                sizes = sum(archive.getinfo(f"{name}.npy").file_size for name in names)
                check_size(sizes, path.stat().st_size, "its arrays")
                arrays = {name: read_array(archive, f"{name}.npy") for name in names}
        except _VersionError:
            raise
        except Exception as error:  # a damaged zip can raise anything
            raise _unreadable(path, error) from error
    return _restore(path, meta, arrays)


def _check_format(path: Path, meta: Any) -> None:
    if meta["format"] != FORMAT:
        raise DamagedError(f"its format is {meta['format']!r}")
    if meta.get("version") != VERSION:
        raise _VersionError(
            f"{path} has format version {meta.get('version')}, but this counterpoint reads {VERSION}. "
            f"Load it with the version that saved it, or fit and save again."
        )


class _VersionError(ValueError):
    """A file is of another version of Counterpoint."""


def _needed(archive: ZipFile, codec: Plain) -> list[str]:
    """List the arrays to read; what else is in the file is left alone."""
    names = ["rows", "labels", *(f"distance.{field.name}" for field in fields(Distance))]
    if codec is None:
        return names
    learned = [name for name in archive.namelist() if name.startswith("codec.") and name.endswith(".npy")]
    return [*names, "said", *(name.removesuffix(".npy") for name in learned)]


def _restore(path: Path, meta: dict[str, Plain], arrays: dict[str, NDArray[Any]]) -> _Saved:
    """Make the parts of an explainer from plain data and arrays."""
    try:
        explainer = _from_plain(meta["explainer"])
        schema = storage.schema_from_plain(meta["schema"])
        stored = {field.name: arrays[f"distance.{field.name}"] for field in fields(Distance)}
        scales: dict[str, Any] = {name: each if each.ndim else each.item() for name, each in stored.items()}
        distance = Distance(**scales)
        rows, labels = arrays["rows"], arrays["labels"]
        codec = _restored_codec(meta["codec"], arrays)
        latent = schema if codec is None else storage.schema_from_plain(meta["latent"])
        if codec is not None:
            distance = Euclidean(**scales)
        check_known(latent, rows, labels, distance)
        check_codec(schema, arrays)
        known = Population(latent, rows, labels, distance)
        said = _asked(labels) if codec is None else arrays["said"]
        return _Saved(explainer, schema, known, bool(meta["rule"]), said, codec)
    except (_UnknownClassError, ImportError):
        raise
    except Exception as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Any, why: object) -> DamagedError:
    said = one_line(str(why), 300).rstrip(". ") or type(why).__name__
    return DamagedError(f"{path} is not a saved explainer, or it is damaged: {said}.")


def _check_model(labels: Labels, expected: Labels) -> None:
    """Raise an error if a model decides known instances differently than the explainer's original model."""
    if labels.shape == expected.shape and labels.dtype.kind == expected.dtype.kind == "f":
        # The outputs of the same model can differ in the last digits on another machine.
        same = np.isclose(labels, expected, rtol=1e-4, atol=1e-6)
    else:
        same = labels == expected if labels.shape == expected.shape else np.zeros(len(labels), dtype=np.bool_)
    wrong = ~np.asarray(same).reshape(len(labels), -1).all(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"The model decides {int(wrong.sum())} of {len(labels)} known instances differently from the one "
            f"the explainer was fitted with, the first as {labels[first]!s} instead of {expected[first]!s}. "
            f"Load it with that model, or fit again."
        )


def _codec(view: View) -> Codec | None:
    return view.codec if isinstance(view, Through) else None


def _restored_codec(plain: Plain, arrays: dict[str, NDArray[Any]]) -> Any:
    """Make a codec from its parameters and arrays; None for tables, OWN for a codec not in the file."""
    if plain is None or plain == OWN:
        return plain
    mine = {name.removeprefix("codec."): each for name, each in arrays.items() if name.startswith("codec.")}
    return _from_plain(plain).with_arrays(mine)


class _UnknownClassError(ValueError):
    """A file names an explainer whose class is not imported."""


def _to_plain(value: Any, where: str) -> Plain:
    """Turn a parameter into plain data; `where` names it in errors."""
    if isinstance(value, Codec) and not isinstance(value, (Explainer, *PARTS)):
        return OWN
    if isinstance(value, (Explainer, *PARTS)):
        if not is_dataclass(value):
            raise TypeError(f"{where} cannot be saved: {type(value).__name__} must be a dataclass.")
        names = [field.name for field in fields(value) if field.init]
        parameters = {name: _to_plain(getattr(value, name), f"{where}.{name}") for name in names}
        return {"class": [type(value).__module__, type(value).__qualname__], "parameters": parameters}
    if isinstance(value, list | tuple):
        tag = "list" if isinstance(value, list) else "tuple"
        return {tag: [_to_plain(part, f"{where}[{i}]") for i, part in enumerate(value)]}
    if isinstance(value, dict):
        pairs = [(_to_plain(key, where), _to_plain(part, f"{where}[{key!r}]")) for key, part in value.items()]
        return {"dict": [list(pair) for pair in pairs]}
    try:
        return storage.value_to_plain(value)
    except TypeError:
        raise TypeError(
            f"{where} cannot be saved: {value!r} is not plain data. Use numbers, strings, bools, None, lists "
            f"of them, or explainers."
        ) from None


def _from_plain(plain: Plain) -> Any:
    """Turn plain data back into a parameter."""
    if plain == OWN:
        return None
    if not isinstance(plain, dict):
        return plain
    if "class" in plain:
        kind = _find_class(*plain["class"])
        parameters = {name: _from_plain(value) for name, value in plain["parameters"].items()}
        check_parameters(kind, parameters)
        return kind(**parameters)
    ((tag, content),) = plain.items()
    if tag in ("list", "tuple"):
        parts = [_from_plain(part) for part in content]
        return parts if tag == "list" else tuple(parts)
    if tag == "dict":
        return {_from_plain(key): _from_plain(value) for key, value in content}
    return storage.value_from_plain(plain)


def _find_class(module: str, name: str) -> type[Any]:
    """Find a class by name among the imported ones; the file must not choose which code runs."""
    named = [kind for kind in (*_subclasses(Explainer), *PARTS) if kind.__qualname__ == name]
    here = [kind for kind in named if kind.__module__ == module]
    if here:
        return here[-1]  # a notebook cell that ran twice has defined it twice
    if len(named) == 1:
        return named[0]
    raise _UnknownClassError(
        f"The saved explainer is a {name}, which {module} defines. Import {module} before loading."
        if not named
        else f"The saved explainer is the {name} of {module}, but only others with that name are imported: "
        f"{[kind.__module__ for kind in named]}. Import {module} before loading."
    )


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for subclass in kind.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)

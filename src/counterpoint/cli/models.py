"""Opening a model: from a file, by its name's ending, by an address, or from Python, as `module:object`."""

from __future__ import annotations

import hashlib
import importlib
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterpoint._util.short_text import one_line
from counterpoint.cli.boosters import Booster, open_lightgbm, open_xgboost
from counterpoint.cli.errors import InputError, need
from counterpoint.cli.remote_models import (
    address_fingerprint,
    is_address,
    is_registered,
    open_address,
    open_registered,
    registered_fingerprint,
    registered_names,
)
from counterpoint.cli.skops_files import open_skops
from counterpoint.cli.trial import TrialError, try_to_open
from counterpoint.model.adapters import Network, OnnxModel, TorchModel


@dataclass(frozen=True)
class Request:
    """Which model is wanted, and what the user allows for it.

    Parameters
    ----------
    text
        A path, the address of a server, `models:/name/version` of MLflow, or `module:object`.
    classes
        Names of the classes, for files that know only their numbers.
    trusted
        Types that a skops file may hold beyond those that skops itself trusts.
    allow_pickle
        Whether pickle files, and models of MLflow, are opened.
    batch, timeout
        For a model on a server: rows per request, and seconds that it has for an answer. None is the default
        of `RemoteModel`.
    """

    text: str
    classes: tuple[str, ...] | None = None
    trusted: tuple[str, ...] = ()
    allow_pickle: bool = False
    batch: int | None = None
    timeout: float | None = None


@dataclass(frozen=True)
class Opened:
    """A model, and what it tells of its features: their names in order, and their number, if it does.

    `fingerprint` differs for different models; of a Python object it is that of its module's file. `file` is
    the one it was read from, if there is one.
    """

    model: Any
    names: tuple[str, ...] | None
    count: int | None
    fingerprint: str
    file: Path | None = None


def open_model(request: Request) -> Opened:
    """Open a model, or say in one sentence why not."""
    if is_registered(request.text):
        return _registered(request)
    if is_address(request.text):
        remote = open_address(request.text, request.classes, request.batch, request.timeout)
        return Opened(remote, remote.feature_names(), None, address_fingerprint(request.text))
    path = Path(request.text)
    if path.suffix.lower() not in OPENERS and ":" in request.text and not path.exists():
        return _from_python(request)
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        what = "is a folder" if path.is_dir() else what
        raise InputError(f"The model {path} {what}; give a file, an address, or module:function.")
    try:
        opener = OPENERS[path.suffix.lower()]
    except KeyError:
        raise InputError(
            f"{path} must be a model whose name ends in {', '.join(OPENERS)}, or module:function, got "
            f"{path.suffix or 'no ending'}."
        ) from None
    try:
        with warnings.catch_warnings(action="ignore"):
            model = opener(path, request)
    except (InputError, ImportError):
        raise
    except Exception as error:  # whatever the format's own library raises
        why = one_line(
            str(error) if isinstance(error, TrialError) else f"{type(error).__name__}: {error}", 300
        )
        why = why.rstrip(". ")
        raise InputError(
            f"The model {path} cannot be opened: {why}. Save it anew, or check its ending."
        ) from error
    if not isinstance(model, Network | Booster):
        _refuse_classes(request)
    return _described(model, checksum(path), path)


def _registered(request: Request) -> Opened:
    """Open a model of MLflow."""
    _refuse_classes(request)
    model = open_registered(request.text, request.allow_pickle)
    return Opened(model, registered_names(model), None, registered_fingerprint(model))


def _refuse_classes(request: Request) -> None:
    if request.classes is not None:
        raise InputError(
            f"--classes names classes of numbers, and {request.text} names its own; leave --classes out."
        )


def reopened(request: Request) -> Any:
    """Open the model again, in another process."""
    return open_model(request).model


def checksum(path: Path) -> str:
    """Compute the SHA-256 of a file, without holding it in memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def content_of(path: Path) -> str:
    """Compute a checksum of a file, or of all files in a folder by their names."""
    if not path.is_dir():
        return checksum(path)
    files = sorted(each for each in path.rglob("*") if each.is_file())
    text = "\n".join(f"{each.relative_to(path)} {checksum(each)}" for each in files)
    return hashlib.sha256(text.encode()).hexdigest()


def _onnx(path: Path, request: Request) -> Any:
    runtime = need("onnxruntime", "An ONNX model")
    try_to_open(path, "onnx")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return OnnxModel(session, classes=request.classes)


def _torchscript(path: Path, request: Request) -> Any:
    torch = need("torch", "A TorchScript model", "'counterpoint[torch]'")
    try:
        try_to_open(path, "torch")
        module = torch.jit.load(str(path), map_location="cpu")
    except (RuntimeError, TrialError) as error:
        raise InputError(
            f"{path} is no TorchScript file; save the module by torch.jit.script(module).save({path.name!r})."
        ) from error
    return TorchModel(module, classes=request.classes)


def _pickle(path: Path, request: Request) -> Any:
    if not request.allow_pickle:
        raise InputError(
            f"{path} is a pickle, which can run any code when it is opened. Better save the model by "
            f"skops.io.dump(model, '{path.stem}.skops'); or, if you trust who made it, add --allow-pickle."
        )
    return need("joblib", "A pickle").load(path)


OPENERS: dict[str, Callable[[Path, Request], Any]] = {
    ".skops": lambda path, request: open_skops(path, request.trusted),
    ".onnx": _onnx,
    ".json": lambda path, request: open_xgboost(path, request.classes),
    ".ubj": lambda path, request: open_xgboost(path, request.classes),
    ".txt": lambda path, request: open_lightgbm(path, request.classes),
    ".pt": _torchscript,
    ".ts": _torchscript,
    ".pkl": _pickle,
    ".pickle": _pickle,
    ".joblib": _pickle,
}


def _from_python(request: Request) -> Opened:
    """Import an object from a module, which may lie in the current folder."""
    name, _, attribute = request.text.partition(":")
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        thing: Any = importlib.import_module(name)
        module = thing
        for part in attribute.split("."):
            thing = getattr(thing, part)
    except (Exception, SystemExit) as error:  # the user's module may raise anything
        ended = isinstance(error, SystemExit)
        why = f"it called sys.exit({error})" if ended else f"{type(error).__name__}: {error}"
        why = one_line(why, 300).rstrip(". ")
        raise InputError(
            f"The model {request.text} cannot be imported: {why}. Give module:object of a module that Python "
            f"finds from here, such as scoring:decide for decide in scoring.py."
        ) from error
    file = getattr(module, "__file__", None)
    path = Path(file) if file else None
    return _described(thing, checksum(path) if path else name, path)


def _described(model: Any, fingerprint: str, file: Path | None) -> Opened:
    """Ask a model for its features."""
    names: Sequence[Any] | None = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if isinstance(model, OnnxModel):
        names, count = _onnx_features(model.model)
    elif isinstance(model, Booster):
        names, count = model.names, model.count
    return Opened(
        model,
        None if names is None else tuple(str(name) for name in names),
        int(count) if isinstance(count, int) else None,
        fingerprint,
        file,
    )


def _onnx_features(session: Any) -> tuple[Sequence[str] | None, int | None]:
    """Read from a session's inputs what it tells: one input per feature is named, one matrix is counted."""
    inputs = session.get_inputs()
    if len(inputs) > 1:
        return [given.name for given in inputs], len(inputs)
    shape = inputs[0].shape
    return None, shape[1] if len(shape) == 2 and isinstance(shape[1], int) else None

"""Explaining many instances in several processes, with the answers of one.

Answers do not depend on the batch, so instances are cut into pieces of whole waves. The fitted explainer is
written once to a file that all processes map into memory. joblib runs the pieces, on any of its backends.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import joblib
import numpy as np
import pandas as pd
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool
from joblib.parallel import get_active_backend
from tqdm.auto import tqdm

from counterpoint._util.blas import one_thread_each
from counterpoint._util.parcels import FileParcel, Parcel
from counterpoint.data.types import Indices
from counterpoint.explainers.fitting import Fitted
from counterpoint.explainers.run import Asked, IncompleteError, Method, Settings, complete, waves
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.model.representation import Sight, View

# Each process gets about this many pieces, and a piece has at most this many waves: it bounds memory, and no
# process waits long for the last one.
PIECES, WAVES = 8, 8

# A piece whose worker dies this often, the last time alone, is given up.
DEATHS = 3

_LOCAL = ("LokyBackend", "MultiprocessingBackend", "ThreadingBackend", "SequentialBackend")


class WorkerWarning(RuntimeWarning):
    """A worker process died; its instances are explained again."""


class WorkerError(RuntimeError):
    """Every worker process that explained these instances died."""


class Explaining(Method, Protocol):
    """What a worker asks of an explainer."""

    def _fitted(self) -> Fitted: ...

    def _explain(self, sight: Sight, settings: Settings, progress: bool) -> Explanations: ...


@dataclass(frozen=True)
class Piece:
    """Some instances in succession; `view` is None if it is the explainer's own."""

    start: int
    sight: Sight
    settings: Settings

    def __len__(self) -> int:
        return len(self.sight.instances.rows)


@dataclass(frozen=True)
class Done:
    """What became of a piece: answers by their places in it, errors by theirs, and the cost."""

    items: dict[int, Explanation]
    failed: dict[int, Exception]
    calls: int = 0
    rows: int = 0


def check_jobs(jobs: Any) -> int:
    """Refuse what is not a number of jobs.

    Examples
    --------
    >>> check_jobs(0)
    Traceback (most recent call last):
        ...
    ValueError: jobs must be a number of processes, or -1 for one per core, got 0.
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int | np.integer):
        raise TypeError(f"jobs must be a whole number, got {jobs!r}.")
    if jobs == 0:
        raise ValueError(f"jobs must be a number of processes, or -1 for one per core, got {jobs}.")
    return int(jobs)


def explain_in_parallel(
    explainer: Explaining, sight: Sight, settings: Settings, progress: bool, jobs: int
) -> Explanations:
    """Explain instances in several processes; the answers are those of one."""
    valid, indices = sight.split()
    pieces = _cut(valid, indices, settings, max(1, joblib.effective_n_jobs(jobs)))
    if len(pieces) < 2:
        return explainer._explain(sight, settings, progress)
    own = explainer._fitted().view
    shown = tqdm(total=len(indices), desc="explaining", unit="decision", disable=not progress)
    with shown as bar, _sent(explainer) as (parcel, folder):
        done = _Crew(parcel, folder, own, jobs).work(pieces, bar)
    return _joined(pieces, done, sight, indices, Asked(explainer, settings))


def _cut(sight: Sight, indices: Indices, settings: Settings, jobs: int) -> list[Piece]:
    """Cut instances where a wave ends, so that every process asks the model what one process would ask."""
    cut = waves(sight.instances.rows)
    together = int(np.clip(len(cut) // (jobs * PIECES), 1, WAVES))
    pieces = []
    for first in range(0, len(cut), together):
        places = np.concatenate(cut[first : first + together])
        own = tuple(settings.limits[index] for index in indices[places]) if settings.limits else ()
        part = Sight(sight.view, sight.instances.take(places))
        pieces.append(Piece(int(places[0]), part, replace(settings, limits=own)))
    return pieces


@contextmanager
def _sent(explainer: Explaining) -> Iterator[tuple[Parcel | FileParcel, Path | None]]:
    """Pack an explainer: into a file for processes of this machine, else as bytes."""
    backend, _ = get_active_backend()
    if type(backend).__name__ not in _LOCAL:
        yield packed(explainer), None
        return
    with _telling_the_cure():
        parcel = FileParcel.of(explainer, Path(parcels().name))
    with TemporaryDirectory(prefix="counterpoint-", ignore_cleanup_errors=True) as name:
        yield parcel, Path(name)


@cache
def parcels() -> TemporaryDirectory[str]:
    """Make a folder for packed explainers, which is removed at the end of this process."""
    # They are kept, so that workers that have opened one need not open it again in the next call.
    return TemporaryDirectory(prefix="counterpoint-", ignore_cleanup_errors=True)


def packed(explainer: Any) -> Parcel:
    """Pack an explainer as bytes, or say what to do if it cannot be."""
    with _telling_the_cure():
        return Parcel.of(explainer)


@contextmanager
def _telling_the_cure() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever the model's own library raises
        raise TypeError(
            f"The explainer cannot be sent to other processes: {type(error).__name__}: {error}. If it is the "
            f"model, tell how they open it: explainer.model_from(function), where function() returns it."
        ) from error


@dataclass
class _Crew:
    """Worker processes, and what they have done."""

    parcel: Parcel | FileParcel
    folder: Path | None
    view: View
    jobs: int
    done: dict[int, Done] = field(default_factory=dict)
    deaths: Counter[int] = field(default_factory=Counter)
    vain: int = 0  # how often in succession workers died before they began

    def work(self, pieces: Sequence[Piece], bar: Any) -> list[Done]:
        """Have all pieces done; those whose worker died are done again, each alone."""
        while left := [number for number in range(len(pieces)) if number not in self.done]:
            suspects = [number for number in left if self.deaths[number]]
            chosen = suspects[:1] or left
            try:
                for number, result in self._results({number: pieces[number] for number in chosen}):
                    self.done[number] = result
                    bar.update(len(pieces[number]))
            except BrokenProcessPool as error:
                stop_workers()
                self._count_deaths(pieces, chosen, error)
            except BaseException:
                stop_workers()
                raise
        return [self.done[number] for number in range(len(pieces))]

    def _results(self, pieces: dict[int, Piece]) -> Iterable[tuple[int, Done]]:
        backend, _ = get_active_backend()
        kind = "generator_unordered" if backend.supports_return_generator else "list"
        # A piece takes seconds, so there is no need to wait for a batch of them.
        run = joblib.Parallel(n_jobs=self.jobs, return_as=kind, batch_size=1)
        calls = (
            joblib.delayed(_work)(self.parcel, self._light(piece), number, self.folder, os.getpid())
            for number, piece in pieces.items()
        )
        results: Iterable[tuple[int, Done]] = run(calls)
        return results

    def _light(self, piece: Piece) -> Piece:
        """Leave out the view that workers have anyway."""
        view: Any = None if piece.sight.view is self.view else piece.sight.view
        return replace(piece, sight=piece.sight._replace(view=view))

    def _count_deaths(self, pieces: Sequence[Piece], chosen: list[int], error: Exception) -> None:
        """Find out what the dead worker may have been doing, say so, and give up what kills every worker."""
        running = {number: pid for number in chosen if number not in self.done and (pid := self._pid(number))}
        self.deaths.update(list(running))
        self.vain = 0 if running else self.vain + 1
        if self.vain == DEATHS:
            raise WorkerError(f"Worker processes die before they begin: {error}") from error
        names = [
            f"process {pid} had instances {pieces[number].start:,} to "
            f"{pieces[number].start + len(pieces[number]) - 1:,}"
            for number, pid in running.items()
        ]
        text = " ".join(str(error).split())
        who = f"At work: {'; '.join(names)}. They are explained again. " if names else ""
        warnings.warn(f"A worker process died. {who}{text}", WorkerWarning, stacklevel=2)
        for number in [number for number in chosen if self.deaths[number] >= DEATHS]:
            fault = WorkerError(f"A worker process died {DEATHS} times while it was explained: {text}")
            self.done[number] = Done({}, dict.fromkeys(range(len(pieces[number])), fault))

    def _pid(self, number: int) -> int | None:
        """Tell which process began a piece, and forget it."""
        mark = _mark(self.folder, number)
        if mark is None or not mark.exists():
            return None
        text = mark.read_text()
        mark.unlink()
        return int(text) if text else None


def stop_workers() -> None:
    """End all worker processes, in the middle of what they do."""
    get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _mark(folder: Path | None, number: int) -> Path | None:
    """Name the file in which a worker says that it works on a piece."""
    return None if folder is None else folder / f"piece-{number}"


def _work(
    parcel: Parcel | FileParcel, piece: Piece, number: int, folder: Path | None, parent: int
) -> tuple[int, Done]:
    """Explain a piece, in a worker process."""
    if os.getpid() != parent:
        _prepare_process()
    if (mark := _mark(folder, number)) is not None:
        mark.write_text(str(os.getpid()))
    with one_thread_each():
        explainer: Explaining = parcel.open()
        view = explainer._fitted().view if piece.sight.view is None else piece.sight.view
        return number, _done(explainer, piece.sight._replace(view=view), piece.settings)


def _prepare_process() -> None:
    """Leave Ctrl-C to the parent, which stops its workers, and hold little memory."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Arrow's own allocator keeps 20 MB for the 5 MB that the texts of a call take.
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.set_memory_pool(arrow.system_memory_pool())


def _done(explainer: Explaining, sight: Sight, settings: Settings) -> Done:
    try:
        found = explainer._explain(sight, settings, False)
    except IncompleteError as error:
        failed = {place: _portable(each) for place, each in error.failed.items()}
        found = error.finished
        items = dict(zip(error.places, found, strict=True))
        return Done(items, failed, found.model_calls, found.model_rows)
    return Done(dict(enumerate(found)), {}, found.model_calls, found.model_rows)


def _portable(error: Exception) -> Exception:
    """Make sure that an error reaches the parent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _joined(
    pieces: Sequence[Piece], done: Sequence[Done], sight: Sight, indices: Indices, asked: Asked
) -> Explanations:
    """Put the answers of all pieces together."""
    schema = sight.view.schema
    # Each piece came with a schema of its own, equal to this one.
    items = {
        piece.start + place: replace(item, schema=schema, _asked=asked)
        for piece, part in zip(pieces, done, strict=True)
        for place, item in part.items.items()
    }
    failed = {
        piece.start + place: error
        for piece, part in zip(pieces, done, strict=True)
        for place, error in part.failed.items()
    }
    places = sorted(items)
    names = sight.instances.labels
    names = pd.RangeIndex(len(sight.instances.rows)) if names is None else names
    names = names.take(indices) if len(indices) < len(names) else names
    finished = Explanations(
        [items[place] for place in places],
        schema,
        sum(part.calls for part in done),
        sum(part.rows for part in done),
        names.take(places) if failed else names,
        sight.problems,
    )
    return complete(finished, places, failed, indices)

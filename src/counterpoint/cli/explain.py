"""Explaining the rows of a file: one, or a stream of parts that a killed run goes on with."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from counterpoint._util.atomic import destination, remove_drafts
from counterpoint.cli.columns import Columns
from counterpoint.cli.delivery import Tally, deliver
from counterpoint.cli.errors import Exit, InputError
from counterpoint.cli.identifiers import KnownRows
from counterpoint.cli.invalid import Invalid, gathering
from counterpoint.cli.job import Job
from counterpoint.cli.known import make_sendable, read_known
from counterpoint.cli.lock import only_run
from counterpoint.cli.models import Opened, open_model
from counterpoint.cli.outputs import RAW_TEXTS, TEXTS, Output
from counterpoint.cli.parts import Part, Store
from counterpoint.cli.tables import count_rows, read_parts
from counterpoint.cli.terminal import Cards, Messages, Printer, tell
from counterpoint.cli.wanted import wanted
from counterpoint.data.outputs import is_continuous
from counterpoint.data.problems import Problem
from counterpoint.explainers import Explainer
from counterpoint.explainers.ensemble import Ensemble
from counterpoint.explainers.parallel import WorkerWarning
from counterpoint.explainers.run import IncompleteError
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.model.blackbox import ModelError
from counterpoint.model.representation import Direct
from counterpoint.selection.selection import NAMED
from counterpoint.show.wording import relaxation_text


@dataclass(frozen=True)
class Session:
    """A fitted explainer, and how rows of files become questions to it."""

    job: Job
    explainer: Explainer
    columns: Columns
    known: pd.DataFrame
    target: Any
    known_rows: KnownRows
    count: int = 1  # of all rows, which share the time

    @classmethod
    def of(cls, job: Job, opened: Opened) -> Session:
        """Read the known instances and fit."""
        question = job.question
        known, columns = read_known(job, opened)
        features = known[list(columns.features)]
        explainer = Ensemble(selection=NAMED[question.setting], seed=question.seed).fit(
            opened.model,
            features,
            **question.limits.fit_options(features),
            progress=not job.quiet,
        )
        if job.jobs != 1:
            make_sendable(explainer, job.model)
        # Of the known instances only their types are still needed.
        target = wanted(question.want, explainer.fitted_)
        return cls(job, explainer, columns, known[:0], target, KnownRows.of(explainer.fitted_, features))

    def frames(self, size: int) -> Iterator[tuple[int, pd.DataFrame]]:
        """Read the rows to explain, in parts, each with the place of its first row."""
        start = 0
        for frame in read_parts(self.job.rows, size, self.known):
            missing = [name for name in self.job.groups if name not in frame]
            if missing:
                raise InputError(
                    f"--groups must name columns of {self.job.rows}, got {missing}. Known: {list(frame)}."
                )
            frame.index = pd.RangeIndex(start, start + len(frame))  # by which answers name their rows
            yield start, frame
            start += len(frame)

    def problems(self, start: int, frame: pd.DataFrame) -> list[Problem]:
        """Find what keeps rows from being explained."""
        with self._telling_where(start, frame):
            return self.explainer.problems(self.columns.take(frame, self.job.groups))

    def explain_part(self, start: int, frame: pd.DataFrame) -> Part:
        """Explain some rows together."""
        question, rows = self.job.question, self.job.rows
        seconds = question.max_seconds
        try:
            with self._telling_where(start, frame):
                explanations = self.explainer.explain_many(
                    self.columns.take(frame, self.job.groups),
                    question.k,
                    target=self.target,
                    max_changes=question.max_changes,
                    max_seconds=None if seconds is None else seconds * len(frame) / max(1, self.count),
                    invalid="skip" if self.job.skip_invalid else "raise",
                    progress=False,
                    jobs=self.job.jobs,
                )
        except IncompleteError as error:
            index, first = min(error.failed.items())
            raise ModelError(f"The model failed on row {start + index + 1:,} of {rows}: {first}") from error
        return Part(explanations, frame.loc[explanations.instances, list(self.job.groups)])

    def holds(self, part: Part) -> bool:
        """Ask the model again about the answers of a part; tell whether it still says the same."""
        answers, fitted = part.explanations, self.explainer.fitted_
        if not len(answers):
            return True
        blackbox = fitted.facing(fitted.read_target(self.target)).blackbox
        said = np.array([label for each in answers for label in (each.decision, *each.labels)])
        view = Direct(answers.schema)
        says = blackbox.seen_by(view).predict(
            np.vstack([row for each in answers for row in (each.row, *each.rows)])
        )
        if said.shape == says.shape and said.dtype.kind == "f" and is_continuous(says, blackbox.model):
            # Their last digits may depend on what else is in a call.
            return bool(np.isclose(says, said).all())
        return bool(said.tolist() == says.tolist())

    @contextmanager
    def _telling_where(self, start: int, frame: pd.DataFrame) -> Iterator[None]:
        """Let errors about a part say where it stands in the file."""
        try:
            yield
        except (ValueError, TypeError, InputError) as error:
            where = f"Rows {start + 1:,} to {start + len(frame):,} of {self.job.rows}"
            raise InputError(f"{where}: {error}") from error

    def explain_one(self) -> tuple[Part, Explanation]:
        """Explain the only row."""
        _, frame = next(self.frames(2))
        if len(frame) > 1:
            raise InputError(f"--row must be a table of one row, got more in {self.job.rows}; use --rows.")
        question = self.job.question
        explanation = self.explainer.explain(
            self.columns.take(frame, self.job.groups),
            question.k,
            target=self.target,
            max_changes=question.max_changes,
            max_seconds=question.max_seconds,
        )
        return Part(Explanations([explanation]), frame[list(self.job.groups)]), explanation


def explain(job: Job) -> Exit:
    """Do what a job says; the exit code tells whether every row got all that it asked for."""
    job.check()
    with only_run(job.outputs), telling_of_workers():
        for path in job.outputs:
            remove_drafts(destination(path))
        return _explain(job)


@contextmanager
def telling_of_workers() -> Iterator[None]:
    """Say it if a worker process dies, although other warnings are not shown."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        tell(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", WorkerWarning)
        warnings.showwarning = show
        yield


def _explain(job: Job) -> Exit:
    opened = open_model(job.model)
    job.keep_apart([opened.file])
    session = Session.of(job, opened)
    tally, printer = Tally(), Printer(_printed(job))
    if job.is_one:
        _one(session, tally, printer)
    else:
        invalid = _check(session)
        tally.skipped = invalid.count
        rows = invalid.rows - invalid.count
        session = replace(session, count=rows)
        _many_kept(session, opened, tally, printer, rows) if job.files else _many_printed(session, tally)
    written = f" Written: {', '.join(map(str, job.outputs))}." if job.outputs else ""
    _say(job, f"{tally}{written}")
    if session.known_rows.count:
        _say(job, str(session.known_rows))
    if printer.is_closed:
        return Exit.CLOSED
    if tally.skipped:
        return Exit.SKIPPED
    return Exit.SHORT if tally.fewer or tally.none else Exit.DONE


def _check(session: Session) -> Invalid:
    """Look at all rows first: what is wrong with the last is known at once, not after a night's work."""
    job = session.job
    with gathering(job.rows, job.skipped) as invalid, _progress(job, "checking") as bar:
        for start, frame in session.frames(job.part):
            invalid.add(start, len(frame), session.problems(start, frame))
            bar.update(len(frame))
    if not job.skip_invalid:
        invalid.refuse()
    invalid.refuse_all()
    if invalid.count:
        _say(job, invalid.text("cannot be explained and are skipped"))
    return invalid


def _one(session: Session, tally: Tally, printer: Printer) -> None:
    from counterpoint import report

    job = session.job
    part, explanation = session.explain_one()
    relaxation = _relaxed(session, explanation)
    pages = [path for path in job.files if path.suffix.lower() == ".html"]
    tables = [path for path in job.files if path not in pages]
    for path in pages:
        facts = report.one(explanation, session.explainer, target=session.target, relaxation=relaxation)
        report.write(facts, destination(path))
    others = [printer] if job.printed or not tables else []
    deliver([part], tables, (), tally, session.known_rows, *others, rows=1, raw=job.raw)
    if relaxation is not None:
        _say(
            job,
            " ".join([relaxation_text(relaxation.released, relaxation.alternatives), *_first(relaxation)]),
        )


def _relaxed(session: Session, explanation: Explanation) -> Relaxation | None:
    """Find which constraints stand in the way, if there is no answer."""
    shortfall = explanation.shortfall
    if len(explanation) or shortfall is None or shortfall.already:
        return None
    return explanation.relax(max_seconds=session.job.question.max_seconds)


def _first(relaxation: Relaxation) -> list[str]:
    """Describe the first answer without what is released."""
    return [f"Then: {sentence}" for sentence in relaxation.explanation.sentences()[:1]]


def _many_kept(session: Session, opened: Opened, tally: Tally, printer: Printer, rows: int) -> None:
    """Explain part after part, each on disk when it is done, and put them together at the end."""
    job = session.job
    store = Store.beside(destination(job.files[0]), job.identity(opened.fingerprint))
    if others := store.others():
        _say(job, f"other runs left unfinished work that this one cannot use: {', '.join(map(str, others))}")
    if not all(map(session.holds, store.whole())):
        _say(job, "the model now decides otherwise than when this run was stopped, so it begins anew.")
        store.remove()
    count = 0
    with _progress(job, "explaining") as bar:
        for start, frame in session.frames(job.part):
            if not store.has(count):
                store.save(count, session.explain_part(start, frame))
            count += 1
            bar.update(len(frame))
    printers = [printer] if job.printed else []
    outputs = [tally, session.known_rows, *printers]
    deliver(store.parts(count), job.files, job.groups, *outputs, rows=rows, raw=job.raw)
    store.remove()


def _many_printed(session: Session, tally: Tally) -> None:
    """Explain part after part, each printed when it is done."""
    job = session.job
    with _progress(job, "explaining") as bar:

        def parts() -> Iterator[Part]:
            for start, frame in session.frames(min(job.part, 100)):
                yield session.explain_part(start, frame)
                bar.update(len(frame))

        # Not through a `Printer`: if nobody reads on, there is nothing left to do.
        deliver(parts(), (), (), tally, session.known_rows, _printed(job))


def _printed(job: Job) -> Output:
    if job.printed is None:
        return Cards(numbered=not job.is_one)
    return (RAW_TEXTS if job.raw else TEXTS)[job.printed](sys.stdout)


def _progress(job: Job, doing: str) -> Any:
    total = count_rows(job.rows)
    return tqdm(total=total, desc=doing, unit=" rows", disable=job.quiet, file=Messages())


def _say(job: Job, text: str) -> None:
    if not job.quiet:
        tell(text)

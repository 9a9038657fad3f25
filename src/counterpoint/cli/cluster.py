"""Explaining a folder of parquet files, here or on a cluster: one file of answers per file of rows.

A file is finished when its sums are written. So the same command goes on with the files that are left,
several commands can share the work by `--shard`, and the report is made of the sums.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from counterpoint.cli.errors import Exit, InputError
from counterpoint.cli.explain import Session, telling_of_workers
from counterpoint.cli.job import Job
from counterpoint.cli.known import make_sendable
from counterpoint.cli.models import open_model
from counterpoint.cli.terminal import Messages, tell
from counterpoint.explanation.frames import Status
from counterpoint.model.target import Probability
from counterpoint.scale.engines import Engine
from counterpoint.scale.folders import Folder
from counterpoint.scale.partitions import SUMS, Partitions, Sums, merged

RUN = f"{SUMS}/run.json"


@dataclass(frozen=True)
class FolderJob:
    """A question about the rows of a folder.

    Parameters
    ----------
    job
        The question, and the report if one is wanted.
    rows, out
        The folders, as paths or addresses.
    engine
        Where the work is done.
    shard
        Which part of the files this run does: (2, 8) does every eighth one, from the second on.
    id
        The column that names rows; None for their numbers in their file.
    """

    job: Job
    rows: str
    out: str
    engine: Engine
    shard: tuple[int, int] = (1, 1)
    id: str | None = None


def read_shard(text: str | None) -> tuple[int, int]:
    """Read which part of the work a run does.

    Examples
    --------
    >>> read_shard("2/8"), read_shard(None)
    ((2, 8), (1, 1))
    >>> read_shard("9/8")
    Traceback (most recent call last):
        ...
    counterpoint.cli.errors.InputError: --shard must be such as 2/8, the second of eight, got '9/8'.
    """
    number, _, count = (text or "1/1").partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise InputError(f"--shard must be such as 2/8, the second of eight, got {text!r}.")
    return int(number), int(count)


def explain_folder(asked: FolderJob) -> Exit:
    """Do what a job says; the exit code tells whether every row got all that it asked for."""
    job, rows, out = asked.job, Folder.of(asked.rows), Folder.of(asked.out)
    job.check()
    if not rows.exists:
        raise InputError(f"--rows must be a folder of parquet files, got {asked.rows!r}.")
    names = rows.tables()
    if not names:
        raise InputError(f"{asked.rows} holds no parquet file; give a folder with at least one.")
    if rows == out:
        raise InputError("--out must be another folder than --rows.")
    if job.question.max_seconds is not None:
        raise InputError("--max-seconds is not for folders, whose files are explained by many; leave it out.")
    opened = open_model(job.model)
    session = Session.of(job, opened)
    if isinstance(session.target, Probability):
        raise InputError("--want with a probability is not for folders; give a class, or a table as --rows.")
    make_sendable(session.explainer, job.model)
    partitions = _partitions(asked, session, rows, out, opened.fingerprint)
    first, count = asked.shard
    _work(asked, partitions, names[first - 1 :: count])
    return _finish(asked, partitions, names, names[first - 1 :: count])


def _partitions(asked: FolderJob, session: Session, rows: Folder, out: Folder, model: str) -> Partitions:
    """Gather what workers need; refuse a folder that holds the answers of another run."""
    question = asked.job.question
    text = json.dumps({**asked.job.asked(model), "id": asked.id}, sort_keys=True, default=str)
    run = hashlib.sha256(text.encode()).hexdigest()
    known = out.read_json(RUN)
    if known is not None and known != json.loads(text):
        differ = sorted(key for key, value in json.loads(text).items() if known.get(key) != value)
        raise InputError(
            f"{asked.out} holds the answers of a run with other {', '.join(differ)}. Give another folder, or "
            f"remove it."
        )
    if known is None:
        out.write_json(RUN, json.loads(text))
    return Partitions(
        rows,
        out,
        session.explainer,
        session.columns.take,
        asked.id,
        asked.job.groups,
        question.k,
        {"target": session.target, "max_changes": question.max_changes},
        run,
    )


def _work(asked: FolderJob, partitions: Partitions, names: Sequence[str]) -> None:
    """Explain the files that are left."""
    left = partitions.left(names)
    quiet = asked.job.quiet
    with (
        telling_of_workers(),
        tqdm(total=len(names), desc="explaining", unit=" files", disable=quiet, file=Messages()) as bar,
    ):
        bar.update(len(names) - len(left))
        if left:
            for _ in asked.engine.run(partitions.explain, left):
                bar.update(1)


def _finish(asked: FolderJob, partitions: Partitions, names: Sequence[str], mine: Sequence[str]) -> Exit:
    """Add up the sums, write the report, and tell how it went."""
    sums = {name: each for name in names if (each := partitions.sums(name)) is not None}
    states: Counter[str] = Counter()
    for name in mine:
        states.update(sums[name].states)
    report = asked.job.report
    text = f"{_text(states)} in {len(mine):,} files. Written: {asked.out}"
    if report is not None and len(sums) == len(names):
        _write_report(list(sums.values()), report)
        text += f", {report}"
    elif report is not None:
        text += f". The report is written when all files are done; {len(names) - len(sums):,} are left"
    if not asked.job.quiet:
        tell(f"{text}.")
    return _exit(states)


def _write_report(sums: Sequence[Sums], path: Path) -> None:
    from counterpoint.report import write

    facts = merged(sums)
    if facts is None:
        raise InputError("No row could be explained, so there is nothing to report; see the column reason.")
    write(facts, path)


def _text(states: Counter[str]) -> str:
    bad = states[Status.INVALID], states[Status.FAILED]
    text = f"{states.total() - sum(bad):,} rows explained"
    text += f", {bad[0]:,} are invalid" if bad[0] else ""
    text += f", the model failed on {bad[1]:,}" if bad[1] else ""
    fewer = states[Status.FEWER] + states[Status.NONE]
    return text + (f", {fewer:,} got fewer counterfactuals than asked for" if fewer else "")


def _exit(states: Counter[str]) -> Exit:
    if states[Status.FAILED]:
        return Exit.MODEL
    if states[Status.INVALID]:
        return Exit.SKIPPED
    return Exit.SHORT if states[Status.FEWER] or states[Status.NONE] else Exit.DONE

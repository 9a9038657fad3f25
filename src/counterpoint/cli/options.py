"""The options of `counterpoint explain`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from counterpoint.cli.cluster import FolderJob, explain_folder, read_shard
from counterpoint.cli.constraints import Limits
from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.errors import InputError
from counterpoint.cli.explain import explain
from counterpoint.cli.flags import from_flags, split
from counterpoint.cli.job import Job, Question
from counterpoint.cli.models import Request
from counterpoint.cli.outputs import TEXTS
from counterpoint.scale.engines import Engine
from counterpoint.selection.selection import NAMED

ABOUT = "Say what would have to change for decisions of a model to be different."

MORE = """\
models     .skops, .onnx, XGBoost's .json and .ubj, LightGBM's .txt, TorchScript's .pt and .ts, or
           module:function of a module in this folder. Pickles only with --allow-pickle. On a server:
           oip+http://HOST/v2/models/NAME, http://HOST/v1/models/NAME:predict, http://HOST/invocations; the
           variable COUNTERPOINT_MODEL_TOKEN holds a token for it. models:/NAME/VERSION of MLflow only with
           --allow-pickle.
tables     .csv, .parquet, .arrow, .feather, .json (a list of records), .jsonl (one record per line)
output     instance counts rows from 0, counterfactual from 1. Many rows are explained and saved in parts: a
           run that was stopped goes on where it was when the same command is given again. Only one run at a
           time writes to an output.
limits     all that may change can also be said in a file: --constraints. Its keys are listed in the draft
           that `counterpoint schema TABLE` prints. A flag adds to the file, or replaces what it says.
exit code  0: every row got all it asked for. 1: some rows got fewer counterfactuals or none (standard error
           says how many). 2: something given is wrong. 3: the model failed. 4: some rows were skipped as
           invalid, the others explained. 70: a bug in Counterpoint. 75: another run writes to the same
           output. 130: stopped. 141: standard output was closed early; files are written all the same.
"""


def add_explain(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "explain",
        description=ABOUT,
        epilog=MORE,
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_inputs(parser)
    add_constraints(parser)
    _add_outputs(parser)
    _add_folders(parser)
    parser.set_defaults(do=_explain)


def _add_inputs(parser: argparse.ArgumentParser) -> None:
    group = add_model(parser)
    rows = group.add_mutually_exclusive_group(required=True)
    rows.add_argument("--row", type=Path, metavar="FILE", help="one row, such as a json record")
    rows.add_argument("--rows", metavar="TABLE", help="many rows; or a folder of parquet files")
    group.add_argument(
        "--skip-invalid", action="store_true", help="leave out rows that cannot be explained, and list them"
    )
    group.add_argument("-k", type=int, default=5, help="counterfactuals per row (5)")
    group.add_argument(
        "--max-seconds",
        type=float,
        metavar="N",
        help="search for at most so long, shared evenly by all rows; then the best found so far counts",
    )


def add_model(parser: argparse.ArgumentParser, required: bool = True) -> Any:
    """Add the options about the model, its known instances, and what is wanted."""
    group = parser.add_argument_group("what to explain")
    group.add_argument(
        "--model", required=required, metavar="FILE", help="a model's file or address, or module:function"
    )
    group.add_argument("--data", required=required, type=Path, metavar="TABLE", help="the known instances")
    group.add_argument("--target", metavar="COLUMN", help="the label in the tables, which is no feature")
    group.add_argument("--drop", action="append", default=[], metavar="A,B", help="columns to leave out")
    group.add_argument(
        "--want",
        metavar="CLASS",
        help="the decision wanted (any other): a class, several with commas between, CLASS>=0.7 for a "
        "probability, LOW:HIGH for a regressor",
    )
    group.add_argument("--setting", choices=NAMED, default="balanced", help="what matters most")
    group.add_argument("--seed", type=int, default=0, help="all draws depend on it (0)")
    group.add_argument("--classes", metavar="A,B", help="names of classes that a file has only numbers of")
    group.add_argument(
        "--trust", action="append", default=[], metavar="TYPE", help="a type that a skops file may hold"
    )
    group.add_argument(
        "--allow-pickle", action="store_true", help="open pickles: they can run any code, so know who made it"
    )
    group.add_argument(
        "--model-batch", type=int, metavar="N", help="rows per request to a model on a server (1000)"
    )
    group.add_argument(
        "--model-timeout", type=float, metavar="N", help="seconds that such a server has for an answer (30)"
    )
    return group


def add_constraints(parser: argparse.ArgumentParser) -> None:
    """Add the options about what may change."""
    group = parser.add_argument_group("what may change")
    group.add_argument(
        "--constraints", type=Path, metavar="FILE", help=".toml or .yaml; `counterpoint schema` drafts one"
    )
    for name, text in {
        "immutable": "columns that stay",
        "increase": "columns that may only rise",
        "decrease": "columns that may only fall",
        "categorical": "columns of numbers that are names, not amounts",
    }.items():
        group.add_argument(f"--{name}", action="append", default=[], metavar="A,B", help=text)
    group.add_argument(
        "--range", action="append", default=[], metavar="NAME=LOW:HIGH", help="or NAME=A,B; one per column"
    )
    for name, form, text in (
        ("order", "NAME=A,B", "categories from the lowest to the highest"),
        ("step", "NAME=N", "a number changes by whole multiples of it"),
        ("cost", "NAME=N", "how hard changes are (1); UP:DOWN by direction, inf for never"),
        ("max-change", "NAME=N", "a number changes by at most so much; NAME=20%% for a share"),
        ("link", "'A <= B'", "a comparison of two columns that holds"),
        ("onehot", "NAME=A,B", "0/1 columns that encode one category; they are detected otherwise"),
    ):
        group.add_argument(f"--{name}", action="append", default=[], metavar=form, help=text)
    group.add_argument(
        "--no-onehot", action="store_true", help="do not take 0/1 columns of one category as one feature"
    )
    group.add_argument("--max-changes", type=int, metavar="N", help="at most so many columns change")
    group.add_argument("--allow-missing", action="store_true", help="an answer may let a value go missing")


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("where answers go")
    group.add_argument(
        "--out",
        metavar="FILE",
        help=".csv, .parquet, .json, .jsonl, .html (as --report), or - to print; a folder if --rows is one",
    )
    group.add_argument(
        "--format", choices=("table", *TEXTS), help="of what is printed (table; with --out -: csv)"
    )
    group.add_argument("--report", type=Path, metavar="FILE.html", help="a page to send on")
    group.add_argument(
        "--skipped", type=Path, metavar="FILE.csv", help="list all rows that --skip-invalid leaves out"
    )
    group.add_argument(
        "--raw", action="store_true", help="csv as it is, also texts that a spreadsheet would run as formulas"
    )
    group.add_argument("--groups", action="append", default=[], metavar="A,B", help="compare costs by these")
    group.add_argument("--part", type=int, default=1_000, metavar="N", help="rows saved at a time (1000)")
    group.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="processes, -1 for one per core (1); same answers"
    )
    group.add_argument("--quiet", action="store_true", help="say nothing but results and errors")


def _add_folders(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("folders of parquet files, and clusters")
    group.add_argument(
        "--engine", metavar="ADDRESS", help="local, dask://HOST:PORT, ray://HOST:PORT or spark://HOST:PORT"
    )
    group.add_argument("--shard", metavar="I/N", help="do only every n-th file, from the i-th on")
    group.add_argument("--id", metavar="COLUMN", help="the column that names rows (their number in the file)")


def _explain(options: argparse.Namespace) -> int:
    if is_folder(options):
        return explain_folder(folder_job_of(options))
    if options.id is not None:
        raise InputError("--id is for folders of parquet files; give a folder as --rows.")
    return explain(job_of(options))


def is_folder(options: argparse.Namespace) -> bool:
    """Tell whether rows are to be read from a folder."""
    rows = options.rows or ""
    return bool(options.engine or options.shard or "://" in rows or (rows and Path(rows).is_dir()))


def folder_job_of(options: argparse.Namespace) -> FolderJob:
    """Turn options into what is to be done with a folder."""
    given = {"--row": options.row, "--format": options.format, "--skipped": options.skipped}
    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} is not for folders; leave it out.")
    if options.out in (None, "-"):
        raise InputError("--out must be a folder if --rows is one.")
    rows, out, options.rows, options.out = options.rows, options.out, str(options.data), None
    engine = Engine.of(options.engine or "local", options.jobs)
    return FolderJob(job_of(options), rows, out, engine, read_shard(options.shard), options.id)


def request_of(options: argparse.Namespace) -> Request:
    """Turn options into which model is to be opened, and how."""
    return Request(
        options.model,
        None if options.classes is None else split([options.classes]),
        tuple(options.trust),
        options.allow_pickle,
        options.model_batch,
        options.model_timeout,
    )


def question_of(options: argparse.Namespace, k: int, max_seconds: float | None = None) -> Question:
    """Turn options into what is asked about rows."""
    limits = read_limits(options.constraints) if options.constraints else Limits()
    return Question(
        options.target,
        split(options.drop),
        limits + from_flags(options),
        options.want,
        k,
        max_seconds,
        options.setting,
        options.seed,
    )


def job_of(options: argparse.Namespace) -> Job:
    """Turn options into what is to be done."""
    return Job(
        request_of(options),
        options.data,
        options.row or Path(options.rows),
        question_of(options, options.k, options.max_seconds),
        is_one=options.row is not None,
        out=None if options.out in (None, "-") else Path(options.out),
        report=options.report,
        printed=_printed(options),
        groups=split(options.groups),
        part=options.part,
        quiet=options.quiet,
        constraints=options.constraints,
        skip_invalid=options.skip_invalid or options.skipped is not None,
        skipped=options.skipped,
        jobs=options.jobs,
        raw=options.raw,
    )


def _printed(options: argparse.Namespace) -> str | None:
    """Tell the format of what is printed; None for tables to read."""
    name: str = options.format or ("csv" if options.out == "-" else "table")
    return None if name == "table" else name

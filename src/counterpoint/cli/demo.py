"""The command `counterpoint demo`: refused credit applicants, from a table and a model to a report."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.errors import Exit, need
from counterpoint.cli.explain import explain
from counterpoint.cli.job import Job, Question
from counterpoint.cli.models import Request
from counterpoint.datasets import load_table

LABEL = "decision"
GROUPS = ("personal_status_sex", "age")


def add_demo(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        description="Train a forest on German credit, explain refused applicants and write a report. The "
        "table, the model and the applicants are left in the folder, to try the other commands on.",
        parents=[common],
    )
    parser.add_argument("folder", type=Path, nargs="?", default=Path("demo"), help="where files go (demo)")
    parser.set_defaults(do=_demo)


def _demo(options: argparse.Namespace) -> Exit:
    folder: Path = options.folder
    files = make_files(folder)
    print("A refused applicant: what would have got them their credit?\n", flush=True)
    explain(_job(files, folder / "applicant.json", is_one=True, quiet=True))
    report = folder / "report.html"
    explain(_job(files, folder / "refused.csv", is_one=False, report=report, groups=GROUPS))
    print(f"All refused applicants, to open in a browser: {report}\n\nThe same by hand:\n")
    print(_command(files, f"--row {folder / 'applicant.json'}"))
    print(_command(files, f"--rows {folder / 'refused.csv'} --report {report} --groups {','.join(GROUPS)}"))
    return Exit.DONE


@dataclass(frozen=True)
class Files:
    """The demo's model, its known instances, and what may change of them."""

    model: Path
    data: Path
    constraints: Path
    applicants: Path


def make_files(folder: Path) -> Files:
    """Train a forest on German credit; write the table, the model, new applicants, and those it refuses."""
    credit = load_table("german")
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), list(credit.categorical)), remainder="passthrough"
        ),
        RandomForestClassifier(100, random_state=0),
    )
    decisions = credit.y_train.map({0: "granted", 1: "refused"})
    model.fit(credit.X_train, decisions)
    refused = credit.X_test[model.predict(credit.X_test) == "refused"]
    folder.mkdir(parents=True, exist_ok=True)
    files = Files(
        folder / "credit.skops",
        folder / "credit.csv",
        folder / "constraints.toml",
        folder / "applicants.csv",
    )
    credit.X_train.assign(**{LABEL: decisions}).to_csv(files.data, index=False)
    credit.X_test.to_csv(files.applicants, index=False)
    refused.to_csv(folder / "refused.csv", index=False)
    refused[:1].to_json(folder / "applicant.json", orient="records")
    kept = [f"[columns.{name}]\nimmutable = true\n" for name in credit.immutable]
    files.constraints.write_text("\n".join(kept), encoding="utf-8")
    need("skops.io", "The demo").dump(model, files.model)
    return files


def _job(files: Files, rows: Path, **more: Any) -> Job:
    question = Question(target=LABEL, limits=read_limits(files.constraints), k=3)
    return Job(Request(str(files.model)), files.data, rows, question, **more)


def _command(files: Files, more: str) -> str:
    lines = [f"counterpoint explain --model {files.model} --data {files.data} --target {LABEL}"]
    return " \\\n    ".join([*lines, f"-k 3 --constraints {files.constraints}", more])

"""A fitted explainer for commands that are asked about rows later: the service and the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from counterpoint.cli.explain import Session
from counterpoint.cli.job import Job
from counterpoint.cli.models import open_model
from counterpoint.cli.options import question_of, request_of


def fitted_session(options: argparse.Namespace, rows: Path, k: int = 1) -> Session:
    """Check the options, open the model and fit, as `counterpoint explain` does."""
    job = Job(
        request_of(options),
        options.data,
        rows,
        question_of(options, k),
        is_one=False,
        quiet=options.quiet,
        constraints=options.constraints,
    )
    job.check()
    return Session.of(job, open_model(job.model))

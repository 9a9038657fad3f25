"""The known instances of a job: read whole, or sampled if the table is a folder or very long."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd

from counterpoint.cli.columns import Columns
from counterpoint.cli.errors import need
from counterpoint.cli.job import Job
from counterpoint.cli.models import Opened, Request, reopened
from counterpoint.cli.tables import count_rows, read_table
from counterpoint.explainers import Explainer

# A parquet file with more rows than this is sampled, and not read whole.
WHOLE = 1_000_000


def read_known(job: Job, opened: Opened) -> tuple[pd.DataFrame, Columns]:
    """Read the known instances, and tell which columns are features."""
    question = job.question
    if not _is_sampled(job.data):
        known = read_table(job.data)
        return known, Columns.of(known, opened, question.target, question.drop)
    need("pyarrow.dataset", "A folder of parquet files")
    from counterpoint.scale.sampling import sample, schema_of

    columns = Columns.of(schema_of(job.data), opened, question.target, question.drop)
    return sample(job.data, columns.features, opened.model, question.seed), columns


def _is_sampled(path: Path) -> bool:
    return path.is_dir() or (path.suffix.lower() in (".parquet", ".pq") and (count_rows(path) or 0) > WHOLE)


def make_sendable(explainer: Explainer, request: Request) -> None:
    """Have other processes open the model's file, if the model cannot be sent to them."""
    import cloudpickle

    try:
        cloudpickle.dumps(explainer._fitted().blackbox.model)
    except Exception:  # such as an ONNX session; every library raises its own errors
        path = Path(request.text)
        text = str(path.resolve()) if path.exists() else request.text
        explainer.model_from(partial(reopened, replace(request, text=text)))

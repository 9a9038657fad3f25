"""Explaining the rows of a frame as another frame, with columns and types that do not depend on the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from counterpoint.explainers.fitting import Fitted
from counterpoint.explainers.run import IncompleteError
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.frames import KINDS, Frames
from counterpoint.model.target import Probability


def frames_of(fitted: Fitted, id: Any, id_dtype: Any) -> Frames:
    """Make the columns of the frames that an explainer gives."""
    return Frames(fitted.schema, fitted.known.labels, "instance" if id is None else id, id_dtype)


def frame_schema(frames: Frames, kind: str) -> Any:
    """Describe the columns of frames: an empty pandas frame, an Arrow schema, or Spark's words."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {list(KINDS)}, got {kind!r}.")
    return {"pandas": frames.empty, "arrow": frames.arrow, "spark": frames.spark}[kind]()


def explain_frame(
    fitted: Fitted, frame: Any, id: Any, target: Any, explain_many: Callable[[pd.DataFrame], Explanations]
) -> pd.DataFrame:
    """Explain the rows of a pandas frame; what cannot be explained has a line that says why."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"frame must be a pandas frame, got {type(frame).__name__}.")
    if isinstance(target, Probability):
        raise TypeError(
            "A tidy frame has a column of decisions, and this target is a probability; use explain_many."
        )
    if id is not None and id not in frame:
        raise ValueError(f"id must name a column of the frame, got {id!r}. Known: {list(frame)}.")
    ids = frame.index.to_series() if id is None else frame[id]
    frames = frames_of(fitted, id, ids.dtype)
    if not len(frame):
        return frames.empty()
    # Answers name their rows by position: the index of a partition need not be unique.
    rows = (frame if id is None else frame.drop(columns=id)).set_axis(pd.RangeIndex(len(frame)), axis=0)
    try:
        return frames.of(explain_many(rows), ids)
    except IncompleteError as error:
        return frames.of(error.finished, ids, error.failed)

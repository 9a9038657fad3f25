"""Spark: each Arrow batch of a DataFrame becomes a batch of answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from counterpoint.explanation.frame_types import spark_type
from counterpoint.explanation.frames import spark_table, spark_words
from counterpoint.scale.work import Work


def explain(data: Any, work: Work) -> Any:
    """Explain a Spark DataFrame; the explainer is broadcast, and opened once per worker process."""
    fields = [
        (field.name, spark_type(field.type)) for field in work.explainer.frame_schema("arrow", id=work.id)
    ]
    fields[0] = (work.id, data.schema[work.id].dataType.simpleString())
    return data.mapInArrow(_mapper(data, work), spark_words(fields))


def _mapper(data: Any, work: Work) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Make the function that workers run."""
    try:
        sent = data.sparkSession.sparkContext.broadcast(work)
    except Exception:  # Spark Connect has no broadcast; then it goes along with the function
        return lambda batches: _explain(batches, work)
    return lambda batches: _explain(batches, sent.value)


def _explain(batches: Iterator[Any], work: Work) -> Iterator[Any]:
    """Explain batches, in a worker."""
    for batch in batches:
        kind = batch.schema.field(work.id).type
        for frame in work.blocks(batch.to_pandas()):
            schema = work.explainer.frame_schema("arrow", id=work.id, id_dtype=frame[work.id].dtype)
            yield from spark_table(frame, schema, kind).to_batches()

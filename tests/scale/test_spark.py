"""Spark, local[2]: the answers of one process, whatever happens to partitions and workers."""

import os
import sys
from pathlib import Path

import pytest
from engines import fitted, rows, same

from counterpoint import scale

pyspark = pytest.importorskip("pyspark", reason="make scale installs Spark in an environment of its own")

pytestmark = pytest.mark.filterwarnings("default")

SIZE = 5_000


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable  # workers with the packages of this process
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)  # for the model's class
    session = (
        pyspark.sql.SparkSession.builder.master("local[2, 4]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.pyspark.enabled", "true")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .config("spark.task.maxFailures", "4")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def table(spark, frame):
    """Make a Spark DataFrame; Spark has no categories."""
    return spark.createDataFrame(frame.astype({"education": "str"}))


def collected(found):
    """Get answers; Spark gives whole numbers and truth values with gaps as other types."""
    return found.toPandas().astype({"age": "Int64", "owner": "boolean"})


def expected(explainer, frame):
    """Explain in this process, and write categories as Spark does."""
    return explainer.explain_frame(frame, k=2, id="application").astype({"education": "str"})


def test_two_cores_give_the_answers_of_one_process(spark):
    explainer, frame = fitted(), rows(SIZE)
    found = scale.explain(table(spark, frame).repartition(7), explainer, k=2, id="application")
    assert isinstance(found, pyspark.sql.DataFrame)
    same(collected(found), expected(explainer, frame))


def test_a_worker_killed_in_the_middle_changes_nothing(spark, tmp_path):
    explainer, frame = fitted(tmp_path / "died"), rows(600)
    frame.loc[400, "income"] = 777.0
    # Spark in local mode gives a failed task up at once, unless the master names how often it may fail.
    found = collected(scale.explain(table(spark, frame).repartition(6), explainer, k=2, id="application"))
    assert (tmp_path / "died").exists()
    same(found, expected(explainer, frame))


def test_empty_and_skewed_partitions(spark):
    explainer, frame = fitted(), rows(700)
    parts = [frame[:680], frame[:0], frame[680:]]
    tables = [table(spark, part) for part in parts if len(part)]
    data = tables[0].coalesce(1).union(tables[1].repartition(30))
    found = scale.explain(data, explainer, k=2, id="application")
    same(collected(found), expected(explainer, frame))
    none = scale.explain(data.where("age < 0"), explainer, k=2, id="application")
    assert none.count() == 0
    assert none.schema == found.schema

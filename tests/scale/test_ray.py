"""Ray, with two CPUs: the answers of one process, whatever happens to blocks and workers."""

import os
from pathlib import Path

import pandas as pd
import pytest
from engines import fitted, loans, rows, same

from counterpoint import scale

ray = pytest.importorskip("ray", reason="make scale installs Ray in an environment of its own")

pytestmark = pytest.mark.filterwarnings("default")

SIZE = 5_000


@pytest.fixture(scope="module", autouse=True)
def two_cpus():
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(path)  # for the model's class, on the workers
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    yield
    ray.shutdown()


def test_two_cpus_give_the_answers_of_one_process():
    explainer, frame = fitted(), rows(SIZE)
    data = ray.data.from_pandas(frame).repartition(7)
    found = scale.explain(data, explainer, k=2, id="application")
    assert isinstance(found, ray.data.Dataset)
    same(found.to_pandas(), explainer.explain_frame(frame, k=2, id="application"))


def test_a_worker_killed_in_the_middle_changes_nothing(tmp_path):
    explainer, frame = fitted(tmp_path / "died"), rows(600)
    frame.loc[400, "income"] = 777.0
    data = ray.data.from_pandas(frame).repartition(6)
    found = scale.explain(data, explainer, k=2, id="application").to_pandas()
    assert (tmp_path / "died").exists()
    same(found, explainer.explain_frame(frame, k=2, id="application"))


def test_empty_and_skewed_blocks():
    explainer, frame = fitted(), rows(700)
    blocks = [frame[:0], frame[:680], frame[680:681], frame[681:], frame[:0]]
    found = scale.explain(ray.data.from_pandas(blocks), explainer, k=2, id="application")
    same(found.to_pandas(), explainer.explain_frame(frame, k=2, id="application"))


def test_categories_survive():
    explainer, frame = fitted(), rows(50).drop(index=[3, 5])
    found = scale.explain(ray.data.from_pandas(frame), explainer, k=2, id="application").to_pandas()
    assert isinstance(found["education"].dtype, pd.CategoricalDtype)
    assert found["education"].cat.categories.tolist() == loans(1)["education"].cat.categories.tolist()


def test_an_id_is_needed():
    with pytest.raises(ValueError, match="id must name a column: the rows of ray have no other name"):
        scale.explain(ray.data.from_pandas(rows(9)), fitted())

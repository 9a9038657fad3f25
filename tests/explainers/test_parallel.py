"""Many processes give the answers of one, bit for bit, and survive the death of a worker."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.explainers.parallel import WorkerError, WorkerWarning
from loans import decide, people

ROWS = people(300, seed=5)


class Forest:
    """A forest that decides on people."""

    def __init__(self):
        known = people(400)
        self.forest = RandomForestClassifier(20, random_state=0, n_jobs=2).fit(
            self.numbers(known), decide(known)
        )

    def numbers(self, frame):
        return np.column_stack([frame["age"], frame["income"], frame["job"] == "smith"])

    def predict(self, frame):
        return self.forest.predict(self.numbers(frame))


class Deadly:
    """A model that kills its process, once or whenever it is asked about an income of 777."""

    def __init__(self, mark, once):
        self.mark, self.once, self.parent = Path(mark), once, os.getpid()

    def predict(self, frame):
        asked = (frame["income"] == 777.0).any() and os.getpid() != self.parent
        if asked and not (self.once and self.mark.exists()):
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return decide(frame)


def same(one, other):
    """Check that answers are equal to the last bit, and cost the same."""
    pd.testing.assert_frame_equal(one.frame, other.frame, check_exact=True)
    assert one.instances.equals(other.instances)
    assert [each.shortfall for each in one] == [each.shortfall for each in other]
    assert [each.model_rows for each in one] == [each.model_rows for each in other]
    assert (one.model_calls, one.model_rows) == (other.model_calls, other.model_rows)
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.rows, b.rows, equal_nan=True)
        assert np.array_equal(a.distance, b.distance)


@pytest.fixture(scope="module")
def forest():
    return cp.Ensemble().fit(Forest(), people(400), progress=False)


def test_two_processes_give_the_answers_of_one(forest):
    rows = ROWS.set_axis([f"row {i}" for i in range(len(ROWS))], axis=0)
    same(
        forest.explain_many(rows, k=3, progress=False, jobs=2), forest.explain_many(rows, k=3, progress=False)
    )


def test_functions_of_a_script_and_targets_go_along():
    def rule(candidates, x):
        return candidates["age"].to_numpy() >= x["age"].to_numpy()

    explainer = cp.Neighbours().fit(lambda frame: frame["income"].to_numpy(), people(), rule=rule)
    asked = {"k": 2, "target": lambda outputs: outputs > 60, "progress": False}
    same(explainer.explain_many(ROWS, **asked, jobs=2), explainer.explain_many(ROWS, **asked))


def test_new_values_and_invalid_rows_are_as_in_one_process():
    explainer = cp.Neighbours().fit(decide, people().assign(name="ann"), immutable=["name"])
    rows = ROWS.assign(name=[f"n{i}" for i in range(len(ROWS))])
    rows["job"] = rows["job"].astype(object)
    rows.loc[[3, 200], "job"] = "king"
    asked = {"k": 2, "invalid": "skip", "progress": False}
    one, two = explainer.explain_many(rows, **asked), explainer.explain_many(rows, **asked, jobs=2)
    same(one, two)
    assert [each.row for each in two.skipped] == [3, 200]


def test_rows_that_the_model_fails_on_are_named_as_in_one_process():
    def fragile(frame):
        if (frame["income"] == 777.0).any():
            raise RuntimeError("no 777")
        return decide(frame)

    rows = ROWS.copy()
    rows.loc[[2, 290], "income"] = 777.0
    explainer = cp.Neighbours().fit(fragile, people())
    errors = []
    for jobs in (1, 2):
        with pytest.raises(cp.IncompleteError, match="2 of 300 instances") as error:
            explainer.explain_many(rows, k=2, progress=False, jobs=jobs)
        errors.append(error.value)
    one, two = errors
    assert str(one) == str(two)
    assert one.places == two.places
    assert list(one.failed) == list(two.failed) == [2, 290]
    same(one.finished, two.finished)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing", "sequential"])
def test_other_backends_give_the_same(backend):
    explainer = cp.Neighbours().fit(decide, people())
    with joblib.parallel_config(backend):
        two = explainer.explain_many(ROWS, k=2, progress=False, jobs=2)
    same(two, explainer.explain_many(ROWS, k=2, progress=False))


def test_a_worker_that_dies_is_named_and_its_rows_are_done_again(tmp_path):
    rows = ROWS.copy()
    rows.loc[160, "income"] = 777.0
    explainer = cp.Neighbours().fit(Deadly(tmp_path / "died", once=True), people())
    with pytest.warns(WorkerWarning, match=r"process \d+ had instances 150 to 299.*SIGKILL"):
        two = explainer.explain_many(rows, k=2, progress=False, jobs=2)
    same(two, explainer.explain_many(rows, k=2, progress=False))


def test_rows_that_kill_every_worker_fail_and_the_others_are_explained(tmp_path):
    rows = ROWS.copy()
    rows.loc[160, "income"] = 777.0
    explainer = cp.Neighbours().fit(Deadly(tmp_path / "died", once=False), people())
    with pytest.warns(WorkerWarning), pytest.raises(cp.IncompleteError) as error:
        explainer.explain_many(rows, k=2, progress=False, jobs=2)
    assert list(error.value.failed) == list(range(150, 300))
    assert isinstance(error.value.failed[150], WorkerError)
    others = rows.drop(index=range(150, 300))
    pd.testing.assert_frame_equal(
        error.value.finished.frame, explainer.explain_many(others, k=2, progress=False).frame
    )


def test_a_model_that_cannot_be_sent_is_opened_by_each_process(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    from skl2onnx import to_onnx
    from sklearn.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    path = tmp_path / "model.onnx"
    model = LogisticRegression().fit(X, X[:, 0] + X[:, 1] > 0)
    path.write_bytes(to_onnx(model, X[:1], options={"zipmap": False}).SerializeToString())

    def opened():
        return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    explainer = cp.Neighbours().fit(opened(), X)
    with pytest.raises(TypeError, match=r"cannot be sent to other processes: .* explainer.model_from"):
        explainer.explain_many(X, k=2, progress=False, jobs=2)
    two = explainer.model_from(opened).explain_many(X, k=2, progress=False, jobs=2)
    same(two, explainer.explain_many(X, k=2, progress=False))


@pytest.mark.parametrize("jobs", [0, True, 1.5, "2"])
def test_jobs_is_a_number_of_processes(jobs):
    explainer = cp.Neighbours().fit(decide, people())
    with pytest.raises((TypeError, ValueError), match="jobs must be"):
        explainer.explain_many(ROWS[:2], jobs=jobs)


def test_workers_compute_on_one_thread(tmp_path):
    def model(frame):
        if os.getpid() != parent:
            import joblib
            import threadpoolctl

            threads = [each["num_threads"] for each in threadpoolctl.threadpool_info()]
            (tmp_path / f"{os.getpid()}").write_text(f"{max(threads)} {joblib.effective_n_jobs(-1)}")
        return decide(frame)

    parent = os.getpid()
    cp.Neighbours().fit(model, people()).explain_many(ROWS, k=1, progress=False, jobs=2)
    said = [path.read_text() for path in tmp_path.iterdir()]
    assert said
    assert set(said) == {"1 1"}


SCRIPT = """
    import os, time
    from pathlib import Path
    import counterpoint as cp
    from loans import decide, people

    class Slow:
        def __init__(self):
            self.parent = os.getpid()

        def predict(self, frame):
            if os.getpid() != self.parent:
                Path("pids", str(os.getpid())).touch()
                time.sleep(60)
            return decide(frame)

    if __name__ == "__main__":
        cp.Neighbours().fit(Slow(), people()).explain_many(people(300), jobs=2)
"""


@pytest.mark.skipif(os.name == "nt", reason="process groups are of Unix")
def test_ctrl_c_stops_all_processes(tmp_path):
    (tmp_path / "pids").mkdir()
    script = tmp_path / "script.py"
    script.write_text(dedent(SCRIPT))
    run = subprocess.Popen(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])},
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(600):
        pids = [int(each.name) for each in (tmp_path / "pids").iterdir()]
        if len(pids) == 2 or run.poll() is not None:
            break
        time.sleep(0.1)
    assert len(pids) == 2, run.communicate()[1]
    started = time.monotonic()
    os.killpg(run.pid, signal.SIGINT)
    _, said = run.communicate(timeout=30)
    assert time.monotonic() - started < 20
    assert "\nKeyboardInterrupt" in said
    assert said.count("Traceback") == said.count("KeyboardInterrupt") == 1  # that of the parent only
    for _ in range(100):
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists() and not is_zombie(pid)]
        if not alive:
            break
        time.sleep(0.1)
    assert not alive


def is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_constraints_of_single_rows_stay_with_their_rows():
    rows = ROWS.astype({"job": object})
    rows.loc[2, "job"] = "king"
    own = [{"age": (int(age), int(age) + 3)} for age in rows["age"]]
    explainer = cp.Neighbours().fit(decide, people())
    asked = {"k": 2, "ranges": own, "invalid": "skip", "progress": False}
    one, two = explainer.explain_many(rows, **asked), explainer.explain_many(rows, **asked, jobs=2)
    same(one, two)
    assert [each.limits for each in one] == [each.limits for each in two]


def test_copies_of_a_black_box_do_not_open_the_model_again():
    opened = []
    explainer = cp.Neighbours().fit(decide, people()).model_from(lambda: opened.append(1) or decide)
    explainer.explain_many(ROWS[:3], k=1, progress=False)
    assert not opened

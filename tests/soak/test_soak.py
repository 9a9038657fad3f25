"""A short slice of `make soak`, and whether its judges would notice."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a soak needs fork")
if sys.platform != "win32":
    from soak.actions import Terms, judge_of
    from soak.faults import Faults, die
    from soak.fuzz import verdict
    from soak.judges import judge
    from soak.processes import Ended, run
    from soak.promises import fitted
    from soak.runs import OLD, OUTPUTS, Kills
    from soak.tables import Case, draw

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("cases", "kinds"),
    [
        (40, ["promises"]),
        (25, ["actions"]),
        (3, ["fuzz", "sharing"]),
        (2, ["kills", "errors"]),
        (60, ["hostile"]),
    ],
)
def test_a_slice(cases, kinds):
    """Run the first cases of each kind, and all inputs that once failed."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "soak", *kinds, "--cases", str(cases)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"{cases:>9,}{0:>10}") == len(kinds)


def test_a_soak_that_is_stopped_leaves_no_process_behind(tmp_path):
    def stop(*_):
        raise KeyboardInterrupt

    def work():
        (tmp_path / "id").write_text(str(os.getpid()))
        time.sleep(60)
        return 0

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            run(work, tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "id").read_text()), 0)


# ---------------------------------------------------------------- the judges


def model(table):
    return (table["wage"] > 50).to_numpy()


@pytest.fixture
def case():
    known = pd.DataFrame({"wage": np.arange(100.0), "job": ["oak", "elm"] * 50})
    fit = {"immutable": [1], "increase": [], "decrease": [], "ranges": {}, "missing": "keep"}
    return Case(known, known.iloc[[10]], ["real", "word"], model, cp.Neighbours(), fit, {}, 3)


def broken(case, **changes):
    answers = fitted(case).explain_many(case.asked, case.k, progress=False)
    return list(judge(case, cp.Explanations([replace(answers[0], **changes)])))


def rows(*wages, job=1.0):
    return np.array([[wage, job] for wage in wages])


def test_a_good_answer_passes(case):
    assert broken(case) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": rows(55.0, 60.0, 20.0)}, "promise 1"),
        ({"rows": rows(55.0, 60.0, 70.0), "labels": np.array([True, True, False])}, "promise 1"),
        ({"rows": rows(55.0, 60.0, 70.0, job=0.0)}, "it is immutable"),
        ({"rows": rows(55.0, 60.0, 7000.0)}, "beyond all known values"),
        ({"rows": rows(55.0, 60.0, np.nan)}, "it went missing"),
        ({"rows": rows(55.0, 60.0), "labels": np.array([True, True])}, "promise 4"),
        ({"rows": rows(55.0, 60.0, 61.0, 62.0), "labels": np.array([True] * 4)}, "4 answers, 3 asked for"),
    ],
)
def test_what_breaks_a_promise_is_noticed(case, changes, said):
    changes = {"found_by": ("x",) * len(changes["rows"]), "distance": np.ones(len(changes["rows"]))} | changes
    assert said in "\n".join(broken(case, **changes))


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ({"decrease": [0]}, "it may only fall"),
        ({"ranges": {0: (0.0, 40.0)}}, "it must be within"),
    ],
)
def test_constraints_are_judged_by_the_case_alone(case, constraint, said):
    answers = fitted(case).explain_many(case.asked, case.k, progress=False)
    case.fit = case.fit | constraint
    assert said in "\n".join(judge(case, answers))


def test_too_many_changes_and_doubles_are_noticed(case):
    answers = fitted(case).explain_many(case.asked, case.k, progress=False)
    case.ask = {"max_changes": 0}
    assert "1 changes, at most 0 allowed" in "\n".join(judge(case, answers))


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"never": frozenset({(0, 1)})}, "costs infinitely much"),
        ({"most": {0: (5.0, False)}}, "by more than 5.0"),
        ({"implied": (1, "oak", 0, 10.0)}, "column 1 is 'oak'"),
        ({"apart": (0, 0)}, "the rule forbids"),
    ],
)
def test_terms_are_judged_by_the_case_alone(case, terms, said):
    answers = fitted(case).explain_many(case.asked, case.k, progress=False)
    none = Terms(frozenset(), {}, None, None)
    assert list(judge_of(none)(case, answers)) == []
    assert said in "\n".join(judge_of(replace(none, **terms))(case, answers))


def test_needless_changes_are_noticed(case):
    case.fit["immutable"] = []
    case.explainer = cp.Ensemble(size=2)
    (answer,) = fitted(case).explain_many(case.asked, 2, progress=False)
    rows = np.array([[55.0, answer.row[1]], [55.0, 1 - answer.row[1]]])
    both = cp.Explanations([replace(answer, rows=rows, labels=np.array([True, True]), found_by=("x", "x"))])
    said = "\n".join(judge_of(Terms(frozenset(), {}, None, None))(case, both))
    assert "the change of column 1 is not needed" in said
    assert "holds all changes of another one" in said


def test_cases_are_drawn_by_their_numbers():
    assert draw(7).known.equals(draw(7).known)
    kinds = {kind for number in range(60) for kind in draw(number).kinds}
    assert kinds == {"real", "whole", "holes", "truth", "word", "grade", "word holes", "same"}


# ---------------------------------------------------------------- processes


def test_how_a_process_ended_is_known(tmp_path):
    assert run(lambda: 3, tmp_path).code == 3
    assert run(lambda: os.kill(os.getpid(), 9) or 0, tmp_path).ending == "died of SIGKILL"
    assert run(lambda: __import__("time").sleep(30) or 0, tmp_path, seconds=0.3).ending == "took too long"
    assert run(lambda: 1 // 0, tmp_path).code == 99


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(70, "", "a fault"), "exit code 70"),
        (Ended(-11, "", ""), "died of SIGSEGV"),
        (Ended(None, "", ""), "took too long"),
        (Ended(2, "", "x" * 50_000), "50,000 characters"),
        (Ended(2, "", "\x1b[2J"), "control characters"),
        (Ended(2, "", "Traceback"), "a traceback"),
        (Ended(2, "", "counterpoint: no.\n"), ""),
    ],
)
def test_bad_endings_are_noticed(ended, said):
    assert said in verdict(ended)
    assert bool(said) == bool(verdict(ended))


def test_half_a_file_is_noticed(tmp_path):
    """What a kill leaves is compared with the old and the new output, and what else lies there is named."""
    kills = Kills()
    kills.whole = dict.fromkeys(OUTPUTS, b"all of it")
    for name in OUTPUTS:
        (tmp_path / name).write_text(OLD)
    assert kills.left(tmp_path) == []
    (tmp_path / OUTPUTS[0]).write_bytes(b"all of")
    assert kills.left(tmp_path) == ["found.csv is neither the old nor the new one (6 bytes)"]


def test_a_fault_comes_where_it_is_asked_for(tmp_path):
    def write(at: int) -> int:
        Faults(at, before=die).install()
        with open("file", "w") as file:
            file.write("abcd")
        os.rename("file", "other")
        return 0

    assert run(lambda: write(0), tmp_path).code == 0
    assert (tmp_path / "other").read_text() == "abcd"
    (tmp_path / "other").unlink()
    assert run(lambda: write(1), tmp_path).ending == "died of SIGKILL"
    assert (tmp_path / "file").read_text() == "ab"  # half of the write was done
    assert run(lambda: write(2), tmp_path).ending == "died of SIGKILL"
    assert (tmp_path / "file").read_text() == "abcd"
    assert not (tmp_path / "other").exists()

"""A peer for the tests of the protocol. What it does depends on its name, or on the instance's age."""

import os
import random
import signal
import time
from contextlib import suppress

import numpy as np

AGE, INCOME, JOB = 0, 1, 2


def setup(task):
    return {
        "by age": lambda: _by_age(task),
        "opposite": lambda: _opposite(task),
        "random": lambda: lambda x: np.array([[random.random(), np.random.random(), 0, 0]]),  # noqa: NPY002
        "slow": lambda: _slow(task),
        "dies of everything": lambda: lambda x: os.kill(os.getpid(), signal.SIGKILL),
        "dies at once": lambda: os._exit(3),
        "cannot": _cannot,
        "asks at once": lambda: task.model.predict(task.train * np.nan),
        "network": lambda: _network(task),
    }[task.job["method"]]()


def _by_age(task):
    """Answer, unless the age stands for some trouble."""
    troubles = {
        101: lambda x: os.kill(os.getpid(), signal.SIGKILL),
        102: _raise,
        103: lambda x: np.ones(3),
        104: _work_on,
        105: _deaf,
        106: lambda x: task.model.predict(x[None] + [0, 0, 99, 0]),
        107: lambda x: _shrug(task, x),
        108: lambda x: np.empty((0, 4)),
        109: lambda x: np.repeat(x[None], 50, axis=0),
        110: lambda x: x[None] * [0.995, 1, 0, 1] + [0, 0, 99, 0],
        111: lambda x: x[None] * 0 + [float(os.environ["OMP_NUM_THREADS"]), _python_variables(), 0, 0],
    }
    return lambda x: troubles.get(int(x[AGE]), _richer)(x)


def _richer(x):
    return x[None] + np.array([0, 100, 0, 0])


def _raise(x):
    raise LookupError("nothing here")


def _work_on(x):
    while True:
        time.sleep(0.01)


def _deaf(x):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(600)


def _shrug(task, x):
    """Take a failing model for nothing, as some libraries do."""
    with suppress(BaseException):
        task.model.predict(x[None] * [1, np.nan, 1, 1])
    return _richer(x)


def _python_variables():
    return sum(name.startswith("PYTHON") for name in os.environ)


def _opposite(task):
    """Return known instances of another class, the nearest first, found in two questions of either kind."""
    rows = task.rows
    assert rows.columns == ["age", "income", "job", "town"]
    assert (rows.continuous, rows.categorical, rows.whole) == ([0, 1], [2, 3], [0])
    assert task.mutable == [0, 1, 2]
    assert rows.levels[JOB] == ["clerk", "cook", "queen"]
    assert rows.seen[JOB] == 2
    frame = rows.frame(task.train)
    assert np.array_equal(rows.codes(frame[frame.columns[::-1]]), task.train)

    def explain(x):
        labels = task.model.predict(task.train)
        others = task.train[labels != task.model.predict_proba(x[None])[0].argmax()]
        return others[np.argsort(np.abs(others - x).sum(axis=1))]

    return explain


def _slow(task):
    """Spend 1 s on a conversion and 0.1 s on work, and ask the model."""

    def explain(x):
        with task.model.bridge():
            time.sleep(1.0)
            task.rows.frame(x[None])
        time.sleep(0.1)
        task.model.predict(x[None])
        return _richer(x)

    return explain


def _cannot():
    raise ValueError("This peer explains nothing\nat all.")


def _network(task):
    """Rebuild the network and check it against the model."""
    blueprint = task.blueprint
    inputs = [_encoded(task, place, column) for place, column in enumerate(blueprint.columns)]
    ((weights, biases),) = blueprint.layers
    scores = np.exp(np.hstack(inputs) @ weights + biases)
    expected = scores / scores.sum(axis=1, keepdims=True)
    if not np.allclose(task.model.predict_proba(task.train), expected):
        raise ValueError("The network is not the model.")
    return _richer


def _encoded(task, place, column):
    if column.levels is None:
        return (task.train[:, [place]] - column.mean) / column.scale
    texts = np.array(task.rows.levels[place])[task.train[:, place].astype(int)]
    return (texts[:, None] == np.array(column.levels)).astype(float)

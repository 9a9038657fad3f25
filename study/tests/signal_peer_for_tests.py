"""A peer for the tests on images and series. What it does depends on its name."""

from pathlib import Path

import numpy as np


def setup(task):
    return {
        "nearest": lambda: lambda x: _nearest(task, x),
        "halfway": lambda: lambda x: (x[None] + _nearest(task, x)) / 2,
        "too short": lambda: lambda x: task.model.predict(x[None, 1:]),
        "network": lambda: _network(task),
        "terms": lambda: lambda x: _terms(task, x),
    }[task.job["method"]]()


def _nearest(task, x):
    """Return known instances of another class, the nearest first."""
    others = task.train[task.model.predict(task.train) != task.model.predict(x[None])]
    return others[np.argsort(np.abs(others - x).sum(axis=1))]


def _terms(task, x):
    """Answer with the shape and what else the task says, as the first cells of a row."""
    said = [*task.job["shape"], len(task.train), task.labels.sum(), task.model.n_classes]
    return np.concatenate([said, np.zeros(len(x) - len(said))])[None]


def _network(task):
    """Answer with the file that the network was saved to, which is not the one of tables."""
    assert task.blueprint is None
    saved = np.load(Path(task.job["folder"]) / "convolution.npz")["weights"]
    return lambda x: np.broadcast_to(saved, (1, len(x)))

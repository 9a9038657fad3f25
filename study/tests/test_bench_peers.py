"""The peers of the environment "bench" on a small table; only where that environment has been made."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from counterpoint_study.peers import PEERS, run_peer
from counterpoint_study.peers.environments import is_ready

pytestmark = pytest.mark.skipif(
    not is_ready("bench"), reason="the study has not made the peers' environment yet"
)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(20, 70, 120),
            "income": rng.normal(50, 20, 120).round(1),
            "job": rng.choice(["cook", "clerk", "smith"], 120),
            "town": rng.choice(["A", "B"], 120),
        }
    )


@pytest.mark.parametrize(
    ("name", "classes"),
    # Only DiCE does anything else when there are more than two classes.
    [("DiCE random", 2), ("DiCE random", 3), ("DiCE genetic", 2), ("FAT", 2), ("NICE", 2), ("CFNOW", 2)],
)
def test_a_peer_flips_decisions(people, name, classes):
    score = people["age"] + people["income"] + 30 * (people["job"] == "smith")
    y = pd.qcut(score, classes, labels=False).map({0: "low", 1: "high", 2: "highest"})
    columns = make_column_transformer((OneHotEncoder(), ["job", "town"]), remainder=StandardScaler())
    model = make_pipeline(columns, DecisionTreeClassifier(max_depth=4, random_state=0)).fit(people, y)
    X = people[:2]
    found = run_peer(
        name, model, people, y, X, k=2, immutable=["town"], categorical=["job", "town"], time_limit=4.0
    )
    assert found.errors == [None, None]
    valid = 0
    for table, decision, town in zip(found.tables, model.predict(X), X["town"], strict=True):
        assert 1 <= len(table) <= (1 if PEERS[name].single else 2)
        valid += (model.predict(table) != decision).sum()
        if name != "NICE":  # which cannot hold features fixed
            assert (table["town"] == town).all()
    assert valid >= 2

"""The steps from the paper's method to ours: what each is, and what it adds."""

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.search.pool import Finds
from counterpoint_study.findings.ablation import ablation
from counterpoint_study.findings.ranks import ABLATION, OURS, PAPER, STEPS
from counterpoint_study.methods.ablation import OwnSelection, Polished, WholePool
from counterpoint_study.methods.tables import METHODS
from counterpoint_study.page import page
from counterpoint_study.topics import TOPICS
from made_up import NAN, rows, study

X = np.random.default_rng(0).normal(size=(300, 4))


def model(rows: np.ndarray) -> np.ndarray:
    return rows @ [1.0, 0.5, 0.25, 0.0] > 0.5


REFUSED = X[~model(X)][:6]


def test_each_step_is_a_method_of_the_study() -> None:
    assert set(ABLATION) <= set(METHODS)
    assert ABLATION[0] == PAPER
    assert ABLATION[-1] == OURS
    kinds = [type(METHODS[name].explainer).__name__ for name in STEPS]  # type: ignore[attr-defined]
    assert kinds == ["WholePool", "OwnSelection", "Polished", "Ensemble"]


class Seen:
    """Notes how many finds an explainer chooses from."""

    def __init__(self, explainer: cp.Explainer) -> None:
        self.sizes: list[int] = []
        choose = explainer.choose

        def noting(task: cp.Task, finds: Finds) -> list[np.ndarray]:
            self.sizes.append(len(finds.rows))
            return choose(task, finds)

        explainer.choose = noting  # type: ignore[method-assign]


def test_the_pool_grows_from_step_to_step_and_the_draws_stay() -> None:
    steps = [cp.Ensemble.paper(), WholePool(), OwnSelection(), Polished()]
    fitted = [step.fit(model, X) for step in steps]
    assert len({repr([member.order for member in each.members_]) for each in fitted}) == 1
    seen = [Seen(each) for each in fitted]
    answers = [each.explain_many(REFUSED, k=3, progress=False) for each in fitted]
    paper, whole, selected, polished = (sum(each.sizes) for each in seen)
    assert paper < whole == selected < polished
    assert sum(map(len, answers[2])) == sum(map(len, answers[3])) == 3 * len(REFUSED)
    for explanations in answers:
        for x, explanation in zip(REFUSED, explanations, strict=True):
            assert (model(explanation.counterfactuals) != model(x[None])).all()
    distances = [np.concatenate([each.distance for each in found]).mean() for found in answers[2:]]
    assert distances[1] < distances[0]


def test_steps_are_compared_on_the_instances_that_all_answer() -> None:
    paper = rows(PAPER, dis_dist=0.2, size=0.5)
    for row in paper:
        if row["instance"] == 1:  # it finds nothing for the hard one
            row |= {"size": 0.0, "dis_dist": NAN}
    ours = rows(OURS, dis_dist=0.3, size=1.0)
    for row in ours:
        if row["instance"] == 1:
            row |= {"dis_dist": 9.0}
    found = ablation(study(paper, ours))
    assert found is not None
    assert found.values["step"].tolist() == [PAPER, OURS]
    assert found.values["dis_dist"].tolist() == pytest.approx([0.2, 0.3])
    assert found.values["size"].tolist() == pytest.approx([0.25, 1.0])
    assert found.values["instances"].tolist() == [4, 4]
    assert found.changes[["size", "dis_dist"]].values.tolist() == [pytest.approx([0.75, 0.1])]


def test_one_step_alone_is_no_ablation() -> None:
    assert ablation(study(rows(PAPER), rows("FAT"))) is None


def test_steps_are_in_their_own_table_and_in_no_ranking(tmp_path) -> None:
    results = study(*(rows(name) for name in (*ABLATION, "FAT", "CBCE")))
    accuracies = pd.DataFrame({"set": ["german"], "black_box": ["forest"], "accuracy": [0.7], "paper": [0.7]})
    html = page.write(TOPICS["tables"], results, accuracies, tmp_path, "a command").read_text("utf-8")
    assert "From the paper's method to ours" in html.replace("&#39;", "'")
    ranked = pd.read_csv(tmp_path / "tables" / "mean_ranks.csv")
    assert set(ranked["method"]) == {PAPER, OURS, "FAT", "CBCE"}
    steps = pd.read_csv(tmp_path / "tables" / "ablation.csv")
    assert steps["step"].tolist() == list(ABLATION)
    summary = pd.read_csv(tmp_path / "tables" / "summary.csv")
    assert set(summary["method"]) == {PAPER, OURS, "FAT", "CBCE"}

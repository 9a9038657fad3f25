"""Every answer knows its origin, also through Polish."""

from types import SimpleNamespace

import numpy as np
import pytest

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.known import Population
from counterpoint.model.target import Target
from counterpoint.search.engine import Budget
from counterpoint.search.polish import shrink
from counterpoint.search.pool import Pool
from counterpoint.search.task import Question

X = np.random.default_rng(0).normal(size=(300, 3))
VOICES = {"BruteForce", "Tree", "Sphere", "Neighbours", "Guided", "Evolution"}


def either(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] > 1) | (rows[:, 1] > 1)


def pool_of(x: np.ndarray) -> Pool:
    schema = cp.Schema.infer(X)
    task = cp.Task(
        x, either(x), 3, Population.of(schema, X, either(X)), np.arange(3), Rules.of(schema), Target()
    )
    return Pool(task, Budget(None, None), lambda: np.inf)


def finish(pool: Pool) -> None:
    asking = pool.finish()
    question = next(asking, None)
    while question is not None:
        try:
            question = asking.send(SimpleNamespace(labels=either(question.rows), failed={}))  # type: ignore[arg-type]
        except StopIteration:
            break


def one(row: list[float]) -> cp.Search:
    yield Question(np.array([row]), np.array([0]))


def test_what_is_polished_is_credited_to_who_found_the_start() -> None:
    pool = pool_of(np.zeros((1, 3)))
    pool.add(one([2.0, 0.0, 0.4]), "Tree")
    pool.add(one([0.0, 2.0, -0.4]), "Sphere")
    finish(pool)
    finds = pool.finds()
    polished = pool.derived(finds.finders, "polished")
    # Bisecting alone: an exchange may turn the change of one number into that of another.
    pool.add(shrink(pool.task, finds.rows, finds.instance, 2, polished), "Polish")
    finish(pool)
    found = pool.finds()
    names = np.array([pool.names[finder] for finder in found.finders])
    assert names[:2].tolist() == ["Tree", "Sphere"]
    assert set(names[2:]) == {"Tree, polished", "Sphere, polished"}
    # The one start changes the first number, the other one the second, and polishing keeps to that.
    assert (found.rows[names == "Tree, polished", 1] == 0).all()
    assert (found.rows[names == "Sphere, polished", 0] == 0).all()
    again = pool.derived(found.finders, "polished")
    assert {pool.names[finder] for finder in again} == {"Tree, polished", "Sphere, polished"}


def test_an_exception_names_the_search_that_raised_it_after_names_were_derived() -> None:
    pool = pool_of(np.zeros((1, 3)))
    pool.add(one([2.0, 0.0, 0.0]), "Tree")
    finish(pool)
    pool.derived(np.array([0]), "polished")

    def broken() -> cp.Search:
        raise RuntimeError("no idea")
        yield

    with pytest.raises(RuntimeError) as raised:
        pool.add(broken(), "Broken")
    assert raised.value.__notes__ == ["It was raised by Broken."]


@pytest.mark.parametrize("selection", [cp.BALANCED, cp.DIVERSE])
def test_no_answer_is_found_by_polish_alone(selection: cp.Selection) -> None:
    explainer = cp.Ensemble(selection=selection).fit(lambda rows: rows @ [1.0, 0.5, 0.2] > 1, X)
    refused = X[X @ [1.0, 0.5, 0.2] <= 1][:20]
    answers = explainer.explain_many(refused, k=4, progress=False)
    found_by = [name for answer in answers for name in answer.found_by]
    origins = {tuple(name.split(", ")) for name in found_by}
    assert {origin[0] for origin in origins} <= VOICES
    assert {how for origin in origins for how in origin[1:]} <= {"polished", "stretched"}
    assert any(name.endswith(", polished") for name in found_by)
    assert answers.frame["found_by"].tolist() == found_by
    for place, answer in enumerate(answers):
        assert cp.Explanation.from_json(answer.to_json()).found_by == answer.found_by
        assert explainer.explain(refused[place], k=4).found_by == answer.found_by

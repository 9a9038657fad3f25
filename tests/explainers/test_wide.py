"""Tables of very many columns: the number of rows given to the model does not grow with them."""

import numpy as np
import pytest

import counterpoint as cp


def explained(width: int, **options):
    X = np.random.default_rng(0).normal(size=(200, width))
    counted = []

    def model(rows):
        counted.append(len(rows))
        return rows[:, 0] + rows[:, 1] > 0

    fitted = cp.Ensemble().fit(model, X, progress=False)
    counted.clear()
    return fitted.explain_many(X[:3], 3, progress=False, **options), sum(counted)


@pytest.mark.parametrize("width", [300, 1_000])
def test_a_wide_table_takes_no_more_rows(width):
    answers, rows = explained(width)
    assert [len(each) for each in answers] == [3, 3, 3]
    assert rows < explained(30)[1]


@pytest.mark.parametrize("width", [300, 1_000])
def test_few_changes_among_very_many_columns_are_found(width):
    answers, _ = explained(width, max_changes=2)
    assert sum(len(each) > 0 for each in answers) >= 2

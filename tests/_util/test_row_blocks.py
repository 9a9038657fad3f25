"""Work in blocks gives what work on all rows at once gives."""

import numpy as np
import pytest

import counterpoint as cp
from counterpoint._util import row_blocks
from counterpoint._util.row_blocks import in_blocks, keep_in_place, merged


@pytest.mark.parametrize("count", [0, 1, 4, 5, 9, 10])
def test_results_are_put_together_in_order(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "CELLS", 10)
    rows, instance = np.arange(2.0 * count).reshape(count, 2), np.arange(count)
    sizes: list[int] = []

    def work(rows: np.ndarray, instance: np.ndarray) -> np.ndarray:
        sizes.append(len(rows))
        return rows * 10 + instance[:, None]

    assert np.array_equal(in_blocks(2, work, rows, instance), rows * 10 + instance[:, None])
    assert max(sizes) <= 5


def test_rows_wider_than_a_block_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "CELLS", 10)
    rows = np.arange(60).reshape(3, 20)
    assert np.array_equal(in_blocks(20, lambda rows: rows.sum(axis=1), rows), rows.sum(axis=1))


@pytest.mark.parametrize("codec", [None, cp.Identity(), cp.Kernel(2)])
def test_answers_do_not_depend_on_the_size_of_blocks(
    codec: cp.Codec | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6)) if codec is None else rng.uniform(size=(200, 4, 4)).astype(np.float32)
    X[:, 0] = np.round(X[:, 0])

    def decide(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.reshape(len(rows), -1)[:, ::2].sum(axis=1) > (0 if codec is None else 4))

    def explained() -> cp.Explanations:
        return cp.Ensemble(codec=codec).fit(decide, X).explain_many(X[:8], k=3, progress=False)

    whole = explained()
    monkeypatch.setattr(row_blocks, "CELLS", 40)
    assert all(np.array_equal(a.rows, b.rows) for a, b in zip(whole, explained(), strict=True))


@pytest.mark.parametrize("width", [1, 3, 20])
def test_rows_are_merged_and_kept_as_by_plain_copies(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_blocks, "CELLS", 10)
    rng = np.random.default_rng(width)
    parts = [rng.normal(size=(count, width)) for count in (4, 0, 17, 1)]
    order = rng.permutation(22)
    together = merged(parts, order)
    assert np.array_equal(together, np.concatenate(parts)[order])
    kept = np.flatnonzero(rng.uniform(size=22) < 0.6)
    expected = together[kept]
    assert np.array_equal(keep_in_place(together, kept), expected)

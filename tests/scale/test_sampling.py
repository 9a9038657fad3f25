"""A sample of a large table: the same for any order of rows and files, with every decision in its share."""

import numpy as np
import pandas as pd
import pytest
from engines import loans

from counterpoint.scale import sampling
from counterpoint.scale.sampling import Sampler, sample


def model(frame):
    """Grant few loans."""
    return np.where(frame["income"].to_numpy() > 82, "granted", "refused")


@pytest.fixture
def small(monkeypatch):
    """Keep few rows, and read few at a time, so that a small table is a large one."""
    monkeypatch.setattr(sampling, "BATCH", 300)
    monkeypatch.setattr(sampling.Sampler.__init__, "__defaults__", (800, *Sampler.__init__.__defaults__[1:]))


def written(frame, folder, cuts):
    """Write a table as several files."""
    folder.mkdir()
    for number, part in enumerate(np.split(np.arange(len(frame)), cuts)):
        frame.iloc[part].to_parquet(folder / f"part-{number}.parquet", index=False)
    return folder


def test_the_order_of_rows_and_files_does_not_matter(small, tmp_path):
    frame = loans(5_000)
    one = written(frame, tmp_path / "one", [100, 2_000])
    other = written(frame.sample(frac=1, random_state=1), tmp_path / "other", [50, 60, 4_000])
    first, second = (sample(path, list(frame), model, seed=0, size=200) for path in (one, other))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
    assert not first.equals(sample(one, list(frame), model, seed=1, size=200))


def test_rows_come_from_the_table_and_decisions_keep_their_shares(small, tmp_path):
    frame = loans(5_000)
    drawn = sample(written(frame, tmp_path / "one", [2_500]), list(frame), model, seed=0, size=400)
    keys = frame.astype({"education": "str"}).apply(tuple, axis=1)
    assert set(drawn.astype({"education": "str"}).apply(tuple, axis=1)) <= set(keys)
    share = (model(frame) == "granted").mean()
    assert share < 0.03
    assert 5 <= (model(drawn) == "granted").sum() <= 5 * share * len(drawn)
    assert drawn.dtypes.drop("education").equals(frame.dtypes.drop("education"))
    assert isinstance(drawn["education"].dtype, pd.CategoricalDtype)


def test_no_known_value_becomes_unknown(small, tmp_path):
    frame = loans(5_000)
    frame.loc[4_321, ["age", "job"]] = [117, "king"]
    drawn = sample(written(frame, tmp_path / "one", [77]), list(frame), model, seed=0, size=200)
    assert drawn["age"].max() == 117
    assert drawn["income"].agg(["min", "max"]).equals(frame["income"].agg(["min", "max"]))
    assert set(drawn["job"]) == set(frame["job"])


def test_equal_rows_count_as_often_as_they_are_there(small, tmp_path):
    frame = pd.DataFrame({"income": [10] * 3_000 + [90] * 1_000 + [50] * 1_000, "owner": [True] * 5_000})
    frame = frame.sample(frac=1, random_state=0)
    drawn = sample(written(frame, tmp_path / "one", [999]), list(frame), model, seed=0, size=500)
    assert drawn["income"].value_counts().to_dict() == pytest.approx({10: 300, 50: 100, 90: 100}, abs=25)
    assert len(drawn) == 500


def test_missing_values_do_not_depend_on_where_a_file_ends(small, tmp_path):
    frame = loans(2_000).astype({"age": "Int64"})
    frame.loc[[5, 1_500], "age"] = pd.NA
    paths = [written(frame, tmp_path / name, cuts) for name, cuts in (("one", [1_000]), ("other", [3, 9]))]
    one, other = (sample(path, list(frame), model, seed=0, size=300) for path in paths)
    pd.testing.assert_frame_equal(one, other)
    assert one["age"].dtype == "float64"


def test_a_small_table_is_taken_whole_and_the_model_is_not_asked(tmp_path):
    frame = loans(500)
    drawn = sample(written(frame, tmp_path / "one", [100]), list(frame), None, seed=0)
    order = list(frame)
    pd.testing.assert_frame_equal(
        drawn.sort_values(order, ignore_index=True).astype({"education": "str"}),
        frame.sort_values(order, ignore_index=True).astype({"education": "str"}),
    )


def test_folders_and_files_that_differ_are_one_table(small, tmp_path):
    frame = loans(3_000).assign(region="north")
    folder = tmp_path / "known"
    for region, part in (("north", frame[:1_500]), ("south", frame[1_500:])):
        (folder / f"region={region}").mkdir(parents=True)
        kept = part.drop(columns=["region", *(["age"] if region == "south" else [])])
        kept.to_parquet(folder / f"region={region}" / "part.parquet", index=False)
    drawn = sample(folder, list(frame), model, seed=0, size=400)
    assert list(drawn) == list(frame)
    south = drawn["region"] == "south"
    assert 100 < south.sum() < 300
    assert drawn.loc[south, "age"].isna().all()
    assert drawn.loc[~south, "age"].notna().all()


def test_a_file_of_one_row_group_is_not_held_whole(tmp_path):
    import pyarrow as pa

    frame = pd.DataFrame({"income": np.arange(1_000_000) % 97, "job": "clerk of the works"})
    frame.to_parquet(tmp_path / "known.parquet", index=False, row_group_size=len(frame))
    pool = pa.system_memory_pool()
    usual = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        before = pool.max_memory()
        sample(tmp_path / "known.parquet", list(frame), model, seed=0, size=100)
        assert pool.max_memory() - before < 8_000_000  # all of it takes 34 MB
    finally:
        pa.set_memory_pool(usual)

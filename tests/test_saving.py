"""A fitted explainer is saved without its model, and gives the same answers after loading."""

import io
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

import counterpoint as cp
from counterpoint.saving import load, save


@dataclass
class Midway(cp.Explainer):
    """A user's own explainer: points halfway to the nearest unlike instances."""

    candidates: int = 20
    shares: tuple[float, ...] = (0.5, 1.0)
    options: dict[str, list[int]] = field(default_factory=dict)
    seed: int = 0

    def search(self, task):
        unlike, instance = task.nearest_unlike(self.candidates)
        for share in self.shares:
            yield task.project(task.x[instance] + share * (unlike - task.x[instance]), instance)


def people(size=120, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=size),
            "income": np.where(rng.uniform(size=size) < 0.1, np.nan, rng.lognormal(3, 1, size=size)),
            "job": rng.choice(["clerk", "smith", "cook"], size=size),
            "education": pd.Categorical(
                rng.choice(["low", "high"], size=size), ["low", "high"], ordered=True
            ),
        }
    )


def numbers(frame):
    """Read a frame or an array of people as numbers, for the models below."""
    if isinstance(frame, np.ndarray):
        return frame[:, 0].astype(float), np.nan_to_num(frame[:, 1].astype(float)), frame[:, 2]
    income = np.nan_to_num(frame["income"].to_numpy().astype(float))
    return frame["age"].to_numpy().astype(float), income, frame["job"].to_numpy()


def refuses(frame):
    age, income, job = numbers(frame)
    return np.where(age + income + 20 * (job == "smith") > 80, "yes", "no")


def grades(frame):
    age, income, _ = numbers(frame)
    return np.digitize(age + income, [50, 80])


def price(frame):
    age, income, _ = numbers(frame)
    return age / 7 + income


def as_polars(frame):
    return pl.DataFrame({name: pl.Series(frame[name].tolist(), nan_to_null=True) for name in frame})


def as_array(frame):
    return frame.astype({"education": str}).to_numpy(dtype=object)


def answers(explainer, X, **asked):
    explanations = explainer.explain_many(X, k=3, progress=False, **asked)
    return explanations.to_json()


def trip(explainer, path, model, **options):
    save(explainer, path)
    return load(path, model, **options)


# Round trips

EXPLAINERS = [
    cp.Ensemble(seed=3),
    cp.Ensemble([cp.Tree(leaves=4), Midway(shares=(0.3, 1.0), options={"a": [1]})], size=4, polish=None),
    cp.Ensemble([cp.Neighbours()], selection=cp.CLOSE, polish=cp.Polish(rounds=1), seed=np.int64(7)),
    cp.BruteForce(features=2),
    cp.Tree(share=0.05),
    cp.Sphere(seed=5),
    cp.Neighbours(),
    cp.CaseBased(),
    Midway(),
]


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda explainer: type(explainer).__name__)
def test_a_loaded_explainer_answers_as_the_saved_one_did(explainer, tmp_path):
    X = people()
    fitted = explainer.clone().fit(
        refuses, X, immutable=["age"], ranges={"income": (0, 200)}, increase=["education"]
    )
    loaded = trip(fitted, tmp_path / "saved", refuses)
    assert type(loaded) is type(explainer)
    assert loaded == explainer
    assert loaded.fitted_.schema == fitted.fitted_.schema
    assert answers(loaded, X[:6]) == answers(fitted, X[:6])


@pytest.mark.parametrize(
    "form", [lambda frame: frame, as_polars, as_array], ids=["pandas", "polars", "array"]
)
def test_the_model_gets_the_same_tables_after_loading(form, tmp_path):
    X = form(people())
    fitted = cp.Ensemble().fit(refuses, X)
    loaded = trip(fitted, tmp_path / "saved", refuses)
    given_, before = loaded.explain(X[:1]).counterfactuals, fitted.explain(X[:1]).counterfactuals
    assert type(given_) is type(before)
    assert str(given_) == str(before)
    assert answers(loaded, X[:5]) == answers(fitted, X[:5])


def test_several_classes(tmp_path):
    X = people()
    fitted = cp.Ensemble().fit(grades, X)
    loaded = trip(fitted, tmp_path / "saved", grades)
    assert answers(loaded, X[:5], target=[1, 2]) == answers(fitted, X[:5], target=[1, 2])


@pytest.mark.parametrize("model", [price, lambda frame: np.column_stack([price(frame), -price(frame)])])
def test_outputs_that_are_numbers(model, tmp_path):
    def low(output):
        return (output if output.ndim == 1 else output[:, 0]) < 10

    X = people()
    fitted = cp.Ensemble().fit(model, X)
    loaded = trip(fitted, tmp_path / "saved", model)
    assert answers(loaded, X[:5], target=low) == answers(fitted, X[:5], target=low)


def test_a_regressor_with_an_interval(tmp_path):
    X = people()
    fitted = cp.Ensemble().fit(price, X)
    loaded = trip(fitted, tmp_path / "saved", price)
    assert answers(loaded, X[:5], target=cp.Between(20, 30)) == answers(
        fitted, X[:5], target=cp.Between(20, 30)
    )


def test_scales_are_those_of_all_known_instances_not_of_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr("counterpoint.explainers.fitting.MOST", 60)
    X = people(300)
    fitted = cp.Ensemble().fit(refuses, X)
    assert len(fitted.fitted_.known.rows) == 60
    loaded = trip(fitted, tmp_path / "saved", refuses)
    assert (loaded.fitted_.known.distance.weight == fitted.fitted_.known.distance.weight).all()
    assert answers(loaded, X[:5]) == answers(fitted, X[:5])


def test_a_loaded_explainer_can_be_saved_again_to_the_same_bytes(tmp_path):
    loaded = trip(cp.Ensemble().fit(refuses, people()), tmp_path / "one", refuses)
    save(loaded, str(tmp_path / "two"))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("labels", [("no", "yes"), (b"n", b"y"), (False, True), (0.0, 1.0), (-1, 1)], ids=str)
def test_labels_of_every_type(labels, tmp_path):
    def model(frame):
        return np.where(price(frame) > 25, labels[1], labels[0])

    X = people()
    loaded = trip(cp.Neighbours().fit(model, X), tmp_path / "saved", model)
    assert loaded.fitted_.known.labels.dtype == model(X).dtype
    assert loaded.explain(X[:1], k=1).decisions[0] in labels


def test_labels_of_numpys_own_text_type(tmp_path):
    def model(frame):
        return refuses(frame).astype(np.dtypes.StringDType())

    X = people()
    fitted = cp.Neighbours().fit(model, X)
    loaded = trip(fitted, tmp_path / "saved", model)
    assert loaded.explain(X[:1]).decisions.tolist() == fitted.explain(X[:1]).decisions.tolist()


def test_a_rule_must_be_given_again(tmp_path):
    def keep_job(candidates, x):
        return candidates["job"].to_numpy() == x["job"].iloc[0]

    X = people()
    fitted = cp.Ensemble().fit(refuses, X, rule=keep_job)
    loaded = trip(fitted, tmp_path / "saved", refuses, rule=keep_job)
    assert answers(loaded, X[:5]) == answers(fitted, X[:5])
    with pytest.raises(ValueError, match=r"was fitted with a rule.*give rule= again"):
        load(tmp_path / "saved", refuses)
    with pytest.raises(TypeError, match=r"rule must be a function.*got 5"):
        load(tmp_path / "saved", refuses, rule=5)


# The file


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "saved"
    save(cp.Ensemble().fit(refuses, people()), path)
    return path


def rewrite(path, **changes):
    """Write a file again with some of its members changed; None leaves one out."""
    with ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members |= changes
    with ZipFile(path, "w") as archive:
        for name, content in members.items():
            if content is not None:
                archive.writestr(name, content)


def change(path, **meta):
    with ZipFile(path) as archive:
        old = json.loads(archive.read("explainer.json"))
    rewrite(path, **{"explainer.json": json.dumps(old | meta)})


def test_the_model_and_pickles_are_not_in_the_file(saved):
    with ZipFile(saved) as archive:
        names = archive.namelist()
        assert all(name.endswith((".json", ".npy")) for name in names)
        assert b"refuses" not in archive.read("explainer.json")
        for name in names[1:]:
            with archive.open(name) as member:
                np.lib.format.read_array(member, allow_pickle=False)


def test_an_old_file_stays_whole_if_saving_fails(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        save(cp.Tree().fit(refuses, people()), saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_new_file_replaces_an_old_one(saved):
    save(cp.Tree(leaves=3).fit(refuses, people()), saved)
    assert load(saved, refuses) == cp.Tree(leaves=3)


def test_folders_are_named_when_they_are_wrong(tmp_path):
    fitted = cp.Tree().fit(refuses, people())
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        save(fitted, tmp_path / "nowhere" / "saved")
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        save(fitted, tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing", refuses)


@pytest.mark.parametrize(
    "content",
    [b"", b"not a zip", b"PK\x03\x04 but damaged", b"\x80\x04\x95"],
    ids=["empty", "text", "zip", "pickle"],
)
def test_other_files_are_refused(content, tmp_path):
    Path(tmp_path / "other").write_bytes(content)
    with pytest.raises(ValueError, match="other is not a saved explainer, or it is damaged"):
        load(tmp_path / "other", refuses)


def test_a_cut_off_file_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:-200])
    with pytest.raises(ValueError, match="is not a saved explainer, or it is damaged"):
        load(saved, refuses)


def test_a_flipped_byte_is_noticed(saved):
    content = bytearray(saved.read_bytes())
    content[len(content) // 2] ^= 0xFF
    saved.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="is not a saved explainer, or it is damaged"):
        load(saved, refuses)


@pytest.mark.parametrize(
    "changes",
    [
        {"explainer.json": None},
        {"explainer.json": b"[]"},
        {"explainer.json": b"{}"},
        {"rows.npy": None},
        {"labels.npy": b"nonsense"},
        {"distance.weight.npy": None},
    ],
    ids=["no text", "a list", "no format", "no rows", "bad labels", "no weights"],
)
def test_a_file_with_parts_missing_is_refused(saved, changes):
    rewrite(saved, **changes)
    with pytest.raises(ValueError, match="is not a saved explainer, or it is damaged"):
        load(saved, refuses)


def test_a_file_whose_parts_do_not_fit_is_refused(saved, tmp_path):
    other = tmp_path / "other"
    save(cp.Tree().fit(refuses, people(50)), other)
    with ZipFile(other) as archive:
        rewrite(saved, **{"labels.npy": archive.read("labels.npy")})
    with pytest.raises(ValueError, match=r"120 known instances, but labels of shape \(50,\)"):
        load(saved, refuses)


def test_pickled_arrays_are_refused(saved, tmp_path):
    np.save(tmp_path / "evil.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    rewrite(saved, **{"labels.npy": (tmp_path / "evil.npy").read_bytes()})
    with pytest.raises(ValueError, match=r"damaged: labels.npy holds pickled objects"):
        load(saved, refuses)


def test_other_formats_and_versions_are_refused(saved):
    change(saved, version=99)
    with pytest.raises(ValueError, match="format version 99, but this counterpoint reads 3"):
        load(saved, refuses)
    change(saved, format="something else", version=1)
    with pytest.raises(ValueError, match="its format is 'something else'"):
        load(saved, refuses)


def test_an_explainer_nobody_imported_is_refused_and_nothing_is_imported(saved):
    change(saved, explainer={"class": ["antigravity", "Mine"], "parameters": {}})
    with pytest.raises(
        ValueError, match=r"is a Mine, which antigravity defines. Import antigravity before loading"
    ):
        load(saved, refuses)
    assert "antigravity" not in sys.modules


def test_a_class_that_is_no_explainer_is_refused(saved):
    change(saved, explainer={"class": ["subprocess", "Popen"], "parameters": {"args": ["true"]}})
    with pytest.raises(ValueError, match="Popen"):
        load(saved, refuses)


def test_parameters_that_the_class_refuses_are_refused(saved):
    change(saved, explainer={"class": ["counterpoint.explainers.tree", "Tree"], "parameters": {"leaves": 0}})
    with pytest.raises(ValueError, match=r"Tree.leaves must be at least 1, got 0"):
        load(saved, refuses)


def test_a_class_that_has_moved_to_another_module_is_found(saved):
    change(saved, explainer={"class": ["old.place", "Tree"], "parameters": {"leaves": 2}})
    assert load(saved, refuses) == cp.Tree(leaves=2)


# What cannot be saved, and which models are refused


def test_an_unfitted_explainer_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError, match="This Tree is not fitted yet"):
        save(cp.Tree(), tmp_path / "saved")


def test_parameters_that_are_no_plain_data_are_named(tmp_path):
    @dataclass
    class Weighted(Midway):
        weigh: object = np.sqrt

    fitted = cp.Ensemble([cp.Tree(), Weighted()]).fit(refuses, people())
    with pytest.raises(
        TypeError, match=r"Ensemble.explainers\[1\].weigh cannot be saved: .*sqrt.* is not plain data"
    ):
        save(fitted, tmp_path / "saved")
    assert not list(tmp_path.iterdir())


def test_an_explainer_that_is_no_dataclass_is_named(tmp_path):
    class Bare(cp.Explainer):
        seed = 0

        def search(self, task):
            yield task.nearest_unlike(1)

    with pytest.raises(TypeError, match="Bare must be a dataclass"):
        save(Bare().fit(refuses, people()), tmp_path / "saved")


def test_a_model_that_decides_otherwise_is_refused(saved):
    with pytest.raises(
        ValueError, match=r"decides \d+ of 100 known instances differently.*Load it with that model"
    ):
        load(saved, lambda frame: np.where(refuses(frame) == "yes", "no", "yes"))
    with pytest.raises(ValueError, match="100 of 100"):
        load(saved, price)


def test_a_model_that_is_none_is_refused(saved):
    with pytest.raises(TypeError, match="model must have a predict method or be a callable"):
        load(saved, None)


def test_a_model_that_fails_says_so(saved):
    with pytest.raises(cp.ModelError, match="The model raised KeyError: 'wages'"):
        load(saved, lambda frame: frame["wages"])


def test_last_digits_of_a_number_may_differ(tmp_path):
    X = people()
    save(cp.Tree().fit(price, X), tmp_path / "saved")
    loaded = load(tmp_path / "saved", lambda frame: price(frame) * (1 + 1e-9))
    assert len(loaded.explain(X[:1], target=cp.Between(0, 20)))


# Files that claim more than they hold


def arrays_of(path):
    with ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def npy(array=None, header=None):
    file = io.BytesIO()
    if header is None:
        np.save(file, array)
        return file.getvalue()
    text = repr(header).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def test_an_array_that_claims_terabytes_is_refused(saved):
    huge = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 4)}
    rewrite(saved, **{"rows.npy": npy(header=huge)})
    with pytest.raises(cp.DamagedError, match="should have 32,000,000,000,000 bytes, and has 0"):
        load(saved, refuses)


def test_a_file_that_unpacks_to_gigabytes_is_refused(saved):
    members = arrays_of(saved)
    with ZipFile(saved, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if name != "labels.npy":
                archive.writestr(name, content)
        with archive.open("labels.npy", "w", force_zip64=True) as member:
            for _ in range(600):
                member.write(bytes(2**20))
    with pytest.raises(cp.DamagedError, match="its arrays would need"):
        load(saved, refuses)


def test_what_is_not_needed_is_not_read(saved):
    with ZipFile(saved, "a", ZIP_DEFLATED) as archive:
        archive.writestr("extra.npy", b"not an array")
        archive.writestr("codec.extra.npy", b"not an array")
    assert load(saved, refuses) == cp.Ensemble()


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("distance.weight", np.array([np.nan] * 4)),
        ("distance.weight", np.array([-1.0] * 4)),
        ("distance.median", np.array([np.inf] * 4)),
        ("distance.lost", np.array([0.0] * 3)),
        ("distance.categorical", np.array([99])),
        ("distance.fixed", np.array([-7])),
        ("distance.per_category", np.array(np.nan)),
        ("rows", np.full((120, 4), 77.0)),
        ("rows", np.full((120, 4), np.inf)),
        ("labels", np.zeros(120, dtype=complex)),
    ],
)
def test_weights_and_rows_that_no_fit_gives_are_refused(saved, name, array):
    rewrite(saved, **{f"{name}.npy": npy(array)})
    with pytest.raises(cp.DamagedError, match="is not a saved explainer, or it is damaged"):
        load(saved, refuses)


@pytest.mark.parametrize(
    ("name", "value"), [("size", "ten"), ("size", 2.5), ("instances", "x"), ("seed", True), ("starts", None)]
)
def test_parameters_of_another_type_are_refused(saved, name, value):
    with ZipFile(saved) as archive:
        meta = json.loads(archive.read("explainer.json"))
    meta["explainer"]["parameters"][name] = value
    change(saved, **meta)
    with pytest.raises(cp.DamagedError, match=f"Ensemble.{name} must be"):
        load(saved, refuses)


@pytest.mark.parametrize("shape", [[10**9, 10**9], [-28, -28], [], [3, 4]])
def test_a_codec_of_another_shape_is_refused(tmp_path, shape):
    X = np.random.default_rng(0).normal(size=(60, 6, 6))
    fitted = cp.Ensemble(codec=cp.Kernel(2)).fit(lambda x: x[:, 0, 0] > 0, X)
    save(fitted, tmp_path / "saved")
    rewrite(tmp_path / "saved", **{"codec.shape.npy": npy(np.array(shape, dtype=np.int64))})
    with pytest.raises(cp.DamagedError, match="its codec has shape"):
        load(tmp_path / "saved", lambda x: x[:, 0, 0] > 0)


def test_damage_is_one_error(saved):
    """Cuts and flips anywhere in the file: an error of one type, or the same answers."""
    whole, rng = saved.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[place] ^= int(rng.integers(1, 256))
        saved.write_bytes(damaged[: rng.integers(len(whole))] if rng.random() < 0.2 else damaged)
        try:
            again = load(saved, refuses)
        except cp.DamagedError:
            continue
        assert again == cp.Ensemble()


def test_a_saved_file_follows_links_and_keeps_its_mode(tmp_path):
    (tmp_path / "real").touch(mode=0o600)
    (tmp_path / "link").symlink_to("real")
    save(cp.Tree().fit(refuses, people()), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o600
    (tmp_path / "real").chmod(0o400)
    with pytest.raises(PermissionError, match="read-only"):
        save(cp.Tree().fit(refuses, people()), tmp_path / "link")

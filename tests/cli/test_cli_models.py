"""Models in files of every kind, and in Python, give the answers that they give in Python."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import lightgbm
import numpy as np
import pandas as pd
import pytest
import skl2onnx
import skops.io
import torch
import xgboost
from applicants import applicants, decisions
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

NUMBERS = ["age", "amount", "duration"]
KNOWN = applicants(300)
REFUSED = (decisions(KNOWN) == "refused").astype(int)
TEXTS_AS_CATEGORIES = KNOWN.astype({"job": "category", "sex": "category"})


@pytest.fixture
def found(explain, here):
    """Explain the refused rows by a model, and give the counterfactuals."""
    KNOWN[NUMBERS].to_csv("numbers.csv", index=False)

    def run(
        model: str, *more: str, data: str = "numbers.csv", target: str = "", code: int = 0
    ) -> pd.DataFrame:
        rows = pd.read_csv("refused.csv")[:12]
        (rows if data == "known.csv" else rows[NUMBERS]).to_csv("rows.csv", index=False)
        options = ["--rows", "rows.csv", "-k", "2", "--out", "found.csv"]
        assert explain(*options, *more, model=model, data=data, target=target) == code
        return pd.read_csv("found.csv")

    return run


def test_xgboost_knows_its_order_and_categories(found):
    turned = TEXTS_AS_CATEGORIES[["sex", "duration", "job", "age", "amount"]]
    model = xgboost.XGBClassifier(n_estimators=20, enable_categorical=True).fit(turned, REFUSED)
    for name in ("model.json", "model.ubj"):
        model.save_model(name)
        table = found(name, "--classes", "granted,refused", data="known.csv", target="decision")
        as_trained = table[list(turned)].astype({"job": turned["job"].dtype, "sex": turned["sex"].dtype})
        assert (np.array(["granted", "refused"])[model.predict(as_trained)] == table["decision"]).all()


@pytest.mark.parametrize("goal", ["binary:logistic", "binary:logitraw", "binary:hinge"])
def test_every_binary_objective_of_xgboost_decides_alike(found, goal):
    data = xgboost.DMatrix(KNOWN[NUMBERS], REFUSED)
    booster = xgboost.train({"objective": goal, "max_depth": 3}, data, 20)
    booster.save_model("booster.json")
    table = found("booster.json")
    scores = booster.predict(xgboost.DMatrix(table[NUMBERS]))
    threshold = {"binary:logistic": 0.5, "binary:logitraw": 0.0, "binary:hinge": 0.5}[goal]
    assert ((scores > threshold) == table["decision"]).all()


@pytest.mark.parametrize("goal", ["multi:softmax", "multi:softprob"])
def test_several_classes_of_xgboost(found, goal):
    thirds = pd.qcut(KNOWN["amount"], 3, labels=False)
    data = xgboost.DMatrix(KNOWN[NUMBERS].to_numpy(), thirds)  # without names
    booster = xgboost.train({"objective": goal, "num_class": 3}, data, 5)
    booster.save_model("booster.ubj")
    table = found("booster.ubj", "--want", "0")
    outputs = booster.predict(xgboost.DMatrix(table[NUMBERS].to_numpy()))
    assert set(table["decision"]) == {0}
    assert ((outputs.argmax(axis=1) if outputs.ndim == 2 else outputs) == 0).all()


def test_xgboost_without_categories_cannot_take_texts(explain, capsys):
    codes = KNOWN.assign(job=TEXTS_AS_CATEGORIES["job"].cat.codes, sex=TEXTS_AS_CATEGORIES["sex"].cat.codes)
    xgboost.XGBClassifier(n_estimators=2).fit(codes, REFUSED).save_model("model.json")
    assert explain("--row", "x.json", model="model.json") == 3
    assert "does not know the categories of the columns ['job', 'sex']" in capsys.readouterr().err


def test_lightgbm_knows_its_order_and_categories(found):
    turned = TEXTS_AS_CATEGORIES[["sex", "duration", "job", "age", "amount"]]
    model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(turned, REFUSED)
    model.booster_.save_model("model.txt")
    table = found("model.txt", data="known.csv", target="decision")
    as_trained = table[list(turned)].astype({"job": turned["job"].dtype, "sex": turned["sex"].dtype})
    assert (model.predict(as_trained) == table["decision"]).all()


def test_lightgbm_writes_blanks_in_names_as_underscores(explain):
    blanks = KNOWN[NUMBERS].rename(columns={"amount": "amount asked"})
    model = lightgbm.LGBMRegressor(n_estimators=20, verbose=-1).fit(blanks, blanks["amount asked"])
    model.booster_.save_model("model.txt")
    blanks.to_csv("blanks.csv", index=False)
    options = ["--want", ":3000", "--out", "found.csv"]
    explain("--rows", "blanks.csv", "-k", "1", *options, model="model.txt", data="blanks.csv", target="")
    table = pd.read_csv("found.csv")
    assert len(table)
    assert (model.predict(table[list(blanks)]) <= 3000).all()


def test_onnx_of_a_pipeline_is_given_its_columns(found):
    model = skops.io.load("model.skops")
    kinds = {"i": Int64TensorType, "f": FloatTensorType}
    inputs = [(n, kinds.get(KNOWN[n].dtype.kind, StringTensorType)([None, 1])) for n in KNOWN]
    exported = skl2onnx.to_onnx(model, initial_types=inputs, options={"zipmap": False})
    Path("model.onnx").write_bytes(exported.SerializeToString())
    table = found("model.onnx", data="known.csv", target="decision")
    assert set(table["decision"]) == {"granted"}
    assert np.mean(model.predict(table[list(KNOWN)]) == "granted") > 0.9  # floats are narrower there


def test_onnx_of_a_matrix_counts_its_columns(found, capsys):
    model = LogisticRegression(max_iter=1000).fit(KNOWN[NUMBERS].to_numpy(), REFUSED)
    exported = skl2onnx.to_onnx(model, KNOWN[NUMBERS].to_numpy(np.float32)[:1], options={"zipmap": False})
    Path("model.onnx").write_bytes(exported.SerializeToString())
    assert len(found("model.onnx", "--classes", "granted,refused"))


def test_torchscript(found):
    module = torch.nn.Linear(3, 1)
    with torch.no_grad():
        module.weight[:] = torch.tensor([[0.0, 1.0, 0.0]])
        module.bias[:] = -4000.0
    with warnings.catch_warnings(action="ignore"):
        torch.jit.script(module).save("model.pt")
    table = found("model.pt", "--classes", "granted,refused", "--want", "granted")
    assert (table["amount"] <= 4000).all()


def test_a_torch_file_of_another_kind_is_refused(explain, capsys):
    torch.save(torch.nn.Linear(3, 1), "model.pt")
    assert explain("--row", "x.json", model="model.pt") == 2
    assert "torch.jit.script(module).save('model.pt')" in capsys.readouterr().err


def test_a_function_of_a_module_in_the_folder(found):
    Path("my_scoring.py").write_text("def decide(table):\n    return table['amount'] > 4000\n")
    table = found("my_scoring:decide")
    assert (table["decision"] == (table["amount"] > 4000)).all()


@pytest.mark.parametrize("text", ["no_such_module:decide", "json:no_such_function"])
def test_what_cannot_be_imported_is_one_sentence(explain, capsys, text):
    assert explain("--row", "x.json", model=text) == 2
    error = capsys.readouterr().err
    assert f"The model {text} cannot be imported" in error
    assert error.count("\n") == 1


def test_a_regressor_is_asked_for_an_interval(found, capsys):
    skops.io.dump(LinearRegression().fit(KNOWN[NUMBERS], KNOWN["amount"]), "model2.skops")
    table = found("model2.skops", "--want", "1000:2000")
    assert table["decision"].between(1000, 2000).all()
    Path("found.csv").unlink()
    with pytest.raises(FileNotFoundError):
        found("model2.skops", "--want", "low", code=2)
    assert "--want LOW:HIGH" in capsys.readouterr().err


def test_types_that_skops_does_not_know_must_be_trusted(found, capsys):
    boosted = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(KNOWN[NUMBERS], REFUSED)
    skops.io.dump(boosted, "boosted.skops")
    with pytest.raises(FileNotFoundError):
        found("boosted.skops", code=2)
    kind = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    assert f"--trust {kind}" in capsys.readouterr().err
    assert len(found("boosted.skops", "--trust", kind))


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib"])
def test_pickles_are_refused_unless_allowed(explain, capsys, name):
    Path(name).write_bytes(pickle.dumps(skops.io.load("model.skops")))
    assert explain("--row", "x.json", model=name) == 2
    assert "can run any code when it is opened" in capsys.readouterr().err
    assert explain("--row", "x.json", "--allow-pickle", model=name) == 0


def test_another_order_of_columns_is_put_right(explain):
    known, rows = pd.read_csv("known.csv"), pd.read_csv("refused.csv")
    explain("--rows", "refused.csv", "-k", "2", "--out", "a.csv")
    known[known.columns[::-1]].to_csv("turned.csv", index=False)
    rows[rows.columns[::-1]].assign(decision="refused").to_csv("turned_rows.csv", index=False)
    assert explain("--rows", "turned_rows.csv", "-k", "2", "--out", "b.csv", data="turned.csv") == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_other_columns_than_the_models_are_named(explain, capsys):
    assert explain("--row", "x.json", target="") == 2
    assert "if 'decision' is the label, add --target decision" in capsys.readouterr().err
    pd.read_csv("known.csv").rename(columns={"age": "years"}).to_csv("renamed.csv", index=False)
    assert explain("--row", "x.json", data="renamed.csv") == 2
    error = capsys.readouterr().err
    assert "the model knows ['age']" in error
    assert "--data has ['years']" in error
    pd.read_csv("known.csv").assign(id=range(300)).to_csv("more.csv", index=False)
    assert explain("--row", "x.json", data="more.csv") == 2
    assert explain("--row", "x.json", "--drop", "id", data="more.csv") == 0


def test_a_model_that_ends_the_program_is_an_error(explain, capsys):
    Path("ending.py").write_text("import sys\nsys.exit(0)\n")
    assert explain("--row", "x.json", model="ending:decide") == 2
    assert "ending:decide cannot be imported: it called sys.exit(0)" in capsys.readouterr().err
    Path("ending_later.py").write_text("import sys\n\ndef decide(table):\n    sys.exit(0)\n")
    assert explain("--row", "x.json", model="ending_later:decide") == 3
    assert "The model called sys.exit(0)" in capsys.readouterr().err


def test_a_model_that_fails_is_exit_code_3(explain, capsys):
    Path("failing.py").write_text("def decide(table):\n    raise RuntimeError('no service')\n")
    assert explain("--row", "x.json", model="failing:decide") == 3
    assert "RuntimeError: no service" in capsys.readouterr().err


def test_opening_a_skops_file_loads_no_library_that_the_model_does_not_need(tmp_path):
    skops.io.dump(LogisticRegression().fit([[0.0], [1.0]], [0, 1]), tmp_path / "model.skops")
    code = (
        "import sys; from counterpoint.cli.models import Request, open_model;"
        "open_model(Request('model.skops'));"
        "print(sorted({'cupy', 'dask', 'torch'} & set(sys.modules)));"
        "import sklearn.externals.array_api_compat.torch; print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert done.stdout.split("\n")[:2] == ["[]", "True"]  # and they can still be imported

"""ONNX sessions given as they are: graphs built by hand, and what skl2onnx makes of scikit-learn's models."""

import warnings

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from onnx import TensorProto, helper, numpy_helper
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from counterpoint.model.adapters import OnnxModel, ask

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(50, 12, 10))
COLOURS = RNG.uniform(size=(50, 12, 10, 3))
SERIES = RNG.normal(size=(50, 40))
ROWS = RNG.normal(size=(50, 4))


def onnx_session(nodes, inputs, outputs, *constants):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def onnx_flat(shape, kind=TensorProto.FLOAT):
    """Make a session that flattens instances and takes their first three values for scores."""
    first = numpy_helper.from_array(np.array([0, 1, 2]), "first")
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"]),
        helper.make_node("Gather", ["flat", "first"], ["y"], axis=1),
    ]
    return onnx_session(nodes, [value("x", shape, kind)], [value("y", [None, 3], kind)], first)


@pytest.mark.parametrize(
    ("shape", "X", "laid_out"),
    [
        (["n", 1, 12, 10], IMAGES, IMAGES),
        (["n", 12, 10, 1], IMAGES, IMAGES),
        ([None, 3, 12, 10], COLOURS, COLOURS.transpose(0, 3, 1, 2)),
        (["n", "c", "h", "w"], COLOURS, COLOURS),
        (["n", 1, 40], SERIES, SERIES),
        (["n", 120], IMAGES, IMAGES),
    ],
)
def test_onnx_layouts(shape, X, laid_out):
    expected = laid_out.reshape(50, -1)[:, :3].argmax(axis=1)
    session = onnx_flat(shape)
    assert (ask(session, X)(X) == expected).all()
    assert (ask(OnnxModel(session, batch=7), X)(X) == expected).all()


@pytest.mark.parametrize(
    "kind", [TensorProto.DOUBLE, TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8]
)
def test_onnx_dtypes(kind):
    X = RNG.permuted(np.tile(np.arange(4), (50, 1)), axis=1)
    assert (ask(onnx_flat(["n", 4], kind), X)(X) == X[:, :3].argmax(axis=1)).all()


@pytest.mark.parametrize("size", [1, 4])
def test_onnx_models_for_a_fixed_number_of_instances(size):
    session = onnx_flat([size, 4])
    assert (ask(session, ROWS)(ROWS) == ROWS[:, :3].argmax(axis=1)).all()


def test_onnx_outputs_that_are_not_one_an_instance():
    node = helper.make_node("Flatten", ["x"], ["y"], axis=2)  # one row of scores a line of the image
    with pytest.raises(TypeError, match=r"output has shape \(36, 10\)"):
        ask(onnx_session([node], [value("x", ["n", 12, 10])], [value("y", [None, 10])]), IMAGES)


def test_onnx_misfit():
    with pytest.raises(TypeError, match=r"the model's input x has the shape \('any', 3, 12, 10\)"):
        ask(onnx_flat(["n", 3, 12, 10]), IMAGES)


@pytest.fixture(scope="module")
def loans():
    return pd.DataFrame(
        {
            "income": RNG.normal(size=80).astype(np.float32),
            "months": RNG.integers(6, 60, size=80),
            "job": RNG.choice(["clerk", "smith", "cook"], size=80),
        }
    )


def converted(pipeline, frame, **settings):
    from skl2onnx import to_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other packages' versions
        model = to_onnx(pipeline, frame, **settings)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("names", [("refused", "granted"), (3, 7)], ids=["texts", "numbers"])
def test_onnx_pipelines_take_a_frame_and_give_their_labels(names, loans):
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["income", "months"]))
    y = np.where(loans["income"] + (loans["job"] == "smith") > 0, *names)
    pipeline = make_pipeline(encode, LogisticRegression()).fit(loans, y)
    session = converted(pipeline, loans[:1])
    assert len(session.get_inputs()) == 3
    for frame in (loans, pl.from_pandas(loans)):
        labels = ask(OnnxModel(session, batch=30), frame)(frame)
        assert (labels == pipeline.predict(loans)).all()
        assert labels.dtype.kind == ("U" if names[0] == "refused" else "i")
    with pytest.raises(TypeError, match="has 3 inputs, income, months, job: X must be a frame"):
        ask(session, ROWS)
    with pytest.raises(TypeError, match="got the columns income, job"):
        ask(session, loans[["income", "job"]])


def test_onnx_scores_need_an_array(loans):
    X = loans[["income", "months"]].to_numpy(dtype=np.float32)
    model = LogisticRegression().fit(X, loans["job"])
    with pytest.raises(TypeError, match="zipmap"):
        ask(OnnxModel(converted(model, X[:1]), output="scores"), X)
    plain = converted(model, X[:1], options={"zipmap": False})
    assert (ask(plain, X)(X) == model.predict(X)).all()
    scores = ask(OnnxModel(plain, output="scores"), X)(X)
    np.testing.assert_allclose(scores, model.predict_proba(X), atol=1e-5)
    frame = loans[["income", "months"]]
    assert (ask(plain, frame)(frame) == model.predict(X)).all()

"""The convolutional network: what it learns, what it leaves alone, and that others can rebuild it."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from counterpoint_study.models import conv_blueprint
from counterpoint_study.models.conv_blueprint import ConvBlueprint, Layer
from counterpoint_study.models.convolution import ConvNetwork, _batches, _shifted
from counterpoint_study.peers.environments import environment_python, is_ready
from counterpoint_study.peers.worker import convolution as worker


def images(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw bars that lie, stand or cross, in noise; of 9 × 10 cells, so that no axis passes for the other."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 0.3, (count, 9, 10)).astype(np.float32)
    y = rng.choice(["across", "both", "up"], count)
    for image, label in zip(X, y, strict=True):
        if label != "up":
            image[rng.integers(9)] += 0.7
        if label != "across":
            image[:, rng.integers(10)] += 0.7
    return X, y


def series(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw waves of which some are twice as fast."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, count)
    starts = rng.uniform(0, 6, (count, 1))
    X = np.sin(np.linspace(0, 6, 21) * (1 + y[:, None]) + starts) + rng.normal(0, 0.2, (count, 21))
    return X * 5 + 100, y


@pytest.fixture(scope="module")
def of_images() -> ConvNetwork:
    return ConvNetwork(epochs=4, batch=16, shift=1).fit(*images(300))


@pytest.fixture(scope="module")
def of_series() -> ConvNetwork:
    return ConvNetwork(epochs=12, batch=16, dropout=0.1).fit(*series(120))


@pytest.fixture(scope="module")
def of_moments() -> ConvNetwork:
    """Learn series, each moment with weights of its own."""
    network = ConvNetwork(epochs=12, batch=16, convolutions=[[6, 4], [5, 3]], series_head="flatten")
    return network.fit(*series(120))


@pytest.fixture(params=["of_images", "of_series", "of_moments"])
def network(request: pytest.FixtureRequest) -> ConvNetwork:
    found: ConvNetwork = request.getfixturevalue(request.param)
    return found


def fresh(network: ConvNetwork, count: int) -> np.ndarray:
    draw = images if len(network.blueprint().shape) == 2 else series
    return draw(count, seed=1)[0]


def test_learns_images_of_several_classes(of_images: ConvNetwork) -> None:
    assert of_images.classes_.tolist() == ["across", "both", "up"]
    assert of_images.score(*images(300, seed=1)) > 0.9


def test_learns_series(of_series: ConvNetwork) -> None:
    assert of_series.score(*series(300, seed=1)) > 0.9


def test_when_something_happens_can_be_learned() -> None:
    """A peak of chance height is early or late: a mean over time hardly tells, weights of each moment do."""

    def peaks(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, count)
        X = rng.normal(0, 0.2, (count, 40))
        X[np.arange(count), np.where(y == 1, 25, 14) + rng.integers(-2, 3, count)] += rng.uniform(1, 3, count)
        return X, y

    def accuracy(head: str) -> float:
        network = ConvNetwork(epochs=15, batch=16, convolutions=[(8, 3)], series_head=head)
        return float(network.fit(*peaks(60, seed=0)).score(*peaks(300, seed=1)))

    assert accuracy("flatten") > 0.9
    assert accuracy("globalmean") < 0.7


def test_a_series_convolutions_can_be_chosen(of_moments: ConvNetwork) -> None:
    kinds = ["conv1d", "relu", "conv1d", "relu", "flatten", "dense"]
    layers = of_moments.blueprint().layers
    assert [layer.kind for layer in layers] == kinds
    shapes = [layer.weights.shape for layer in layers if layer.weights is not None]
    assert shapes == [(4, 1, 6), (3, 6, 5), (21 * 5, 2)]


def test_the_label_is_the_likeliest_class(network: ConvNetwork) -> None:
    X = fresh(network, 50)
    shares = network.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (network.predict(X) == network.classes_[shares.argmax(axis=1)]).all()


def test_an_instance_is_answered_alike_alone_and_among_many(network: ConvNetwork) -> None:
    many = fresh(network, 2 * conv_blueprint.BLOCK + 7)
    together = network.predict_proba(many)
    for place in (0, conv_blueprint.BLOCK - 1, conv_blueprint.BLOCK, len(many) - 1):
        assert np.allclose(network.predict_proba(many[[place]]), together[place], rtol=0, atol=1e-5)


def test_no_instances_have_no_labels(network: ConvNetwork) -> None:
    none = fresh(network, 5)[:0]
    assert network.predict(none).shape == (0,)
    assert network.predict_proba(none).shape == (0, len(network.classes_))


def test_the_type_of_the_cells_does_not_matter(network: ConvNetwork) -> None:
    X = fresh(network, 20).round()
    expected = network.predict_proba(X.astype(np.float64))
    for kind in (np.float32, np.int64, np.float16):
        assert np.allclose(network.predict_proba(X.astype(kind)), expected, atol=1e-5)


def test_the_seed_decides_all() -> None:
    X, y = images(40)

    def weights(seed: int) -> np.ndarray:
        network = ConvNetwork(epochs=1, batch=16, shift=2, seed=seed).fit(X, y)
        found = network.blueprint().layers[0].weights
        assert found is not None
        return found

    first = weights(1)
    torch.manual_seed(99)
    assert (weights(1) == first).all()
    assert not np.allclose(weights(2), first)


def test_torch_is_left_as_it_was() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    threads = torch.get_num_threads()
    X, y = series(20)
    ConvNetwork(epochs=1).fit(X, y).predict(X)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()


def test_the_instances_are_left_as_they_were(network: ConvNetwork) -> None:
    X = fresh(network, 30)
    before = X.copy()
    network.predict(X)
    clone(network).set_params(epochs=1).fit(X, np.arange(30) % 2)
    assert (before == X).all()


def test_progress_is_shown_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    ConvNetwork(epochs=1).fit(*series(20))
    said = capfd.readouterr()
    assert "training" in said.err
    assert not said.out


@pytest.mark.parametrize("shape", [(6, 1, 9), (6, 1, 5, 7)])
def test_a_shift_moves_each_instance_by_itself_and_keeps_its_cells(shape: tuple[int, ...]) -> None:
    signals = torch.arange(float(np.prod(shape[2:]))).reshape(1, 1, *shape[2:]).expand(shape)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        moved = _shifted(torch, signals, 2)
    middle = moved[(slice(None), 0, *(slice(2, -2) for _ in shape[2:]))]
    moves = middle.flatten(1) - signals[(slice(None), 0, *(slice(2, -2) for _ in shape[2:]))].flatten(1)
    assert (moves == moves[:, :1]).all()
    assert len(moves[:, 0].unique()) > 1
    steps = [int(np.prod(shape[axis + 1 :])) for axis in range(2, len(shape))]
    reachable = {sum(np.multiply(m, steps)) for m in np.ndindex(*[5] * len(steps))}
    assert set((moves[:, 0] + 2 * sum(steps)).int().tolist()) <= reachable
    assert _shifted(torch, signals, 0) is signals


def test_no_batch_is_small() -> None:
    for count in (17, 33, 65, 67):
        batches = _batches(torch, count, 16)
        assert sorted(place for batch in batches for place in batch.tolist()) == list(range(count))
        assert min(map(len, batches)) >= 12


def test_a_blueprint_is_the_network_in_plain_numbers(network: ConvNetwork, tmp_path: Path) -> None:
    network.blueprint().save(tmp_path / "network")
    with np.load(tmp_path / "network", allow_pickle=False) as file:
        arrays = dict(file)
    assert arrays["shape"].tolist() == list(network.blueprint().shape)
    assert arrays["classes_count"] == len(network.classes_)
    X = fresh(network, 12)
    assert np.allclose(by_hand(arrays, X), network.predict_proba(X), rtol=0, atol=1e-4)


@pytest.mark.parametrize(("shape", "head"), [((9, 10), "flatten"), ((21,), "flatten"), ((21,), "globalmean")])
def test_a_batch_norm_is_folded_as_it_was_learned(shape: tuple[int, ...], head: str) -> None:
    """In a blueprint, layers follow each other as in the module that learned, which knows of no blueprint."""
    from counterpoint_study.models.conv_module import learned_layers, untrained

    X = np.random.default_rng(0).random((32, *shape), dtype=np.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = untrained(torch, shape, 3, 0.25, head=head).train()
        signals = torch.from_numpy(X).unsqueeze(1)
        module(signals * 3 + 1)  # so that the batch norms have something to remember
        with torch.no_grad():
            expected = module.eval()(signals).softmax(dim=1).numpy()
    blueprint = ConvBlueprint(shape, 3, 0.0, 1.0, learned_layers(module))
    assert np.allclose(blueprint.predict_proba(X), expected, rtol=0, atol=1e-5)


@pytest.mark.skipif(not is_ready("alibi"), reason="the study has not made the peers' environment yet")
def test_keras_rebuilds_the_network_from_the_file_alone(
    of_images: ConvNetwork, of_series: ConvNetwork, of_moments: ConvNetwork, tmp_path: Path
) -> None:
    for name, network in {"images": of_images, "series": of_series, "moments": of_moments}.items():
        network.blueprint().save(tmp_path / f"{name}.npz")
        X = fresh(network, 12)
        np.savez(tmp_path / f"{name}-answers.npz", X=X, answers=network.predict_proba(X))
    program = (
        "import sys, numpy as np, tensorflow as tf; tf.compat.v1.disable_v2_behavior(); "
        "from worker.convolution import check_rebuilt, rebuilt\n"
        "for name in ('images', 'series', 'moments'):\n"
        "    kept = np.load(f'{sys.argv[1]}/{name}-answers.npz')\n"
        "    model = rebuilt(f'{sys.argv[1]}/{name}.npz')\n"
        "    check_rebuilt(model, kept['X'], lambda X: kept['answers'])\n"
        "    print(name, *model.input_shape)\n"
    )
    folder = Path(worker.__file__).parents[1]
    done = subprocess.run(
        [environment_python("alibi"), "-c", program, tmp_path],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder), "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    expected = ["images None 9 10 1", "series None 21 1", "moments None 21 1", ""]
    assert done.stdout.split("\n") == expected, done.stderr[-800:]


class Answering:
    """A rebuilt model that answers what it was told to."""

    def __init__(self, answers: np.ndarray) -> None:
        self.answers = answers

    def predict(self, X: np.ndarray, verbose: int) -> np.ndarray:
        assert X.shape == (3, 2, 1)
        return self.answers


def test_a_rebuilt_network_that_differs_is_refused() -> None:
    X, right = np.zeros((3, 2)), np.full((3, 2), 0.5)
    worker.check_rebuilt(Answering(right), X, lambda X: right)
    for wrong in (right + 0.01, right * np.nan):
        with pytest.raises(RuntimeError, match="probabilities differ by"):
            worker.check_rebuilt(Answering(wrong), X, lambda X: right)


def test_is_an_estimator_like_others(network: ConvNetwork) -> None:
    twin = clone(network)
    assert twin.get_params() == network.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(fresh(network, 3))
    X = fresh(network, 10)
    network.predict(X)
    kept = pickle.loads(pickle.dumps(network))
    assert (kept.predict_proba(X) == network.predict_proba(X)).all()


def test_what_cannot_be_learned_from_is_named() -> None:
    X, y = images(6)
    with pytest.raises(ValueError, match=r"two classes, got only \['up'\]"):
        ConvNetwork().fit(X, ["up"] * 6)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ConvNetwork().fit(X, y[:5])
    with pytest.raises(ValueError, match=r"series \(n, length\), got an array of shape \(6, 9, 10, 1\)"):
        ConvNetwork().fit(X[..., None], y)
    with pytest.raises(ValueError, match="finite numbers only"):
        ConvNetwork().fit(np.where(X > 0.5, np.nan, X), y)
    with pytest.raises(
        ValueError, match=r"series_head must be one of \['globalmean', 'flatten'\], got 'max'"
    ):
        ConvNetwork(series_head="max").fit(*series(6))


def test_instances_of_another_shape_are_refused(of_images: ConvNetwork) -> None:
    with pytest.raises(ValueError, match=r"of shape \(9, 10\).*Got an array of shape \(2, 10, 9\)"):
        of_images.predict(np.zeros((2, 10, 9)))


def test_cells_that_never_vary_do_no_harm() -> None:
    network = ConvNetwork(epochs=1).fit(np.full((6, 8), 3.0), [0, 1] * 3)
    assert np.isfinite(network.predict_proba(np.full((1, 8), 3.0))).all()


def test_without_torch_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'counterpoint\[torch\]'"):
        ConvNetwork().fit(*series(6))


def test_no_padding_is_possible_too() -> None:
    kernel = np.ones((3, 1, 1), np.float32)
    layers = (
        Layer("conv1d", kernel, np.zeros(1, np.float32), padding="valid"),
        Layer("flatten"),
        Layer("dense", np.eye(2, dtype=np.float32), np.zeros(2, np.float32)),
    )
    shares = ConvBlueprint((4,), 2, 0.0, 1.0, layers).predict_proba(np.array([[1.0, 2.0, 3.0, 4.0]]))
    assert np.allclose(shares, softmax(np.array([[6.0, 9.0]])))


def by_hand(arrays: dict[str, np.ndarray], X: np.ndarray) -> np.ndarray:
    """Compute what a saved blueprint says, cell by cell and with the channels last."""
    signal = ((X - arrays["mean"]) / arrays["scale"])[..., None]
    for place, kind in enumerate(arrays["kinds"].tolist()):
        if kind in ("conv1d", "conv2d"):
            assert arrays[f"padding_{place}"] == "same"
            signal = convolved(signal, arrays[f"weights_{place}"]) + arrays[f"biases_{place}"]
        elif kind == "relu":
            signal = np.maximum(signal, 0)
        elif kind == "maxpool2d":
            signal = pooled(signal, int(arrays[f"size_{place}"]))
        elif kind == "flatten":
            signal = signal.reshape(len(signal), -1)
        elif kind == "globalmean":
            signal = signal.mean(axis=1)
        else:
            assert kind == "dense"
            signal = signal @ arrays[f"weights_{place}"] + arrays[f"biases_{place}"]
    return softmax(signal)


def convolved(signal: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Slide a kernel over every axis but the first and last; of an even width, the longer half is ahead."""
    widths, sizes = weights.shape[:-2], signal.shape[1:-1]
    around = [((width - 1) // 2, width // 2) for width in widths]
    padded = np.pad(signal, [(0, 0), *around, (0, 0)])
    total = np.zeros((*signal.shape[:-1], weights.shape[-1]))
    for offsets in np.ndindex(*widths):
        window = tuple(slice(start, start + size) for start, size in zip(offsets, sizes, strict=True))
        total += padded[(slice(None), *window)] @ weights[offsets]
    return total


def pooled(signal: np.ndarray, size: int) -> np.ndarray:
    height, width = (length // size for length in signal.shape[1:3])
    cut = signal[:, : height * size, : width * size]
    return cut.reshape(len(signal), height, size, width, size, -1).max(axis=(2, 4))


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)

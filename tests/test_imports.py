"""What importing the package, and asking for help, loads."""

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "pyarrow", "pooch", "torch", "jinja2", "fastapi", "httpx", "sklearn.model_selection")


def loaded(code: str) -> set[str]:
    """Run code in a process of its own, and tell which modules it has loaded in the end."""
    code += "\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded("import counterpoint") & {*HEAVY, "counterpoint.datasets", "counterpoint.testing"}


def test_explaining_loads_nothing_that_it_does_not_need() -> None:
    code = "import counterpoint as cp, numpy as np; X = np.random.default_rng(0).normal(size=(90, 2))\n"
    code += "cp.explain(X[0], lambda rows: rows[:, 0] > 0, X)"
    heavy = set(HEAVY) - {
        "pyarrow",
        "sklearn.model_selection",
    }  # which pandas and scikit-learn load themselves
    assert not loaded(code) & {*heavy, "counterpoint.datasets", "counterpoint.testing"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]], ids=" ".join)
def test_help_needs_neither_pandas_nor_scikit_learn(arguments: list[str]) -> None:
    code = f"from counterpoint.cli import main\ntry: main({arguments})\nexcept SystemExit: pass"
    assert not loaded(code) & {"pandas", "sklearn", "numpy", *HEAVY}


def test_public_names_are_found_when_they_are_used() -> None:
    import counterpoint as cp

    assert all(hasattr(cp, name) for name in cp.__all__)
    assert set(cp.__all__) <= set(dir(cp))
    with pytest.raises(AttributeError, match="no attribute 'Ensembel'"):
        cp.Ensembel  # noqa: B018


def test_the_limits_of_the_service_are_known_without_fastapi_and_the_service_says_what_it_lacks() -> None:
    code = """
import sys
sys.modules["fastapi"] = None
from counterpoint.cli import parser
from counterpoint.web.limits import Bounds
options = parser("serve").parse_args(["serve", "--model", "model.skops", "--data", "known.csv"])
assert (options.most_k, options.most_seconds) == (Bounds.k, Bounds.seconds)
for name in ("service.app", "page.opening"):
    try:
        __import__(f"counterpoint.web.{name}")
    except ImportError as error:
        assert "pip install 'counterpoint[serve]'" in str(error)
    else:
        raise AssertionError(name)
"""
    assert "counterpoint.web.limits" in loaded(code)

"""Fitted explainers in MLflow: logged as models whose `predict` returns a tidy frame of counterfactuals."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterpoint.explainers import Explainer
from counterpoint.model.adapters import RemoteModel
from counterpoint.scale.work import Work

if TYPE_CHECKING:
    import pandas as pd

# The name of the file within the logged model.
FILE = "explainer.pkl"

# What an explainer was pickled with; other versions may not read it, or decide differently.
PINNED = ("numpy", "pandas", "scikit-learn", "cloudpickle")


def log_explainer(
    explainer: Explainer,
    name: str = "explainer",
    *,
    k: int = 5,
    id: Any = None,
    registered_model_name: str | None = None,
    pip_requirements: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    **asked: Any,
) -> Any:
    """Log a fitted explainer to MLflow, in the active run or a new one; needs ``counterpoint[mlflow]``.

    The logged model has the flavor `python_function`. Its ``predict(frame)`` returns what
    ``explainer.explain_frame(frame)`` does: one line per counterfactual. ``predict(frame, params={"k": 3})``
    asks for another number of them. The explainer is pickled together with its model and the known instances;
    of a `RemoteModel`, the address is.

    Parameters
    ----------
    explainer
        A fitted explainer.
    name
        The name of the logged model.
    k
        How many counterfactuals are wanted, unless the caller says otherwise.
    id
        The column that names the rows, which is not a feature. None for the index of the frame.
    registered_model_name
        The name under which the model is registered too, if any.
    pip_requirements
        What a server of the model installs. None for this version of counterpoint, the libraries that it
        computes with, and the one that the explained model's class comes from.
    options
        Further arguments of ``mlflow.pyfunc.log_model``, such as tags.
    asked
        Further arguments of `explain_many`, such as target and max_changes.

    Returns
    -------
    ModelInfo
        What MLflow says about the logged model, such as its `model_uri`.

    Examples
    --------
    >>> import counterpoint.mlflow
    >>> info = counterpoint.mlflow.log_explainer(explainer, k=3, target="granted")  # doctest: +SKIP
    >>> mlflow.pyfunc.load_model(info.model_uri).predict(refused)  # doctest: +SKIP
    """
    work = Work.of(explainer, k, id, asked)
    pyfunc = _mlflow("mlflow.pyfunc")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_bytes(pickle.dumps(work))
        return pyfunc.log_model(
            name=name,
            loader_module=__name__,
            data_path=str(path),
            signature=_signature(k),
            registered_model_name=registered_model_name,
            pip_requirements=list(pip_requirements or _requirements(explainer)),
            **(options or {}),
        )


@dataclass(frozen=True)
class LoggedExplainer:
    """What MLflow loads: a packed explainer, and what is asked of it."""

    work: Work

    def predict(self, model_input: pd.DataFrame, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Explain the rows of a frame as a tidy frame; `params` may hold another k."""
        k = int((params or {}).get("k", self.work.k))
        return replace(self.work, k=k)(model_input)


def _load_pyfunc(path: str) -> LoggedExplainer:
    """Load a logged explainer; MLflow looks for this name."""
    where = Path(path)
    work: Work = pickle.loads((where / FILE if where.is_dir() else where).read_bytes())
    return LoggedExplainer(work)


def _signature(k: int) -> Any:
    """Declare that k can be given; rows are checked by the explainer, which says what is wrong with each."""
    models, types = _mlflow("mlflow.models"), _mlflow("mlflow.types")
    schema = _mlflow("mlflow.types.schema")
    given = schema.ParamSpec("k", types.DataType.long, default=k)
    return models.ModelSignature(params=schema.ParamSchema([given]))


def _requirements(explainer: Explainer) -> list[str]:
    """List what is needed to load an explainer and its model."""
    model = explainer._fitted().blackbox.model
    own = "counterpoint[remote]" if isinstance(model, RemoteModel) else "counterpoint"
    package = type(model).__module__.partition(".")[0]
    theirs = [each for each in packages_distributions().get(package, ()) if each != "counterpoint"]
    return [
        f"{own}=={version('counterpoint')}",
        *(f"{each}=={version(each)}" for each in dict.fromkeys((*PINNED, *theirs))),
    ]


def _mlflow(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("log_explainer needs mlflow: pip install 'counterpoint[mlflow]'") from error

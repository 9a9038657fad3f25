"""What every explainer is: fit on a model and known instances, then explain decisions.

A subclass states its method as `search`, a generator that yields rows and is sent labels. All else, from the
caller's tables to the promises of every answer, is done here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from counterpoint.codecs import Codec
from counterpoint.data.problems import Problem
from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices
from counterpoint.explainers.fitting import Constraints, Fitted
from counterpoint.explainers.framing import explain_frame, frame_schema, frames_of
from counterpoint.explainers.parallel import check_jobs, explain_in_parallel
from counterpoint.explainers.relaxing import relax
from counterpoint.explainers.run import IncompleteError, Run, Settings
from counterpoint.explainers.widening import ranges_of
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.ranges import Ranges
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.model.follows import Function
from counterpoint.model.representation import Sight, Through
from counterpoint.search.margin import Margin
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Rule, Search, Task
from counterpoint.search.why import Why


class Explainer(ABC):
    """A k-counterfactual explainer: the paper's f_k(x, b, X, A).

    Subclasses are dataclasses whose fields are their parameters, with a `seed`, and implement `search`.

    Examples
    --------
    An explainer of your own that tries random known values, one feature at a time:

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Dice(Explainer):
    ...     throws: int = 50
    ...     seed: int = 0
    ...
    ...     def search(self, task):
    ...         rng = task.rng()
    ...         rows = np.repeat(task.x[:, None], self.throws, axis=1)
    ...         feature = rng.choice(task.features, self.throws)
    ...         donor = rng.integers(len(task.known.rows), size=self.throws)
    ...         rows[:, np.arange(self.throws), feature] = task.known.rows[donor, feature]
    ...         yield task.question(list(rows))
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> len(Dice().fit(lambda rows: rows[:, 0] > 0, X).explain(X[0], k=3).counterfactuals)
    3
    """

    seed: int
    codec: Codec | None = None
    fitted_: Fitted

    # Whether `search` changes features one by one. It then keeps to ``task.max_changes`` on its own, and
    # takes longer the more features there are.
    changes_one_by_one: ClassVar[bool] = False

    @abstractmethod
    def search(self, task: Task) -> Search:
        """Look for counterfactuals: yield rows to be labelled, and be sent their labels.

        Every row that flips is kept, so there is nothing to return. The number of rounds must be bounded.
        """

    def fit(
        self,
        model: Any,
        X: Any,
        *,
        schema: Schema | None = None,
        categorical: Iterable[Any] | None = None,
        immutable: Iterable[Any] = (),
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] = (),
        decrease: Iterable[Any] = (),
        missing: Literal["keep", "allow"] = "keep",
        costs: Mapping[Any, Any] | None = None,
        max_change: Mapping[Any, float | str] | None = None,
        links: Iterable[Any] = (),
        order: Mapping[Any, Sequence[Any]] | None = None,
        onehot: Mapping[Any, Any] | bool | None = None,
        follows: Mapping[Any, Function] | None = None,
        rule: Rule | None = None,
        progress: bool = True,
    ) -> Self:
        """Learn the columns, ask the model about the known instances, and make the random draws.

        Parameters
        ----------
        model
            Anything with ``predict``, or a callable from rows to labels.
        X
            The known instances: a pandas or polars frame, or an array; images or series, if it has more than
            two dimensions or the explainer has a codec.
        schema
            What the columns are; inferred from X if not given. This and the further constraints are for
            tables; of images and series, `immutable` and `rule` hold.
        categorical
            Features to take as categorical although they hold numbers.
        immutable
            Features that a counterfactual keeps; of images and series, a mask of cells, True where nothing
            may change.
        ranges
            Admissible values per feature: a pair (low, high), or a list of categories.
        increase, decrease
            Features that may only rise, or only fall.
        missing
            ``"keep"``: a value that x has does not go missing. ``"allow"``: it may, where known instances
            miss it. What x misses may stay missing or become a value in any case.
        costs
            What changes cost, per feature: a number that its part of the distance is multiplied with, or a
            `Cost` by direction or by transition. ``inf`` for never.
        max_change
            The most that a number may change, up or down: an amount, or a share of x's value such as
            ``"20%"``. For ordered categories, a number of ranks.
        links
            Constraints between columns: comparisons such as ``"start <= end"``, and `implies`. Searches
            repair candidates that break them.
        order
            The categories of a feature from the lowest to the highest, each once. They then have a distance
            in steps, searches move along them, and `increase` and `decrease` hold for them. A column with an
            ordered dtype needs no entry.
        onehot
            Groups of 0/1 columns that encode one category each: the columns by the name of the group, or a
            mapping from categories to columns, with None for the category that has no column. A group is one
            feature: its columns change together. By default groups are detected, and what was found is said
            once; False turns that off.
        follows
            Columns that are computed from others: their names, and functions from a table of candidates to
            the column. They change with the others, and not by themselves.
        rule
            A function (candidates as a table, x as a one-row table) to a mask of those that are admissible.
        progress
            Show a bar while the model labels the known instances, if that takes more than a few seconds, and
            say which dummy columns were detected. The model is asked about at most 50,000 known instances,
            drawn at random.
        """
        constraints = Constraints(
            schema,
            categorical,
            immutable,
            ranges,
            increase,
            decrease,
            missing,
            costs,
            max_change,
            links,
            order,
            onehot,
            follows,
        )
        if rule is not None and not callable(rule):
            raise TypeError(f"rule must be a function from candidates and x to a mask, got {rule!r}.")
        seed = getattr(self, "seed", None)
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(
                f"{type(self).__name__}.seed must be a whole number from 0 on, got {seed!r}. "
                f"An explainer is a dataclass with a field seed: int = 0."
            )
        rng = np.random.default_rng([self.seed])
        return self.keep(Fitted.learn(model, X, constraints, self.codec, rng, rule, progress))

    def keep(self, fitted: Fitted) -> Self:
        """Keep what was learned; explainers that make draws make them here."""
        self.fitted_ = fitted
        return self

    def explain(
        self,
        x: Any,
        k: int = 5,
        *,
        target: Any = None,
        max_changes: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        margin: Margin | float | None = None,
        immutable: Iterable[Any] | None = None,
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] | None = None,
        decrease: Iterable[Any] | None = None,
        costs: Mapping[Any, Any] | None = None,
        max_change: Mapping[Any, float | str] | None = None,
        exclude: Iterable[Any] = (),
    ) -> Explanation:
        """Explain one decision by at most k counterfactuals.

        Parameters
        ----------
        x
            One instance: a dict, a Series, a one-row frame or a vector.
        k
            How many counterfactuals are wanted, at most 1,000.
        target
            What counts as different: None for any other decision, a class, several classes, or a function of
            the model's outputs such as `Between`.
        max_changes
            The most features that may change.
        max_rows
            The most rows to give to the model; then the best found so far is returned.
        max_seconds
            After this many seconds the model is not asked again, and the best found so far is returned.
        margin
            How far from the boundary answers must be, so that they still hold when the model is trained
            again: `SAFE`, your own `Margin`, or the least probability of the wanted decision.
        immutable, ranges, increase, decrease, costs, max_change
            What this person may change, for tables. Each replaces what `fit` was given under the same name;
            None leaves it as fitted. Nothing is learned again.
        exclude
            Actions that no answer may hold, not even with further changes, as `Explanation.actions` gives
            them: ``exclude=explanation.actions[:1]`` looks for other ways than the first. For tables.
        """
        fitted = self._fitted()
        instance = fitted.view.read_one(x)
        limits = fitted.read_limits(
            1,
            immutable=immutable,
            ranges=ranges,
            increase=increase,
            decrease=decrease,
            costs=costs,
            max_change=max_change,
        )
        instance = instance.with_problems(fitted.problems_of(limits, lambda schema: schema.read_one(x)))
        instance.valid("x")
        settings = Settings.of(fitted, k, target, max_changes, max_rows, max_seconds, limits, margin, exclude)
        try:
            return self._explain(instance, settings, False)[0]
        except IncompleteError as error:
            raise error.failed[0] from error.failed[0].__cause__

    def explain_many(
        self,
        X: Any,
        k: int = 5,
        *,
        target: Any = None,
        max_changes: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        margin: Margin | float | None = None,
        immutable: Iterable[Any] | None = None,
        ranges: Mapping[Any, Sequence[Any]] | Sequence[Any] | None = None,
        increase: Iterable[Any] | None = None,
        decrease: Iterable[Any] | None = None,
        costs: Mapping[Any, Any] | Sequence[Any] | None = None,
        max_change: Mapping[Any, float | str] | Sequence[Any] | None = None,
        exclude: Iterable[Any] = (),
        invalid: Literal["raise", "skip"] = "raise",
        progress: bool = True,
        jobs: int = 1,
    ) -> Explanations:
        """Explain many decisions, at a far lower cost per row than one by one.

        Parameters are as for `explain`. `max_rows` is for each instance, `max_seconds` for all of them
        together. If X is a pandas frame, the answers keep the labels of its index.

        `immutable`, `ranges`, `increase`, `decrease`, `costs` and `max_change` are for all instances, or a
        list with one entry per row of X: ``immutable=[["age"], None]`` keeps the age of the first, and leaves
        the second as fitted. `exclude` is for all instances.

        Rows that cannot be explained, such as one with a category that was never seen, raise an
        `InvalidError` that names them all. With `invalid="skip"` they are left out, `Explanations.skipped`
        lists them, and `Explanations.instances` names the others. Where the model fails on some instances,
        the rest is explained and `IncompleteError.finished` holds it.

        `jobs` is the number of processes, -1 for one per core. Answers do not depend on it. Processes are
        started by joblib, on the backend that ``joblib.parallel_config`` names; each computes on one thread.
        If a process dies, its instances are explained again. A script that uses it needs the guard
        ``if __name__ == "__main__":``.
        """
        fitted, jobs = self._fitted(), check_jobs(jobs)
        if invalid not in ("raise", "skip"):
            raise ValueError(f'invalid must be "raise" or "skip", got {invalid!r}.')
        instances = fitted.view.read(X)
        limits = fitted.read_limits(
            len(instances.instances.rows),
            immutable=immutable,
            ranges=ranges,
            increase=increase,
            decrease=decrease,
            costs=costs,
            max_change=max_change,
        )
        instances = instances.with_problems(fitted.problems_of(limits, lambda schema: schema.read(X)))
        if invalid == "raise":
            instances.valid()
        settings = Settings.of(fitted, k, target, max_changes, max_rows, max_seconds, limits, margin, exclude)
        if jobs == 1:
            return self._explain(instances, settings, progress)
        return explain_in_parallel(self, instances, settings, progress, jobs)

    def model_from(self, opener: Callable[[], Any]) -> Self:
        """Tell how other processes get the model, if it cannot be sent to them or should not be.

        Parameters
        ----------
        opener
            A function without arguments that returns the model that was given to `fit`, such as one that
            opens its file. Each process calls it once. Only the function is sent, not the model.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> def open_model():
        ...     return lambda rows: rows[:, 0] > 0
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> explainer = Neighbours().fit(open_model(), X).model_from(open_model)
        """
        if not callable(opener):
            raise TypeError(f"opener must be a function that returns the model, got {opener!r}.")
        self._fitted().blackbox.opener = opener
        return self

    def explain_frame(self, frame: pd.DataFrame, k: int = 5, *, id: Any = None, **asked: Any) -> pd.DataFrame:
        """Explain the rows of a pandas frame as a tidy frame with fixed columns and dtypes.

        It has one line per counterfactual: the row's id, the number of the counterfactual from 1, the
        features, decision, distance, found_by, status and reason. A row without any counterfactual has one
        line too: number 0, no values, and the reason. So an invalid row, and one that the model fails on, are
        reported and the others are explained. Columns and dtypes depend on the explainer and the id only, not
        on the rows: empty partitions have them too.

        Parameters
        ----------
        frame
            The rows: the features, and the id if it is a column.
        k
            How many counterfactuals are wanted.
        id
            The column that names the rows, which is not a feature. None for the index of the frame, as a
            column called instance.
        asked
            Further arguments of `explain_many`.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> explainer = Neighbours().fit(lambda X: X["age"] > 35, X)
        >>> rows = pd.DataFrame({"application": ["a", "b"], "age": [20, None]})
        >>> explainer.explain_frame(rows, k=1, id="application")[["application", "age", "status"]]
          application   age   status
        0           a    40    found
        1           b  <NA>  invalid
        """
        asked = {"progress": False, **asked, "invalid": "skip"}
        many = partial(self.explain_many, k=k, **asked)
        return explain_frame(self._fitted(), frame, id, asked.get("target"), many)

    def frame_schema(
        self, kind: Literal["pandas", "arrow", "spark"] = "pandas", *, id: Any = None, id_dtype: Any = "int64"
    ) -> Any:
        """Describe the columns of `explain_frame`, which are the same for all rows.

        Parameters
        ----------
        kind
            ``"pandas"``: an empty frame. ``"arrow"``: an Arrow schema. ``"spark"``: a string such as
            ``"`age` bigint, `job` string"``. Spark has no categories; they become their values.
        id, id_dtype
            The column that names the rows, and its pandas dtype; see `explain_frame`.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> Neighbours().fit(lambda X: X["age"] > 35, X).frame_schema("spark", id="row")
        '`row` bigint, `counterfactual` bigint, `age` bigint, `decision` boolean, `distance` double, ...'
        """
        return frame_schema(frames_of(self._fitted(), id, id_dtype), kind)

    def relax(
        self,
        explanation: Explanation,
        *,
        target: Any = None,
        max_changes: int | None = None,
        keep: Iterable[Any] = (),
        max_seconds: float | None = None,
    ) -> Relaxation | None:
        """Find the fewest constraints whose release gives an answer: `Explanation.relax`, for one from JSON.

        Parameters
        ----------
        explanation
            An answer of this explainer.
        target, max_changes
            As they were given to `explain`; a target that names classes or a probability may be left out.
        keep
            Features whose constraints are never released.
        max_seconds
            After this many seconds, the best found so far is returned.
        """
        if target is None:
            target = explanation.probability or list(explanation.classes) or None
        settings = Settings.of(self._fitted(), explanation.k, target, max_changes, None, None)
        if str(settings.target) != explanation.target:
            raise ValueError(
                f"The target of the explanation is {explanation.target}, got {target!r}. Give target as it "
                f"was given to explain."
            )
        return self.ask_relaxed(explanation, settings, keep, max_seconds)

    def ask_relaxed(
        self, explanation: Explanation, settings: Settings, keep: Iterable[Any], max_seconds: float | None
    ) -> Relaxation | None:
        """Ask a question again, with fewer constraints."""
        return relax(self, explanation, settings, keep, max_seconds)

    def app(self, **options: Any) -> Any:
        """Make a web service of this explainer: an ASGI application to run or to mount, for tables.

        It needs ``pip install 'counterpoint[serve]'``. The page "Serve it" says what it answers to.

        Parameters
        ----------
        options
            ``name`` of the model, which is part of some addresses. ``target``: what is wanted where a request
            does not say. ``token``: what requests must send as ``Authorization: Bearer``. ``hosts``: the
            names of hosts that it answers as, ``["*"]`` for any; by default those of this machine.
            ``origins``: other sites whose pages may use it. ``bounds``: how much a request may ask for, as
            `counterpoint.web.limits.Bounds`. ``release``: whether requests may release what `fit` was
            told to keep. ``share``: whether the ranges and all categories of known instances may be told.
            ``max_changes``: the most features that may change, whatever a request says.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> app = Neighbours().fit(lambda X: X["age"] > 35, X).app(name="adults")
        >>> app.title
        'Counterpoint: adults'
        """
        # By its name, because it is a later layer, and needs an extra.
        return import_module("counterpoint.web.service.app").application(self, **options)

    def open(
        self,
        rows: Any = None,
        *,
        target: Any = None,
        k: int = 5,
        title: str = "",
        port: int = 0,
        browser: bool = True,
    ) -> Any:
        """Open a page in the browser: pick a case, say what may change, and see what would change it.

        The page is served to this machine only, at an address with a random token. It needs
        ``pip install 'counterpoint[serve]'``. The server stops with Python; ``page.close()`` stops it before,
        and ``page.wait()`` waits until it is stopped by control-C.

        Parameters
        ----------
        rows
            The cases to pick from, such as new applications; the known instances if None. For images and
            series they must be given.
        target
            What counts as a different decision, as for `explain`.
        k
            How many answers to show.
        title
            What the page is about, in a few words.
        port
            The port to serve it at; 0 for any that is free.
        browser
            Whether to open the browser; the address is ``page.address`` in any case.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> page = Neighbours().fit(lambda X: X["age"] > 35, X).open(browser=False)
        >>> page.address
        'http://127.0.0.1:.../?token=...'
        >>> page.close()
        """
        # By its name, because it is a later layer, and needs an extra.
        opening = import_module("counterpoint.web.page.opening")
        asked = {"target": target, "k": k, "title": title}
        return opening.open_explainer(self, rows, asked, port, browser)

    def widget(self, x: Any, *, target: Any = None, k: int = 5) -> Any:
        """Show one case in a notebook: the page of `open` as a widget, for tables.

        It needs ``pip install 'counterpoint[notebook]'``. ``widget.constraints`` holds what may change, and
        ``widget.chosen`` the answers that were pinned; both can be read and set.

        Parameters
        ----------
        x
            One instance, as for `explain`.
        target
            What counts as a different decision, as for `explain`.
        k
            How many answers to show.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
        >>> widget = Neighbours().fit(lambda X: X["age"] > 35, X).widget({"age": 30})
        >>> widget.constraints, widget.chosen
        ({}, [])
        """
        # By its name, because it is a later layer, and needs an extra.
        return import_module("counterpoint.web.page.widget").make_widget(self, x, target=target, k=k)

    def ranges(
        self,
        explanations: Sequence[Explanation],
        *,
        target: Any = None,
        max_seconds: float | None = None,
    ) -> list[Ranges]:
        """Find how far the changed values of answers can move: `Explanation.ranges`, for those from JSON.

        Parameters
        ----------
        explanations
            Answers of this explainer, all for the same target.
        target
            As it was given to `explain`; one that names classes or a probability may be left out.
        max_seconds
            After this many seconds, what is known so far is returned.
        """
        answers = list(explanations)
        if not answers:
            return []
        if target is None:
            target = answers[0].probability or list(answers[0].classes) or None
        settings = Settings.of(self._fitted(), answers[0].k, target, None, None, None)
        for each in answers:
            if str(settings.target) != each.target:
                raise ValueError(
                    f"The target of the explanation is {each.target}, got {target!r}. Give target as it was "
                    f"given to explain."
                )
        return self.ask_ranges(answers, settings, max_seconds)

    def ask_ranges(
        self, explanations: Sequence[Explanation], settings: Settings, max_seconds: float | None
    ) -> list[Ranges]:
        """Find how far the changed values of answers can move."""
        return ranges_of(self, explanations, settings, max_seconds)

    def problems(self, X: Any) -> list[Problem]:
        """List all values that keep a row from being explained, without asking the model.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> Neighbours().fit(lambda rows: rows[:, 0] > 0, X).problems([[0.0, 1.0], [0.0, np.inf]])
        [Problem(row=1, column='x1', value=inf, reason='It is infinite. ...')]
        """
        return list(self._fitted().view.read(X).problems)

    def check(self, X: Any) -> None:
        """Refuse instances that cannot be explained, without asking the model: a check before a long run.

        Examples
        --------
        >>> from counterpoint import Neighbours
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> Neighbours().fit(lambda rows: rows[:, 0] > 0, X).check([[0.0, 1.0], [0.0, np.inf]])
        Traceback (most recent call last):
            ...
        counterpoint.data.problems.InvalidError: X[1] has 'x1' = inf. It is infinite. ...
        """
        self._fitted().view.read(X).valid()

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Fill a pool with counterfactuals: here, those that the search comes by."""
        pool.add(self.search(task), type(self).__name__)
        yield from pool.finish()

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        """Choose the places of at most k finds for each instance: here, the nearest ones."""
        order = np.lexsort([task.distance(finds.rows, finds.instance), finds.instance])
        return [order[finds.indices(instance)[: task.k]] for instance in range(len(task))]

    @property
    def keeps_needless(self) -> bool:
        """Whether answers say that they may hold changes that are not needed."""
        return False

    @property
    def leaves_out(self) -> Why:
        """Why some finds are not chosen although there is room for them."""
        return Why.NOT_WORTH_IT

    @property
    def codec_(self) -> Codec | None:
        """How images and series become rows, as it was given or chosen at `fit`; None for tables."""
        view = self._fitted().view
        return view.codec if isinstance(view, Through) else None

    def clone(self) -> Self:
        """Return an unfitted explainer with the same parameters."""
        return replace(self)  # type: ignore[type-var]

    def _fitted(self) -> Fitted:
        try:
            return self.fitted_
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit(model, X) before explaining."
            ) from None

    def _explain(self, sight: Sight, settings: Settings, progress: bool) -> Explanations:
        return Run(self, self._fitted(), settings, sight).explanations(progress)


def at_least(least: float, explainer: object, *names: str) -> None:
    """Refuse parameters that are smaller than they can be."""
    for name in names:
        value = getattr(explainer, name)
        if not value >= least:
            raise ValueError(f"{type(explainer).__name__}.{name} must be at least {least}, got {value}.")

"""Images and series: x, the answers and where they differ, through a codec, with a mask drawn on x."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint import report
from counterpoint.codecs import PCA, Codec, Identity, Kernel, LocalCodec
from counterpoint.data.signals import as_signals, is_image
from counterpoint.data.types import Labels
from counterpoint.explainers import Explainer
from counterpoint.explainers.run import check_k
from counterpoint.explanation.explanation import Explanation
from counterpoint.search.stopping import stopping
from counterpoint.show.wording import decision_texts
from counterpoint.web.asked import whole
from counterpoint.web.page.calls import Turns
from counterpoint.web.page.notes import note
from counterpoint.web.rows import RefusedError
from counterpoint.web.wire import plain

# Cells are changed one by one only where there are few.
FEW_CELLS = 1_100
# Patterns that are learned from known cases.
PATTERNS = 12
# So many fitted explainers are kept: one per codec and mask.
KEPT = 12
# At most so many known cases are learned from again when a mask is drawn.
LEARNED = 1_000
OWN = "own"


@dataclass(frozen=True, eq=False)
class SignalCalls:
    """Answers what a page about images or series asks for.

    Parameters
    ----------
    explainer
        The fitted explainer.
    signals, labels
        The cases to pick from, and what the model says of them.
    target, k, title
        As for a table.

    Examples
    --------
    >>> import counterpoint as cp
    >>> X = np.random.default_rng(0).random((60, 8, 8))
    >>> explainer = cp.Ensemble().fit(lambda images: images.mean(axis=(1, 2)) > 0.5, X)
    >>> calls = SignalCalls.of(explainer, X)
    >>> calls.call("about", {})["shape"]
    [8, 8]
    """

    explainer: Explainer
    signals: NDArray[Any]
    labels: Labels
    target: Any = None
    k: int = 5
    title: str = ""
    turns: Turns = field(default_factory=Turns)
    _fitted: dict[tuple[str, bytes], Explainer] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @classmethod
    def of(
        cls, explainer: Explainer, rows: Any, *, target: Any = None, k: int = 5, title: str = ""
    ) -> SignalCalls:
        """Take the cases given; a codec does not keep the known ones as they were."""
        if rows is None:
            raise ValueError("Give the images or series to pick from: explainer.open(X).")
        fitted = explainer._fitted()
        signals = as_signals(rows)
        instances = fitted.view.read(signals).valid("rows").instances
        labels = fitted.blackbox.about(instances).predict(instances.rows, np.arange(len(signals)))
        fitted.read_target(target)
        return cls(explainer, signals, labels, target, check_k(k), title)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def call(self, name: str, body: Any, page: str = "") -> Any:
        """Answer one call; an older one of the same page and kind is stopped."""
        if not isinstance(body, Mapping):
            raise RefusedError("The body must be a JSON object.")
        with stopping(self.turns.take(page, name)):
            return self._by_name[name](body)

    def groups(self, body: Any) -> Iterator[dict[str, Any]]:
        """Refuse: groups are for tables."""
        raise RefusedError("Groups are for tables.")

    @cached_property
    def _by_name(self) -> dict[str, Callable[[Mapping[str, Any]], Any]]:
        return {
            "about": lambda body: self._about(),
            "rows": self._rows,
            "answers": lambda body: self._answers(self._question(body)),
            "report": lambda body: {"html": self._report(self._question(body))},
        }

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(self.signals.shape[1:])

    @property
    def is_image(self) -> bool:
        """Whether the cases are images."""
        return is_image(self._shape)

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return self.explainer._fitted().schema.features[0].seen

    @cached_property
    def codecs(self) -> dict[str, tuple[str, Codec]]:
        """What may change at a time: the codec that was fitted, and others; each with its name in words."""
        assert self.explainer.codec_ is not None
        found: dict[str, tuple[str, Codec]] = {OWN: ("as set up", self.explainer.codec_)}
        long = self._shape[0] if self.is_image else self._shape[-1]
        for name, parts in (("large", 4), ("medium", 7), ("small", 14)):
            size = max(1, round(long / (parts if self.is_image else 4 * parts)))
            window = (size, size, 1) if self.is_image else (1, size)
            codec = Kernel(window[: len(self._shape)] if self.is_image else window[-len(self._shape) :])
            found[name] = (f"{name} blocks ({size}{f' × {size}' * self.is_image} cells)", codec)
        if np.prod(self._shape) <= FEW_CELLS:
            found["cells"] = ("single cells", Identity())
        found["patterns"] = ("patterns of known cases", PCA(min(PATTERNS, len(self.signals) - 1)))
        return found

    @cached_property
    def _decisions(self) -> list[Any]:
        fitted = self.explainer._fitted()
        return list(dict.fromkeys([*np.unique(fitted.known.labels).tolist(), *fitted.blackbox.classes()]))

    def _about(self) -> dict[str, Any]:
        values, counts = np.unique(self.labels, return_counts=True)
        told = {
            "kind": "image" if self.is_image else "series",
            "title": self.title,
            "shape": list(self._shape),
            "ends": self._ends,
            "cases": len(self.signals),
            "decisions": [{"value": each, "text": _text(each)} for each in self._decisions],
            "counts": {_text(value): int(count) for value, count in zip(values, counts, strict=True)},
            "codecs": [
                {"name": name, "label": label, "masks": isinstance(codec, LocalCodec)}
                for name, (label, codec) in self.codecs.items()
            ],
            "k": self.k,
            "start": 0,
        }
        result: dict[str, Any] = plain(told)
        return result

    def _rows(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give some cases to pick from: their cells and decisions."""
        start = whole("offset", body.get("offset", 0), 0, None)
        stop = start + whole("limit", body.get("limit", 12), 1, 60)
        indices = range(start, min(stop, len(self.signals)))
        rows = [
            {"index": i, "cells": self._cells(self.signals[i]), "decision": _text(self.labels[i])}
            for i in indices
        ]
        return {"total": len(self.signals), "rows": rows}

    def _question(self, body: Mapping[str, Any]) -> Question:
        asked = body.get("question")
        if not isinstance(asked, Mapping):
            raise RefusedError("question must be an object with the index of a case.")
        index = whole("index", asked.get("index"), 0, len(self.signals) - 1)
        codec = asked.get("codec") or OWN
        if codec not in self.codecs:
            raise RefusedError(f"codec must be one of {list(self.codecs)}, got {codec!r}.")
        known = {str(plain(each)): each for each in self._decisions}
        given = asked.get("target")
        if given is not None and str(given) not in known:
            raise RefusedError(f"target must be among the model's decisions {list(known)}, got {given!r}.")
        target = self.target if given is None else known[str(given)]
        return Question(index, str(codec), self._mask(asked.get("mask") or []), target)

    def _mask(self, runs: Any) -> NDArray[np.bool_]:
        """Read a mask: runs of places, from the first to before the last, row by row or along the time."""
        shape = self._shape[:2] if self.is_image else self._shape[-1:]
        flat = np.zeros(int(np.prod(shape)), dtype=np.bool_)
        if not isinstance(runs, list) or len(runs) > flat.size:
            raise RefusedError("mask must be a list of runs [first, last].")
        for run in runs:
            if not isinstance(run, list) or len(run) != 2:
                raise RefusedError("mask must be a list of runs [first, last].")
            first, last = (whole("mask", place, 0, flat.size) for place in run)
            flat[first:last] = True
        mask = flat.reshape(shape)
        if self.is_image and len(self._shape) == 3:
            mask = mask[..., None]
        return np.array(np.broadcast_to(mask, self._shape))

    def _explainer(self, question: Question) -> Explainer:
        """Give the explainer with a codec and a mask; it is fitted when it is first needed."""
        if question.codec == OWN and not question.mask.any():
            return self.explainer
        key = question.codec, question.mask.tobytes()
        with self._lock:
            if key not in self._fitted:
                again = self.explainer.clone()
                again.codec = self.codecs[question.codec][1]
                model, known = self.explainer._fitted().blackbox.model, self.signals[:LEARNED]
                immutable = question.mask if question.mask.any() else ()
                self._fitted[key] = again.fit(model, known, immutable=immutable, progress=False)
                while len(self._fitted) > KEPT:
                    self._fitted.pop(next(iter(self._fitted)))
            return self._fitted[key]

    def _explain(self, question: Question) -> tuple[Explainer, Explanation]:
        explainer = self._explainer(question)
        x = self.signals[question.index]
        return explainer, explainer.explain(x, self.k, target=question.target)

    def _answers(self, question: Question) -> dict[str, Any]:
        _, found = self._explain(question)
        texts = decision_texts(found.decision, found.labels)
        sentences = found.sentences()
        return {
            "index": question.index,
            "decision_text": texts[0],
            "x": self._cells(found.row),
            "answers": [
                {
                    "cells": self._cells(row),
                    "changed": int((row != found.row).sum()),
                    "decision_text": texts[i + 1],
                    "distance": float(found.distance[i]),
                    "sentence": sentences[i],
                }
                for i, row in enumerate(found.rows)
            ],
            "note": note(found),
        }

    def _report(self, question: Question) -> str:
        explainer, found = self._explain(question)
        return report.html(report.one(found, explainer, target=question.target))

    def _cells(self, signal: NDArray[Any]) -> list[float]:
        """Give cells as shares of the known range, which is how they are drawn."""
        low, high = self._ends
        shares = (np.asarray(signal, dtype=np.float64).ravel() - low) / (high - low)
        cells: list[float] = shares.round(4).tolist()
        return cells


@dataclass(frozen=True, eq=False)
class Question:
    """Which case, what changes at a time, the cells that may not change, and what is wanted."""

    index: int
    codec: str
    mask: NDArray[np.bool_]
    target: Any


def _text(label: Any) -> str:
    return decision_texts(label, np.asarray(label)[None][:0])[0]

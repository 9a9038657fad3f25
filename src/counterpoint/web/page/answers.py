"""The answers to a question as facts for cards: sentences, changes, cost, distance, how usual and safe."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.known import Population
from counterpoint.data.types import Row, Rows
from counterpoint.explanation.explanation import Explanation
from counterpoint.model.target import Target
from counterpoint.show.wording import decision_texts, value_texts
from counterpoint.web.page.notes import note
from counterpoint.web.page.questions import Asked
from counterpoint.web.page.session import Session
from counterpoint.web.rows import RefusedError
from counterpoint.web.wire import answer, plain

# How alike known instances are is learned from so many of them, compared with at most so many.
COMPARED, REFERENCE = 400, 5_000
# At most so many answers are given back.
PLACED = 60


def answers(asked: Asked) -> dict[str, Any]:
    """Answer a question about one case."""
    found = asked.explain()
    facts = answer(0, found)
    likeness = alike(asked.session.fitted.known, found.rows)
    texts = decision_texts(found.decision, found.labels)
    for index, card in enumerate(facts["counterfactuals"]):
        card |= {
            "action": sorted([str(name), way] for name, way in found.actions[index]),
            "changes": _changes(found, found.rows[index]),
            "decision_text": texts[index + 1],
            "alike": likeness[index],
        }
    return facts | {
        "answers": facts.pop("counterfactuals"),
        "decision_text": texts[0],
        "note": note(found),
    }


def scored(asked: Asked, others: Any) -> dict[str, Any]:
    """Tell the scores of a case and of answers, given by their values: the cards need not wait for them."""
    rows = np.vstack([asked.row, placed(asked, others)])
    decision = asked.fitted.blackbox.predict(asked.row[None])[0]
    own, *scores = standings(asked.session, asked.target, rows, decision)
    return {"score": own, "answers": scores}


def placed(asked: Asked, others: Any) -> Rows:
    """Read answers that the page gives back by their values."""
    if not isinstance(others, list) or len(others) > PLACED:
        raise RefusedError(f"answers must be a list of at most {PLACED} objects.")
    if not others:
        return asked.row[None][:0]
    session = asked.session
    frame = session.reader.rows(others, "answers").frame
    return session.fitted.view.read(frame).valid("answers").instances.rows


def decide(asked: Asked) -> dict[str, Any]:
    """Tell what the model says about a case now, and its score."""
    decision = asked.fitted.blackbox.predict(asked.row[None])[0]
    wanted = bool(asked.target.flips(np.asarray(decision)[None], decision)[0])
    return {
        "decision": plain(decision),
        "decision_text": decision_texts(decision, np.asarray(decision)[None][:0])[0],
        "already": wanted,
        "score": standings(asked.session, asked.target, asked.row[None], decision)[0],
    }


def standings(session: Session, target: Target, rows: Rows, decision: Any) -> list[dict[str, Any] | None]:
    """Tell for each row the score of the wanted decision, and the score that decides."""
    scores = session.scores(rows)
    if scores is None or target.test is not None:
        return [None] * len(rows)
    wanted = target.among(scores.classes, decision)
    if not wanted.any() or wanted.all():
        return [None] * len(rows)
    best = np.where(wanted, scores.numbers, -np.inf).argmax(axis=1)
    rival = scores.numbers[:, ~wanted].max(axis=1)
    is_pair, is_probability = len(scores.classes) == 2, str(scores.kind) == "probability"
    return [
        {
            "kind": str(scores.kind),
            "of": plain(scores.classes[best[i]]),
            "value": round(float(row[best[i]]), 6),
            "needed": (0.5 if is_probability else 0.0) if is_pair else round(float(rival[i]), 6),
        }
        for i, row in enumerate(scores.numbers)
    ]


def alike(known: Population, rows: Rows) -> list[float]:
    """Tell how usual rows are: the share of known instances that have no nearer neighbour than they have.

    Examples
    --------
    >>> from counterpoint import Schema
    >>> schema = Schema.infer(np.zeros((1, 1)))
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0]])
    >>> alike(Population.of(schema, X, np.zeros(4)), np.array([[1.2], [5.0], [50.0]]))
    [1.0, 0.25, 0.0]
    """
    if not len(rows):
        return []
    usual = known.once("how usual known instances are", lambda: _usual(known))
    return [round(float((usual >= away).mean()), 4) for away in _nearest(known, rows, 0)]


def _usual(known: Population) -> Row:
    """Measure how far some known instances are from their nearest neighbours."""
    rows = _reference(known)
    return _nearest(known, rows[:: max(1, len(rows) // COMPARED)], 1)


def _reference(known: Population) -> Rows:
    """Draw the known instances that rows are compared with."""
    return known.once("compared", lambda: known.sample(np.random.default_rng(0), REFERENCE).rows)


def _nearest(known: Population, rows: Rows, skip: int) -> Row:
    """Measure how far the nearest known instances are; `skip` leaves out a row itself."""
    distance = known.distance
    reference = known.once("compared, embedded", lambda: distance.embed(_reference(known)))
    away = distance.measure(distance.embed(rows), reference)
    place = min(skip, away.shape[1] - 1)
    return np.asarray(np.partition(away, place, axis=1)[:, place])


def _changes(found: Explanation, row: Row) -> list[dict[str, Any]]:
    """List what a row changes, in values and in words."""
    changes = []
    for index in np.flatnonzero(changed(row[None], found.row)[0]).tolist():
        feature = found.schema.features[index]
        before, after = value_texts(feature, np.array([found.row[index], row[index]]))
        changes.append(
            {
                "feature": str(feature.name),
                "from": plain(feature.label(found.row[index])),
                "to": plain(feature.label(row[index])),
                "from_text": before,
                "to_text": after,
                "follows": feature.follows,
            }
        )
    return changes

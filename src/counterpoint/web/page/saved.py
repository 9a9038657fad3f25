"""The answer as the HTML report, to keep and to send on."""

from __future__ import annotations

from counterpoint import report
from counterpoint.web.page.questions import Asked


def saved(asked: Asked) -> str:
    """Write the report on one question."""
    found = asked.explain()
    relaxation = None if len(found) else found.relax(max_seconds=20)
    target = asked.options["target"]
    return report.html(report.one(found, asked.explainer, target=target, relaxation=relaxation))

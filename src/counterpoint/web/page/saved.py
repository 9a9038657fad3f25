"""The answer as the HTML report, to keep and to send on."""

from __future__ import annotations

from dataclasses import replace

from counterpoint import report
from counterpoint.web.page.questions import Asked


def saved(asked: Asked) -> str:
    """Write the report on one question."""
    target = asked.safe_target if asked.is_safe else asked.options["target"]
    plain = replace(asked, is_safe=False, options={**asked.options, "target": target})
    found = plain.explain()
    relaxation = None if len(found) else found.relax(max_seconds=20)
    facts = report.one(found, plain.explainer, target=target, relaxation=relaxation)
    return report.html(facts)

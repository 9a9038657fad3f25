"""The ensemble of one version of the code for `before`; it needs that version of counterpoint, not the study.

It is started with a file that holds model, known instances, immutable features, instances and those alike.
Each line it reads has a k, and a file for the answers or null; each line it prints says what the run cost.
The ensemble is fitted anew for each, so that what it builds when it is first asked counts every time.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import joblib

import counterpoint as cp


def explained(given: dict[str, Any], k: int, answers: str | None) -> dict[str, Any]:
    """Explain all instances in one batch; write the answers, and those to the ones alike, if asked to."""
    explainer = cp.Ensemble(seed=given["seed"])
    explainer.fit(given["model"], given["known"], immutable=given["immutable"])
    start = time.process_time()
    found = explainer.explain_many(given["X"], k, progress=False)
    cpu = time.process_time() - start
    if answers is not None:
        alike = explainer.explain_many(given["alike"], k, progress=False)
        joblib.dump([[each.counterfactuals for each in some] for some in (found, alike)], answers)
    return {
        "cpu": cpu,
        "rows": [each.model_rows for each in found],
        "calls": max(each.model_calls for each in found),
    }


def main() -> None:
    """Answer until there is nothing more to read."""
    given = joblib.load(sys.argv[1])
    print(json.dumps({"code": str(Path(cp.__file__).parents[1])}), flush=True)
    for line in sys.stdin:
        print(json.dumps(explained(given, **json.loads(line))), flush=True)


if __name__ == "__main__":
    main()

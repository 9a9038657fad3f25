"""``python -m soak``: run trials, print tries and failures per kind, and exit with 1 if anything failed."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

# One thread per process: forks of a process with threads of OpenMP would wait for them for ever.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
os.environ["PYTHONWARNINGS"] = "ignore"


from soak.trials import Failure, Trials


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is asked for."""
    from soak.actions import Actions
    from soak.fuzz import Fuzz
    from soak.hostile import Hostile
    from soak.promises import Promises
    from soak.runs import Errors, Kills
    from soak.sharing import Sharing

    kinds: dict[str, type[Trials]] = {
        "promises": Promises,
        "actions": Actions,
        "fuzz": Fuzz,
        "kills": Kills,
        "errors": Errors,
        "sharing": Sharing,
        "hostile": Hostile,
    }
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(kinds)} (all)")
    parser.add_argument("--share", type=float, default=1.0, help="of the cases of a whole soak (1.0)")
    parser.add_argument("--cases", type=int, help="so many of each kind instead")
    parser.add_argument("--start", type=int, default=0, help="number of the first case (0)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was begun is cleaned up
    unknown = set(options.kinds) - set(kinds)
    if unknown:
        parser.error(f"KIND must be among {', '.join(kinds)}, got {', '.join(sorted(unknown))}")
    failures: list[Failure] = []
    print(f"{'kind':<24}{'tries':>9}{'failures':>10}{'seconds':>9}", flush=True)
    for name in options.kinds or kinds:
        trials = kinds[name]()
        count = max(1, round(options.share * trials.full)) if options.cases is None else options.cases
        begun = time.monotonic()
        found = _run(trials, options.start, count)
        failures += found
        took = time.monotonic() - begun
        print(f"{trials.kind:<24}{count:>9,}{len(found):>10,}{took:>9,.0f}", flush=True)
    return int(bool(failures))


def _run(trials: Trials, start: int, count: int) -> list[Failure]:
    """Run cases in blocks, each in a new folder."""
    found: list[Failure] = []
    for first in range(start, start + count, trials.block):
        folder = Path(tempfile.mkdtemp(prefix="soak-"))
        try:
            size = min(trials.block, start + count - first)
            failures = trials.trial(first, size, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        for failure in failures:  # at once: a soak takes hours
            print(failure, file=sys.stderr, flush=True)
        found += failures
    return found


if __name__ == "__main__":
    sys.exit(main())

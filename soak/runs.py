"""Runs that are killed, run out of room, or meet errors: old outputs or new ones, never half of one.

Afterwards the same command must finish, with the same bytes as a run that nothing happened to, and leave
nothing behind.
"""

from __future__ import annotations

import errno
import resource
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from counterpoint.cli import main
from soak import scene
from soak.faults import Faults, die, failing
from soak.processes import Ended, Running, run
from soak.trials import Failure, Trials

OUTPUTS = ("found.csv", "found.html")
OLD = "what was there before\n"
ASKED = [
    "explain",
    "--model",
    "rule:decide",
    "--data",
    "known.csv",
    "--rows",
    "rows.csv",
    "--quiet",
    "-k",
    "1",
]
ASKED += ["--part", "2", "--out", OUTPUTS[0], "--report", OUTPUTS[1]]
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS, errno.EACCES)
INPUTS = {"rule.py", "known.csv", "rows.csv"}


class Runs(Trials):
    """What the kinds below share: inputs, and outputs of a run that nothing happens to."""

    block = 20

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Try some cases."""
        good = folder / "good"
        good.mkdir()
        (good / "rule.py").write_text(scene.MODEL)
        scene.people(80, 0).to_csv(good / "known.csv", index=False)
        rows = scene.people(12, 1)
        rows[scene.decide(rows) == "refused"][:6].to_csv(good / "rows.csv", index=False)
        self.whole, operations = reference(good, folder)
        failures = []
        for number in range(start, start + count):
            here = folder / "here"
            shutil.rmtree(here, ignore_errors=True)
            shutil.copytree(good, here)
            for name in OUTPUTS:
                (here / name).write_text(OLD)
            what, wrong = self.one(number, operations, here)
            failures += [Failure(self.kind, f"{number} ({what})", each) for each in wrong]
        return failures

    def one(self, number: int, operations: int, here: Path) -> tuple[str, list[str]]:
        """Try one case; say what was done, and list what is wrong."""
        raise NotImplementedError

    def left(self, here: Path) -> list[str]:
        """Look at the outputs after something went wrong: the old or the new, whole."""
        wrong = []
        for name, whole in self.whole.items():
            content = (here / name).read_bytes() if (here / name).exists() else b""
            if content not in (OLD.encode(), whole):
                wrong.append(f"{name} is neither the old nor the new one ({len(content)} bytes)")
        return wrong

    def finished(self, here: Path) -> list[str]:
        """Give the same command again, and compare with a run that nothing happened to."""
        ended = run(lambda: main(ASKED), here)
        wrong = [] if ended.code == 0 else [f"the next run: {ended.ending}: {ended.err[-300:]}"]
        for name, whole in self.whole.items():
            if (here / name).read_bytes() != whole:
                wrong.append(f"{name} differs after the next run")
        more = sorted({path.name for path in here.iterdir()} - INPUTS - set(self.whole) - {"__pycache__"})
        return wrong + [f"left behind: {more}"] * bool(more)


def reference(good: Path, folder: Path) -> tuple[dict[str, bytes], int]:
    """Run the command once; return its outputs, and how many operations it needs on files."""
    here = folder / "reference"
    shutil.rmtree(here, ignore_errors=True)
    shutil.copytree(good, here)
    for name in OUTPUTS:
        (here / name).write_text(OLD)
    faults = Faults()

    def work() -> int:
        faults.install()
        code = main(ASKED)
        print(faults.count)
        return code

    ended = run(work, here)
    if ended.code != 0:
        raise RuntimeError(f"the command fails without any fault: {ended.ending}: {ended.err}")
    return {name: (here / name).read_bytes() for name in OUTPUTS}, int(ended.out)


def hit(faults: Faults) -> Callable[[], int]:
    """Make the command with a fault in it."""

    def work() -> int:
        faults.install()
        return main(ASKED)

    return work


class Kills(Runs):
    """A run is killed before, in or after every operation on files; sometimes two runs at once."""

    kind = "kills"
    full = 2_000

    def one(self, number: int, operations: int, here: Path) -> tuple[str, list[str]]:
        """Kill one run, or two, and look at what is left."""
        rng = np.random.default_rng([23, number])
        at = [number % operations + 1]
        if rng.random() < 0.25:  # two runs at once
            at.append(int(rng.integers(1, operations + 1)))
        modes = [str(rng.choice(["before", "after"])) for _ in at]
        deaths = {"before": Faults(before=die), "after": Faults(after=die)}
        hits = [hit(replace(deaths[mode], at=a, names=[])) for a, mode in zip(at, modes, strict=True)]
        running = [Running(work, here) for work in hits]
        ends = [each.ended() for each in running]
        what = ", ".join(f"{mode} operation {a}" for a, mode in zip(at, modes, strict=True))
        wrong = [f"{end.ending}: {end.err[-300:]}" for end in ends if not _is_killed(end, len(at) > 1)]
        return f"killed {what}", wrong + self.left(here) + self.finished(here)


def _is_killed(end: Ended, several: bool) -> bool:
    # Of two runs at once, one may find the other at work, or end before its turn to die comes.
    return end.code == -signal.SIGKILL or (several and end.code in (0, 75))


class Errors(Runs):
    """An operation on files fails, or no file may grow beyond a size, as on a full disk."""

    kind = "full disks and errors"
    full = 2_000

    def one(self, number: int, operations: int, here: Path) -> tuple[str, list[str]]:
        """Let one operation fail, and look at what is left."""
        rng = np.random.default_rng([24, number])
        if rng.random() < 0.3:
            most = int(rng.integers(1, 20_000))
            what, work = f"no file beyond {most} bytes", _limited(most)
        else:
            at, code = number % operations + 1, int(rng.choice(ERRORS))
            what = f"{errno.errorcode[code]} at operation {at}"
            work = hit(Faults(at, before=failing(code)))
        ended = run(work, here)
        wrong = []
        # An error in cleaning up comes after the outputs are whole.
        if ended.code not in (0, 2) or "Traceback" in ended.err or ended.err.count("\n") > 1:
            wrong.append(f"{ended.ending}: {ended.err[-300:]}")
        return what, wrong + self.left(here) + self.finished(here)


def _limited(most: int) -> Callable[[], int]:
    def work() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return main(ASKED)

    return work

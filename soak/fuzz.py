"""Damaged inputs of every kind: an exit code that is documented, one short message, no crash, no hang.

What failed is kept in ``soak/corpus`` and tried first ever after.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

import counterpoint as cp
from counterpoint.cli import main
from soak import scene
from soak.mutations import mutated
from soak.processes import Ended, run
from soak.trials import Failure, Trials

CORPUS = Path(__file__).parent / "corpus"
SECONDS = 90.0
# Exit codes that an input can lead to: done, fewer, refused, the model failed, some rows skipped.
FINE = {0, 1, 2, 3, 4}
LONGEST = 40_000  # characters that are said about one damaged input; 20 values are listed, each cut

TABLES = ["rows.csv", "rows.json", "rows.jsonl", "rows.parquet", "rows.arrow"]
KNOWN = ["known.csv"]
LIMITS = ["limits.toml", "limits.yaml"]
MODELS = ["model.skops", "model.onnx", "model.json", "model.ubj", "model.txt", "model.pt"]
FILES = ["saved.cp", "answers.cpjson"]
# Formats of which a case takes long, or of which little can break, are tried less often.
KINDS = [*TABLES, *KNOWN, *LIMITS, *LIMITS, *MODELS[:-1], *FILES, *FILES, *TABLES, *MODELS[:-1], MODELS[-1]]


class Fuzz(Trials):
    """Damaged inputs."""

    kind = "damaged inputs"
    full = 20_000
    block = 20

    def __init__(self) -> None:
        self.kept = sorted(path for path in CORPUS.iterdir() if path.suffix != ".md")

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Try what once failed, if these are the first cases, and then new damage."""
        good = folder / "good"
        good.mkdir()
        made = run(lambda: scene.make(good), folder, 300)
        if made.code != 0:
            return [Failure(self.kind, "inputs", f"{made.ending}: {made.err[-300:]}")]
        failures = []
        if start == 0:
            for path in self.kept:
                name = path.name.partition("-")[2]
                failures += self._one(f"corpus/{path.name}", name, path.read_bytes(), good, folder)
        for number in range(start, start + count):
            name, content = damage(number, good)
            failures += self._one(str(number), name, content, good, folder)
        return failures

    def _one(self, case: str, name: str, content: bytes, good: Path, folder: Path) -> list[Failure]:
        here = folder / "here"
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(good, here)
        (here / name).write_bytes(content)
        ended = run(command(name), here, SECONDS)
        wrong = verdict(ended)
        if wrong and not case.startswith("corpus/"):
            kept = CORPUS / f"{hashlib.sha256(content).hexdigest()[:12]}-{name}"
            kept.write_bytes(content)
        return [Failure(self.kind, f"{case} ({name})", wrong)] if wrong else []


def damage(number: int, good: Path) -> tuple[str, bytes]:
    """Draw a file and damage it."""
    rng = np.random.default_rng([22, number])
    name = KINDS[int(rng.integers(len(KINDS)))]
    return name, mutated(rng, (good / name).read_bytes())


def verdict(ended: Ended) -> str:
    """Say what is wrong with how a run ended; nothing if all is well."""
    if ended.code not in FINE:
        return f"{ended.ending}: {ended.err.strip()[-300:]}"
    if "Traceback" in ended.err:
        return f"a traceback: {ended.err.strip()[-300:]}"
    if len(ended.err) > LONGEST:
        return f"a message of {len(ended.err):,} characters"
    steering = {char for char in ended.err if ord(char) < 32} - set("\n\t\r")
    return f"control characters {sorted(steering)} in a message" if steering else ""


def command(name: str) -> Callable[[], int]:
    """Make the command that reads a file of some name."""
    if name in FILES:
        return _load if name == "saved.cp" else _read
    explain = ["explain", "--quiet", "-k", "1"]
    of_people = ["--model", "rule:decide", "--data", "known.csv"]
    if name in MODELS:
        arguments = [*explain, "--model", name, "--data", "numbers.csv", "--rows", "few.csv"]
    elif name in LIMITS:
        arguments = [*explain, *of_people, "--rows", "rows.json", "--constraints", name]
    elif name in KNOWN:
        arguments = [*explain, *of_people, "--rows", "rows.json"]
    else:
        arguments = [*explain, *of_people, "--rows", name, "--skip-invalid"]
    return lambda: main(arguments)


def _load() -> int:
    """Load a damaged explainer: an error of one type, or one that answers."""
    try:
        fitted = cp.load("saved.cp", scene.decide)
        fitted.explain_many(scene.people(3, 1), 1, progress=False)
    except ValueError:  # damage, another version, or a model that decides otherwise
        return 2
    return 0


def _read() -> int:
    """Read damaged answers: an error of one type, or answers that can be shown."""
    try:
        answers = cp.Explanations.from_json(Path("answers.cpjson").read_text(errors="surrogateescape"))
        print(len(answers.frame), len(str(answers)))
    except ValueError:
        return 2
    return 0

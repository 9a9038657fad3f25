"""Opening a file in a process of its own first: a reader that crashes takes that process down, not the run.

Readers in C++ trust their files. A file that was cut off is enough to make some of them end the whole process
without a word, or ask for all memory there is. So such a file is first read as ``python -m
counterpoint.cli.trial READER FILE``, with limits on memory and time. This module must stay quick to import.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

# A trial may take so many seconds, and one more per megabyte of the file.
SECONDS = 30
# It may take so much memory, and further so many times the file's size.
MEMORY, TIMES = 4 * 2**30, 50

# What the readers import only if it is there, and a trial does not need. It takes longer than all the rest.
_NOT_NEEDED = ("pandas", "sklearn", "dask", "distributed", "matplotlib", "polars")


class TrialError(Exception):
    """A file cannot be opened; the message says why, without its name."""


def try_to_open(path: Path, reader: str) -> int:
    """Open a file in another process; return the number of rows, if it is a table.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.txt"
    >>> _ = path.write_text("tree")
    >>> try_to_open(path, "lightgbm")
    Traceback (most recent call last):
        ...
    counterpoint.cli.trial.TrialError: ...
    """
    state = path.stat()
    return _tried(str(path.resolve()), reader, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=64)
def _tried(path: str, reader: str, size: int, _: int) -> int:
    limit = SECONDS + size // 2**20
    command = [sys.executable, "-P", "-m", __name__, reader, path, str(MEMORY + TIMES * size)]
    single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(_path())}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | single,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise TrialError(f"reading it took longer than {limit:,} seconds") from None
    try:
        reply = json.loads(done.stdout)
    except ValueError:
        raise TrialError(f"its reader crashed ({_ending(done.returncode)}), so it is damaged") from None
    if "error" in reply:
        raise TrialError(reply["error"])
    return int(reply["rows"])


def _path() -> list[str]:
    """Where this process finds modules, but for the folder it works in."""
    return [each for each in sys.path if each and Path(each).resolve() != Path.cwd()]


def _ending(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


# ---------------------------------------------------------------- in the other process


def _lightgbm(path: str) -> int:
    import lightgbm

    from counterpoint.cli.booster_trees import check_lightgbm

    check_lightgbm(Path(path).read_text(encoding="utf-8", errors="replace"))
    lightgbm.Booster(model_file=path)
    return 0


def _xgboost(path: str) -> int:
    import xgboost

    from counterpoint.cli.booster_trees import check_xgboost

    booster = xgboost.Booster(model_file=path)
    check_xgboost(json.loads(bytes(booster.save_raw("json"))))
    booster.save_config()
    return 0


def _onnx(path: str) -> int:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return 0


def _torch(path: str) -> int:
    import torch

    torch.jit.load(path, map_location="cpu")
    return 0


def _parquet(path: str) -> int:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return _checked_rows(file.iter_batches(batch_size=10_000))


def _arrow(path: str) -> int:
    from counterpoint.cli.arrow_files import batches

    return _checked_rows(batches(path))


def _checked_rows(batches: Any) -> int:
    rows = 0
    for batch in batches:
        batch.validate(full=True)
        rows += batch.num_rows
    return rows


READERS = {
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
    "onnx": _onnx,
    "torch": _torch,
    "parquet": _parquet,
    "arrow": _arrow,
}


def _limit_memory(most: int) -> None:
    if sys.platform != "win32":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(reader: str, path: str, memory: str) -> None:
    """Open a file, and tell on standard output how that went."""
    for name in _NOT_NEEDED:
        sys.modules[name] = None  # type: ignore[assignment]
    reply = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # some readers print
    _limit_memory(int(memory))
    try:
        said: dict[str, Any] = {"rows": READERS[reader](path)}
    except Exception as error:
        said = {"error": " ".join(f"{type(error).__name__}: {error}"[:2_000].split())[:300].rstrip(". ")}
    os.write(reply, json.dumps(said).encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # what a reader does at its end does not matter, and some crash there

"""Keeping freed memory where the process was told to give it back at once."""

import ctypes
import os
import subprocess
import sys

import pytest

from counterpoint._util.malloc import ASKED

COUNT = """
from resource import RUSAGE_SELF, getrusage
import numpy as np
from counterpoint._util.malloc import keeping_memory

def faults():
    before = getrusage(RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(500_000)
    return getrusage(RUSAGE_SELF).ru_minflt - before

before = faults()
with keeping_memory():
    within = faults()
print(before, within, faults())
"""


@pytest.mark.skipif(
    os.name != "posix" or not hasattr(ctypes.CDLL(None), "mallopt"), reason="only glibc can be told so"
)
def test_pages_are_taken_once_within_and_every_time_outside():
    done = subprocess.run(
        [sys.executable, "-c", COUNT],
        env={**os.environ, ASKED: "65536"},
        capture_output=True,
        text=True,
        check=True,
    )
    before, within, after = map(int, done.stdout.split())
    assert within < before / 10
    assert after > before / 2

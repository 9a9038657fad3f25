"""Ways to damage a file: cuts, flips, repeats, and what parsers stumble over."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

TOKENS: tuple[bytes, ...] = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"[" * 30_000,
    b'{"a":' * 20_000,
    b"(" * 5_000,
    b"-1",
    b"2147483648",
    b"-9223372036854775809",
    b"9" * 5_000,
    b"1e400",
    b"NaN",
    b"Infinity",
    b"null",
    b"{}",
    b"[]",
    b"[{}]",
    b'"\\ud800"',
    b"\x1b[2J\x1b]0;title\x07",
    b"=cmd|' /C calc'!A0",
    b"&a [*a]",
    b"<<: *j",
    b"!!python/object/apply:os.system [id]",
    b"\r\r\n\n",
    b'"',
    b",,,,,",
    b"x" * 2_000_000,
)

Mutation = Callable[[np.random.Generator, bytes], bytes]


def _place(rng: np.random.Generator, content: bytes) -> int:
    return int(rng.integers(len(content) + 1))


def _cut(rng: np.random.Generator, content: bytes) -> bytes:
    return content[: _place(rng, content)]


def _flip(rng: np.random.Generator, content: bytes) -> bytes:
    damaged = bytearray(content)
    for place in rng.integers(max(1, len(content)), size=int(rng.integers(1, 9))):
        if damaged:
            damaged[place] ^= int(rng.integers(1, 256))
    return bytes(damaged)


def _drop(rng: np.random.Generator, content: bytes) -> bytes:
    start, end = sorted((_place(rng, content), _place(rng, content)))
    return content[:start] + content[min(end, start + int(rng.integers(1, 200))) :]


def _repeat(rng: np.random.Generator, content: bytes) -> bytes:
    start = _place(rng, content)
    chunk = content[start : start + int(rng.integers(1, 100))]
    return content[:start] + chunk * int(rng.choice([2, 50, 3_000])) + content[start:]


def _insert(rng: np.random.Generator, content: bytes) -> bytes:
    start = _place(rng, content)
    return content[:start] + TOKENS[int(rng.integers(len(TOKENS)))] + content[start:]


def _replace(rng: np.random.Generator, content: bytes) -> bytes:
    """Replace a word or number, so that what is around it stays well formed."""
    words = list(re.finditer(rb"[A-Za-z0-9_.+-]+", content))
    if not words:
        return _insert(rng, content)
    word = words[int(rng.integers(len(words)))]
    return content[: word.start()] + TOKENS[int(rng.integers(len(TOKENS)))] + content[word.end() :]


def _number(rng: np.random.Generator, content: bytes) -> bytes:
    """Replace a number by another: counts, indices and sizes in a file that is still well formed."""
    numbers = list(re.finditer(rb"-?\d+", content))
    if not numbers:
        return _flip(rng, content)
    number = numbers[int(rng.integers(len(numbers)))]
    other = rng.choice([-1, 0, 1, 2, 7, 255, 65_536, 2**31 - 1, 2**31, 2**40, -(2**31)])
    return content[: number.start()] + str(int(other)).encode() + content[number.end() :]


def _swap(rng: np.random.Generator, content: bytes) -> bytes:
    a, b, c = sorted(_place(rng, content) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


MUTATIONS: Sequence[Mutation] = (_cut, _flip, _drop, _repeat, _insert, _replace, _number, _number, _swap)


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """Damage a file in one to three ways."""
    for _ in range(int(rng.integers(1, 4))):
        content = MUTATIONS[int(rng.integers(len(MUTATIONS)))](rng, content)
    return content

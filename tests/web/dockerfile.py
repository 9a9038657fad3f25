"""Reads the Dockerfile."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """Read the instructions, with their lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#")).replace("\\\n", " ")
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines.splitlines()) if name]


def all_of(name: str) -> list[str]:
    """Give what follows each instruction of a name."""
    return [rest for each, rest in instructions() if each == name]

"""What all kinds of trials have in common: a number of tries, and a list of failures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar


@dataclass(frozen=True)
class Failure:
    """Something that broke: in which kind of trial, in which case, and what."""

    kind: str
    case: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.case}: {self.what[:600]}"


class Trials(ABC):
    """A kind of trials. Cases are numbered, and a number always stands for the same case."""

    kind: ClassVar[str]
    full: ClassVar[int]  # how many cases a whole soak has
    block: ClassVar[int] = 100  # how many are tried between two looks at the clock

    @abstractmethod
    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Try some cases in an empty folder; list what broke."""

"""What the front end can ask for, by name: the same over HTTP and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from counterpoint.search.stopping import stopping
from counterpoint.web.page.about import about
from counterpoint.web.page.answers import answers, decide, scored
from counterpoint.web.page.copies import copies
from counterpoint.web.page.flips import flips
from counterpoint.web.page.groups import grouped
from counterpoint.web.page.map import place
from counterpoint.web.page.questions import Asked
from counterpoint.web.page.saved import saved
from counterpoint.web.page.session import Session
from counterpoint.web.page.table import Cases
from counterpoint.web.page.why import why
from counterpoint.web.rows import RefusedError

Body = Mapping[str, Any]

# Calls that a newer one of the same page makes needless.
REPLACED = ("answers", "scores", "flips", "decide", "map", "why")
# So many pages are remembered; a page that is forgotten only loses that its calls replace each other.
PAGES = 64


@dataclass
class Turns:
    """Tells which call of a page is the newest of its kind, so that older ones stop.

    Examples
    --------
    >>> turns = Turns()
    >>> first, second = turns.take("page", "answers"), turns.take("page", "answers")
    >>> first(), second()
    (True, False)
    """

    _newest: dict[tuple[str, str], int] = field(default_factory=dict)
    _count: int = 0
    _lock: Lock = field(default_factory=Lock)

    def take(self, page: str, kind: str) -> Callable[[], bool]:
        """Begin a call, and give a function that tells whether it is over."""
        with self._lock:
            self._count += 1
            number = self._count
            self._newest.pop((page, kind), None)
            self._newest[page, kind] = number
            while len(self._newest) > PAGES * len(REPLACED):
                self._newest.pop(next(iter(self._newest)))
        return lambda: self._newest.get((page, kind), number) != number


@dataclass(frozen=True, eq=False)
class Calls:
    """Answers what a page asks for."""

    session: Session
    turns: Turns = field(default_factory=Turns)

    @cached_property
    def cases(self) -> Cases:
        """The cases to pick from."""
        return Cases(self.session)

    @cached_property
    def _by_name(self) -> dict[str, Callable[[Body], Any]]:
        return {
            "about": lambda body: about(self.session, self.cases),
            "rows": lambda body: self.cases.page(dict(body)),
            "row": lambda body: self.cases.values(body.get("index")),
            "decide": lambda body: decide(self._asked(body)),
            "answers": lambda body: answers(self._asked(body)),
            "scores": lambda body: scored(self._asked(body), body.get("answers")),
            "flips": lambda body: flips(self._asked(body)),
            "why": lambda body: why(self._asked(body)),
            "map": lambda body: place(self._asked(body), body.get("answers")),
            "copies": self._copies,
            "report": lambda body: {"html": saved(self._asked(body))},
        }

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def call(self, name: str, body: Any, page: str = "") -> Any:
        """Answer one call; an older one of the same page and kind is stopped."""
        if not isinstance(body, Mapping):
            raise RefusedError("The body must be a JSON object.")
        if name not in REPLACED:
            return self._by_name[name](body)
        with stopping(self.turns.take(page, name)):
            return self._by_name[name](body)

    def groups(self, body: Any) -> Iterator[dict[str, Any]]:
        """Explain many cases, part after part."""
        if not isinstance(body, Mapping):
            raise RefusedError("The body must be a JSON object.")
        return grouped(self.cases, dict(body))

    def _asked(self, body: Body) -> Asked:
        question = body.get("question")
        if not isinstance(question, Mapping):
            raise RefusedError("question must be an object with the values of a case.")
        return Asked.of(self.session, question)

    def _copies(self, body: Body) -> dict[str, str | None]:
        question = body.get("question") or {}
        return copies(self._asked(body), question["values"], question.get("setting"))

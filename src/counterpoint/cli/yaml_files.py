"""Reading YAML: a document that repeats parts of itself is measured before it is built."""

from __future__ import annotations

from typing import Any

from counterpoint.cli.errors import need

# So many values a document may hold, each counted as often as it is repeated.
MOST_VALUES = 200_000


def read_yaml(text: str) -> Any:
    """Read a document, or say why not.

    Examples
    --------
    >>> read_yaml("columns: {age: {immutable: true}}")
    {'columns': {'age': {'immutable': True}}}
    >>> read_yaml("a: &a [1, *a]")
    Traceback (most recent call last):
        ...
    ValueError: a part of it holds itself
    """
    yaml = need("yaml", "Reading YAML")
    try:
        _check_size(yaml.compose(text, Loader=yaml.SafeLoader))
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _check_size(document: Any) -> None:
    """Count values as often as they are repeated, without repeating them."""
    counts: dict[int, int] = {}
    open_nodes: set[int] = set()
    waiting = [] if document is None else [document]
    while waiting:
        node = waiting[-1]
        parts = _parts(node)
        if id(node) not in open_nodes and id(node) not in counts:
            open_nodes.add(id(node))
            if any(id(part) in open_nodes for part in parts):
                raise ValueError("a part of it holds itself")
            waiting += [part for part in parts if id(part) not in counts]
            continue
        waiting.pop()
        if id(node) not in counts:
            open_nodes.discard(id(node))
            counts[id(node)] = 1 + sum(counts[id(part)] for part in parts)
            if counts[id(node)] > MOST_VALUES:
                raise ValueError(f"with its repeated parts it holds more than {MOST_VALUES:,} values")


def _parts(node: Any) -> list[Any]:
    """List the nodes that a node holds: of a sequence or a mapping."""
    if not isinstance(node.value, list):
        return []
    return [part for each in node.value for part in (each if isinstance(each, tuple) else (each,))]

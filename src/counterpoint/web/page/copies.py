"""The question of the page in other forms: as Python, as a command, and as a file of constraints."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from math import isinf
from typing import Any

import numpy as np

from counterpoint.data.costs import Cost
from counterpoint.model.target import Between, Probability
from counterpoint.web.page.about import set_up
from counterpoint.web.page.questions import SAFE_NAME, Asked
from counterpoint.web.wire import plain

# The arguments of `explain` that are about constraints, in the order in which they are written.
CONSTRAINTS = ("max_changes", "immutable", "ranges", "increase", "decrease", "costs", "max_change", "exclude")


def copies(asked: Asked, values: Mapping[str, Any], setting: str | None) -> dict[str, str | None]:
    """Write the question in all its forms; the command is None if the page was not opened by one."""
    return {
        "python": python(asked, setting),
        "command": command(asked, values, setting),
        "constraints": constraints(asked),
        "row": json.dumps([values], indent=1),
    }


def python(asked: Asked, setting: str | None) -> str:
    """Write the question as Python, for the explainer that the page was opened with."""
    lines = ["import counterpoint as cp", "from numpy import inf, nan", ""]
    if asked.session.opened is not None:
        lines += ["# The page was opened by a command. Here, fit the explainer yourself:"]
        lines += ["# explainer = cp.Ensemble().fit(model, known_cases)", ""]
    if setting is not None and asked.explainer != asked.session.explainer:
        lines += ["from copy import copy", "", "explainer = copy(explainer)"]
        lines.append(f"explainer.selection = cp.{setting.upper()}")
    lines += [
        "explanation = explainer.explain(",
        f"    {_source(_x(asked))},",
        f"    k={asked.options['k']},",
    ]
    target = asked.options["target"]
    if callable(target) and not type(target).__module__.startswith("counterpoint"):
        lines.append("    target=target,  # the function that the page was opened with")
    elif target is not None:
        lines.append(f"    target={_source(target)},")
    if asked.options.get("margin") is not None:
        lines.append("    margin=cp.SAFE,")
    for name in CONSTRAINTS:
        value = asked.options.get(name)
        if value or (value is not None and name not in ("exclude", "max_changes")):
            lines.append(f"    {name}={_source(value)},")
    return "\n".join([*lines, ")", "print(explanation)"]) + "\n"


def command(asked: Asked, values: Mapping[str, Any], setting: str | None) -> str | None:
    """Write the question as commands for a shell."""
    opened = asked.session.opened
    if opened is None:
        return None
    row = json.dumps([values], indent=1).replace("'", "'\\''")
    lines = [f"echo '{row}' > row.json", f"cat > constraints.toml <<'END'\n{constraints(asked)}END"]
    parts = [opened.command, "--row row.json", f"-k {asked.options['k']}", "--constraints constraints.toml"]
    if setting == SAFE_NAME:
        lines.append("# Answers here may be less safe than on the page: a command asks for no margin.")
    elif (setting or opened.setting) != "balanced":
        parts.append(f"--setting {setting or opened.setting}")
    want = _want(asked.options["target"])
    parts += [] if want is None else [f"--want {shlex.quote(want)}"]
    if _is_changed(asked):
        lines.append("# The command learns with these limits from its start, so some answers may differ.")
    if asked.options.get("exclude"):
        lines.append("# What was said no to on the page cannot be said here, so its answers may come back.")
    return "\n".join([*lines, " \\\n  ".join(parts)]) + "\n"


def constraints(asked: Asked) -> str:
    """Write what may change as a file of constraints (TOML)."""
    options, opened = asked.options, asked.session.opened
    general: dict[str, Any] = {} if opened is None else dict(opened.general)
    general |= {"max_changes": options["max_changes"]} if options.get("max_changes") else {}
    lines = [f"{key} = {_toml(value)}\n" for key, value in general.items()]
    for name in (str(feature.name) for feature in asked.session.fitted.schema.features):
        keys = ({} if opened is None else dict(opened.columns.get(name, {}))) | _keys(asked, name)
        if keys:
            lines.append(f"[columns.{_toml(name)}]")
            lines += [f"{key} = {_toml(value)}" for key, value in keys.items()]
            lines.append("")
    return "\n".join(lines) + ("" if lines else "# Every column may change.\n")


def _keys(asked: Asked, name: str) -> dict[str, Any]:
    """Gather what is said of one column."""
    options = asked.options
    keys: dict[str, Any] = {
        key: True
        for key in ("immutable", "increase", "decrease")
        if name in {str(each) for each in options.get(key) or ()}
    }
    for key, argument in (("range", "ranges"), ("cost", "costs"), ("max_change", "max_change")):
        given = {str(each): value for each, value in (options.get(argument) or {}).items()}
        if name in given:
            keys[key] = given[name]
    return keys


def _want(target: Any) -> str | None:
    """Write what is wanted as `--want` takes it; None for any other decision."""
    if isinstance(target, Between):
        return ":".join("" if isinf(end) else f"{end:.17g}" for end in (target.low, target.high))
    if isinstance(target, Probability):
        way, limit = (">=", target.at_least) if target.at_least > 0 else ("<=", target.at_most)
        return f"{','.join(map(str, target.classes))}{way}{limit:.17g}"
    return ",".join(map(str, target)) if isinstance(target, list) else None


def _is_changed(asked: Asked) -> bool:
    """Tell whether the limits are others than those that the page was opened with."""
    before = asked.session.reader.constraints(set_up(asked.session))
    names = set(CONSTRAINTS) - {"max_changes", "exclude"}
    return any((asked.options.get(name) or None) != (before.get(name) or None) for name in names)


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Cost):
        changes = [[old, new, price] for (old, new), price in value.changes]
        table: dict[str, Any] = {"up": value.up, "down": value.down}
        table |= {} if value.otherwise is None else {"otherwise": value.otherwise}
        table |= {"changes": changes} if changes else {}
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in table.items()) + " }"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_toml(str(key))} = {_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and isinf(value):
        return "inf" if value > 0 else "-inf"
    # Not in ASCII: TOML has no escapes in pairs, as JSON has for emoji.
    return json.dumps(plain(value), ensure_ascii=False)


def _x(asked: Asked) -> dict[Any, Any]:
    """Give the case in the values of the caller's table."""
    frame = asked.frame
    return {name: _value(frame[name].iloc[0]) for name in frame.columns}


def _value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _source(value: Any) -> str:
    """Write a value as Python; classes of the library with their prefix."""
    if isinstance(value, Cost):
        given = {
            "up": value.up,
            "down": value.down,
            "changes": dict(value.changes),
            "otherwise": value.otherwise,
        }
        return f"cp.Cost({', '.join(f'{name}={each!r}' for name, each in given.items())})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{each!r}: {_source(item)}" for each, item in value.items()) + "}"
    if type(value).__module__.startswith("counterpoint"):
        return f"cp.{value!r}"
    return repr(value)

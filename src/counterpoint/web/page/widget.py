"""The page in a notebook: one case as a widget; what may change and what was chosen go both ways."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

from counterpoint.web.page.app import problem
from counterpoint.web.page.calls import Calls
from counterpoint.web.page.session import Session

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError("A widget needs anywidget: pip install 'counterpoint[notebook]'") from error

# The modules of the page that a widget is made of, each after those that it imports.
MODULES = (
    "dom",
    "values",
    "api",
    "state",
    "limits",
    "track",
    "chips",
    "features",
    "cards",
    "compare",
    "map",
    "settings",
    "desk",
    "widget",
)
# How JupyterLab and Visual Studio Code say whether a notebook is light or dark.
THEMES = """\
:is([data-jp-theme-light="true"], .vscode-light) .counterpoint { color-scheme: light; }
:is([data-jp-theme-light="false"], .vscode-dark) .counterpoint { color-scheme: dark; }
"""
_IMPORT = re.compile(r'^import [^;]*? from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


def module() -> str:
    """Join the modules of the page into one, as a notebook wants it."""
    folder = files(__package__).joinpath("static")
    texts = [folder.joinpath(f"{name}.js").read_text("utf-8") for name in MODULES]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


def style() -> str:
    """Give the style sheet of the page, for what is inside of a widget only."""
    text = files(__package__).joinpath("static", "style.css").read_text("utf-8")
    text = re.sub(r"^(\s*)(?::root|html|body|\.counterpoint) \{", r"\1& {", text, flags=re.MULTILINE)
    return f".counterpoint {{\n{text}\n}}\n{THEMES}"


class CaseWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """One case in a notebook.

    Parameters
    ----------
    calls
        What the page asks.

    Attributes
    ----------
    constraints
        What may change, as the arguments of `Explainer.explain`: ``immutable``, ``ranges``, ``increase``,
        ``decrease``, ``costs`` and ``max_changes``. It follows the page, and setting it changes the page.
    chosen
        The answers that were pinned, each as the values of a row. Setting it to ``[]`` unpins them.
    """

    _esm = module()
    _css = style()
    about = traitlets.Dict().tag(sync=True)
    constraints = traitlets.Dict().tag(sync=True)
    chosen = traitlets.List().tag(sync=True)

    def __init__(self, calls: Calls) -> None:
        super().__init__(about=calls.call("about", {}))
        self._calls = calls
        self.on_msg(lambda _, asked, __: self.send(self.reply(asked)))

    def reply(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Answer a message of the front end: the same calls as over HTTP."""
        try:
            return {"id": asked.get("id"), "answer": self._calls.call(str(asked["name"]), asked["body"])}
        except Exception as error:
            status, said = problem(error)
            return {"id": asked.get("id"), "error": said, "status": status}


def make_widget(explainer: Any, x: Any, *, target: Any = None, k: int = 5) -> CaseWidget:
    """Make a widget about one case."""
    fitted = explainer._fitted()
    if fitted.schema.form.shape:
        raise ValueError("A widget is for tables; for images and series, open a page: explainer.open(X).")
    row = fitted.schema.decode(fitted.view.read_one(x).valid("x").instances.rows)
    return CaseWidget(Calls(Session.of(explainer, row, target=target, k=k)))

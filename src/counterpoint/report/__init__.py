"""Reports on one decision or on many, each a self-contained HTML file.

`one` and `Many.of` gather the facts; `html` and `write` only lay them out.
"""

from counterpoint.report.many import Many
from counterpoint.report.one import One, one
from counterpoint.report.page import html, write

__all__ = ["Many", "One", "html", "one", "write"]

"""A report to send on: one HTML file that needs no network, about one decision or about many.

Facts first, then the page: `one` and `Many.of` gather what is shown, `html` and `write` only lay it out.
"""

from counterpoint.report.decision import One, one
from counterpoint.report.many import Many
from counterpoint.report.page import html, write

__all__ = ["Many", "One", "html", "one", "write"]

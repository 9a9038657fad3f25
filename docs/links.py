"""A hook for mkdocs, for links to files outside the documentation's folder.

Pages are also read in the repository, where they may link to files outside `docs`. The site does not have
these files, so it shows only the text of such a link.
"""

from __future__ import annotations

import re
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Keep only the text of links from a page at the top to what lies above it."""
    return markdown if "/" in page.file.src_uri else LINK.sub(r"\1", markdown)

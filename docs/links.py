"""A hook of mkdocs: links that leave the documentation's folder work on the site, too.

Pages are also read in the repository, where they may link to files beside `docs`. The site has no such files,
so there the link's text is all that stays.
"""

from __future__ import annotations

import re
from typing import Any

LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Keep only the text of links from a page at the top to what lies above it."""
    return markdown if "/" in page.file.src_uri else LINK.sub(r"\1", markdown)

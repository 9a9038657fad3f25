"""A page to think with: one fitted explainer behind a local address, for one person and their browser.

Each file is one idea, and gives facts as plain data; the browser holds the state and draws.
"""

from counterpoint.web.needs import need_fastapi

need_fastapi()

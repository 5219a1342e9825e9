"""What the site needs beyond the pages as they stand on GitHub: links out of `docs/`, and fences that say more.

`mkdocs.yml` names this file; mkdocs calls `on_page_markdown` for each page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def on_page_markdown(markdown: str, *, config: Any, **_: Any) -> str:
    """Send links to the rest of the checkout to the repository, and leave one word in the head of a fence.

    Raises:
        FileNotFoundError: a page links to a file that is not in the checkout.
    """

    def outside(found: re.Match[str]) -> str:
        path, anchor = found[1], found[2] or ""
        if not (ROOT / path).exists():
            raise FileNotFoundError(f"a page links to ../{path}, which does not exist")
        return f"]({config['repo_url']}/blob/main/{path}{anchor})"

    markdown = re.sub(r"\]\(\.\./([^)#]+)(#[^)]*)?\)", outside, markdown)
    return re.sub(r"^```(\w+) [^\n]+$", r"```\1", markdown, flags=re.MULTILINE)

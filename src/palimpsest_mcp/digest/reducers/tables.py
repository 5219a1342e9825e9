"""Tables under their heads, and listings by their folders."""

from __future__ import annotations

import re
from collections.abc import Sequence

RULE = re.compile(r"[\s|:+=*_~-]+$")
_FOLDER = re.compile(r"\S+:$|total \d+$")
_CUTS = (re.compile(r"\t"), re.compile(r"\s*\|\s*"), re.compile(r","), re.compile(r" {3,}"))
_FIGURE = re.compile(r"[^A-Za-z_]*\d[^A-Za-z_]*$")


def table_gist(text: str) -> float:
    """Rows are equals; a ruled line says nothing."""
    return 0.0 if RULE.match(text) else 0.5


def listing_gist(text: str) -> float:
    """Folders before the entries in them."""
    return 0.9 if _FOLDER.match(text) else 0.3


def head_of(texts: Sequence[str]) -> str:
    """The row of names above rows of data; empty where there is none."""
    rows = [n for n, text in enumerate(texts[:40]) if text.strip() and not RULE.match(text)]
    if len(rows) < 3:
        return ""
    cut = max(_CUTS, key=lambda pattern: min(len(pattern.findall(texts[n])) for n in rows[1:4]))
    for n in rows[:4]:
        cells = [cell.strip(" \"'|") for cell in cut.split(texts[n].strip())]
        cells = [cell for cell in cells if cell]
        below = [cut.split(texts[m].strip()) for m in rows if m > n][:5]
        if len(cells) < 2 or not below or any(abs(len(row) - len(cut.split(texts[n].strip()))) > 2 for row in below):
            continue
        if any(_FIGURE.match(cell) or len(cell) > 40 for cell in cells):
            return ""
        figures = sum(bool(_FIGURE.match(cell.strip(" \"'|"))) for row in below for cell in row)
        return texts[n] if figures else ""
    return ""

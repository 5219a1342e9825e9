"""Whether a secret survived."""

from __future__ import annotations

import re

_LAYOUT = re.compile(r"\\+[nrt]|[\s\\\"]|%0[aA]")
_FRAME = re.compile(r"-----(?:BEGIN|END)[A-Z ]+-----|-----(?:BEGIN|END)(?:%20|[A-Z])+-----")


def survives(secret: str, text: str) -> bool:
    """Whether any six characters of the secret stand in the text, in their order; line breaks and quotes set aside."""
    inner, shown = _LAYOUT.sub("", _FRAME.sub("", secret)), _LAYOUT.sub("", text)
    size = min(6, len(inner))
    return any(inner[i : i + size] in shown for i in range(len(inner) - size + 1))

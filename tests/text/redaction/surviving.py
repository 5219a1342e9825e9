"""Whether a secret survived."""

from __future__ import annotations

import re

_LAYOUT = re.compile(r"\\+[nrt]|[\s\\\"]|%0[aA]")
_FRAME = re.compile(r"-----(?:BEGIN|END)[A-Z ]+-----|-----(?:BEGIN|END)(?:%20|[A-Z])+-----")


def survives(secret: str, text: str, *, beside: str = "") -> bool:
    """Whether any six characters of the secret stand in the text, in their order; line breaks and quotes set aside.

    Args:
        beside: what stood around the secret before; six characters that it has as well tell nothing of the secret, as
            the `secret` of `client_secret = "secret-live-…"`.
    """
    inner, shown, around = (_LAYOUT.sub("", part) for part in (_FRAME.sub("", secret), text, beside))
    size = min(6, len(inner))
    parts = {inner[i : i + size] for i in range(len(inner) - size + 1)}
    return any(part in shown and part not in around for part in parts)


def leaks(secret: str, before: str, now: str) -> bool:
    """Whether the text still shows a part of the secret that it held."""
    return survives(secret, now, beside=before.replace(secret, "\0"))

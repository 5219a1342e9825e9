"""The mark that stands for a secret: `[redacted:kind:hash8]`, in letters that only the store's key can make."""

from __future__ import annotations

import hashlib
import hmac
import re

_MARK = re.compile(rb"\[redacted:([a-z0-9][a-z0-9_-]{0,63}):([g-v]{5})([g-v]{3})\]")
_LETTERS = str.maketrans("0123456789abcdef", "ghijklmnopqrstuv")
"""Hex digits as letters: nobody takes a mark for a hash or a number that the source does not have."""


class Marker:
    """Makes marks with one store's key.

    Equal secrets get equal hashes within a store, so that a reader sees that two places hold the same one; without the
    key nobody can test a guess against the hash, nor compare marks of two stores.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mark(self, kind: str, secret: bytes) -> bytes:
        """The mark in UTF-8: five letters of the HMAC-SHA256 (RFC 2104) of the secret, and three that prove the key."""
        letters = self._letters(secret)[:5]
        return f"[redacted:{kind}:{letters}{self._proof(kind, letters)}]".encode()

    def marks(self, text: bytes) -> list[tuple[int, int]]:
        """Where in the text marks of this store stand, in order. What only looks like a mark is text like any other."""
        if b"[redacted:" not in text:
            return []
        found = _MARK.finditer(text)
        return [m.span() for m in found if m.group(3).decode() == self._proof(m.group(1).decode(), m.group(2).decode())]

    def _proof(self, kind: str, letters: str) -> str:
        return self._letters(f"mark:{kind}:{letters}".encode())[:3]

    def _letters(self, data: bytes) -> str:
        return hmac.new(self._key, data, hashlib.sha256).hexdigest().translate(_LETTERS)


def kind_of(rule_id: str) -> str:
    """A rule's id in the letters that a mark allows."""
    return re.sub(r"[^a-z0-9_-]+", "-", rule_id.lower()).strip("-_")[:64] or "rule"

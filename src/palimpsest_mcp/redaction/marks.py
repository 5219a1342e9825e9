"""The mark that stands for a secret: `[redacted:kind:hash8]`, the hash in letters."""

from __future__ import annotations

import hashlib
import hmac
import re

MARK = re.compile(rb"\[redacted:[a-z0-9][a-z0-9_-]{0,63}:[0-9a-z]{8}\]")
"""A mark in UTF-8. Text that looks like one is left alone, so that redacting twice changes nothing."""
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
        """The mark in UTF-8: HMAC-SHA256 (RFC 2104) of the secret, its first 8 hex digits as letters."""
        digest = hmac.new(self._key, secret, hashlib.sha256).hexdigest()
        return f"[redacted:{kind}:{digest[:8].translate(_LETTERS)}]".encode()


def kind_of(rule_id: str) -> str:
    """A rule's id in the letters that a mark allows."""
    return re.sub(r"[^a-z0-9_-]+", "-", rule_id.lower()).strip("-_")[:64] or "rule"

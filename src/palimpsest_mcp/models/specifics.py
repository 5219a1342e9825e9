"""A specific: a string that must survive verbatim."""

from __future__ import annotations

import msgspec


class Specific(msgspec.Struct, frozen=True, order=True, gc=False, cache_hash=True):
    """One thing that must survive, as found in one piece of text."""

    cls: str
    """Class name in the registry: `url`, `path`, `number`, `error` …"""
    text: str
    """Verbatim."""
    key: str = ""
    """The words that say what it is: the key of `key=value`, a JSON key, a column's name. Empty where there is none."""


class Span(msgspec.Struct, frozen=True, gc=False):
    """Where a specific stands in a text: characters from `start` up to `end`."""

    start: int
    end: int
    cls: str
    text: str
    key: str = ""

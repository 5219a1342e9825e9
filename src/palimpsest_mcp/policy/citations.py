"""The citation index: one numbered line a URL, so that `[3]` keeps meaning the same source."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

_TRACKING = frozenset({"gclid", "fbclid", "ref", "source", "mc_cid", "mc_eid", "_ga", "_gl"})
"""Query parameters that say where a reader came from, not what is read; and every `utm_…`."""
_ARXIV_VERSION = re.compile(r"^(/(?:abs|pdf|html)/.+?)v\d+(\.pdf)?$")
_SLASHES = re.compile(r"/{2,}")
_AROUND = re.compile(r"^[\s\x00-\x20]+|[\s\x00-\x20]+$")
"""Blanks and control characters: `urlsplit` drops the latter, and what then stands outside would be blank again."""
_ENDING = re.compile(r"[\s\x00-\x20/]+$")
_LINE = re.compile(r"\[(\d+)\] (\S+)")


def canonical_url(url: str) -> str:
    """The form by which two spellings of one source are recognised; not for showing.

    Tracking parameters, fragment, arXiv version and trailing slash go; scheme and host become lower case. What cannot
    be parsed is its own canonical form. Idempotent.
    """
    text = _AROUND.sub("", url)
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
    except ValueError:
        return text
    path = _SLASHES.sub("/", parts.path)
    if host in ("arxiv.org", "www.arxiv.org"):
        path = _ARXIV_VERSION.sub(r"\1\2", path)
    query = "&".join(pair for pair in parts.query.split("&") if pair and not _is_tracking(pair))
    user, at, address = parts.netloc.rpartition("@")
    whole = urlunsplit((parts.scheme, user + at + address.lower(), _ENDING.sub("", path), query, ""))
    return _AROUND.sub("", whole)


def parse_lines(lines: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Canonical URL -> (number, URL as shown) of an index's lines. Other lines are ignored; the first number wins."""
    known: dict[str, tuple[int, str]] = {}
    for line in lines:
        if (found := _LINE.fullmatch(line.strip())) is not None:
            known.setdefault(canonical_url(found[2]), (int(found[1]), found[2]))
    return known


def index_lines(lines: Iterable[str], urls: Iterable[str]) -> tuple[str, ...]:
    """The index after more URLs: `[1] https://…`, by number.

    A URL that is known in any spelling keeps its number and the spelling it came with first; a new one gets the next
    number above the highest. Empty URLs are skipped, and white space inside one is written as %20, so that every line
    is one entry. Numbers are never given twice.
    """
    known = parse_lines(lines)
    for url in urls:
        shown = "%20".join(url.split())
        if shown and (key := canonical_url(shown)) not in known:
            known[key] = (1 + max((number for number, _ in known.values()), default=0), shown)
    return tuple(f"[{number}] {shown}" for number, shown in sorted(known.values()))


def _is_tracking(pair: str) -> bool:
    name = pair.partition("=")[0].lower()
    return name.startswith("utm_") or name in _TRACKING

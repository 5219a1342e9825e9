"""Results are read in a moment in which nobody waits, so that a pass finds them read: in this process, or in a later
one, since what was read is kept beside the session.

A digest is the same with and without. What is kept is of masked texts, and is taken only where this very program wrote
it; what digests are checked by is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import msgspec

from ...context.tombstones import key_of
from ...models.events import SessionKey
from ...models.items import Item
from ...models.plans import ContextItem
from ..batch import original_text
from ..dependencies import Dependencies, StudyPage
from .digests import Sources

MOST_AT_ONCE = 100_000
"""Characters that are read in one go, about: a sixth of a second."""
PAGE_BYTES = 256 << 10
"""Of studies that are kept in one file, from which the next one begins."""
_TAG = 16
_ROOMS = ("digest", "text")
"""Folders of the code that studies depend on."""
_PAGES = msgspec.msgpack.Decoder(list[tuple[bytes, bytes]])


async def read_ahead(deps: Dependencies) -> int:
    """Read some of what waits for it, one result after the other, in a thread.

    No digest changes. A secret that runs over the end of a result is found in the pass only: then the text is another
    one, and is read there.

    Returns:
        How many were read.
    """
    sources = Sources(deps.redactor, deps.registry)
    least = deps.policy_named(None).min_item_tokens
    count = done = 0
    grown: dict[SessionKey, None] = {}
    while deps.unread and done < MOST_AT_ONCE:
        key, item = deps.unread.popleft()
        if item.tokens >= least:
            name, study, size = await asyncio.to_thread(_read, deps, sources, item)
            page = deps.study_pages.setdefault(key, StudyPage(deps.random_hex(8)))
            page.studies[name] = study
            page.keys.add(key_of(item.id, item.sha256, item.size_bytes))
            grown[key] = None
            done += size
            count += 1
    for key in grown:
        await _keep(deps, key, deps.study_pages[key])
    return count


async def lend_studies(deps: Dependencies, key: SessionKey) -> None:
    """Give a pass what was read of a session's results before."""
    if not deps.may_read_ahead:
        return
    pages = await deps.store.studies(key)
    if pages:
        deps.studies().lend(unsealed(pages, await deps.store.secret(), _program(deps)))


async def _keep(deps: Dependencies, key: SessionKey, page: StudyPage) -> None:
    data = sealed(page.studies, await deps.store.secret(), _program(deps))
    kept = await deps.store.keep_study(key, page.name, data, page.keys)
    if not kept or len(data) >= PAGE_BYTES:
        deps.study_pages.pop(key, None)


def sealed(studies: dict[bytes, bytes], secret: bytes, program: bytes) -> bytes:
    """Studies as a file holds them, behind a hash that nobody makes who has not the store's secret."""
    body = msgspec.msgpack.encode(list(studies.items()))
    return _tag(body, secret, program) + body


def unsealed(pages: Iterable[bytes], secret: bytes, program: bytes) -> dict[bytes, bytes]:
    """The studies of files; none of one that is damaged, or that another program wrote."""
    found: dict[bytes, bytes] = {}
    for data in pages:
        tag, body = data[:_TAG], data[_TAG:]
        if tag == _tag(body, secret, program):
            found.update(_PAGES.decode(body))
    return found


def _tag(body: bytes, secret: bytes, program: bytes) -> bytes:
    return hashlib.blake2b(program + body, digest_size=_TAG, key=secret).digest()


def _program(deps: Dependencies) -> bytes:
    """What studies depend on beside their texts, which are masked: other rules of redaction give other texts."""
    return hashlib.sha256(_code() + deps.registry.version.encode()).digest()


@cache
def _code() -> bytes:
    """Of the code that reads texts, and of the Python that runs it."""
    package = Path(__file__).parents[2]
    found = hashlib.sha256(sys.version.encode())
    for room in _ROOMS:
        for path in sorted((package / room).rglob("*")):
            if path.suffix in (".py", ".toml"):
                found.update(path.read_bytes())
    return found.digest()


def _read(deps: Dependencies, sources: Sources, item: Item) -> tuple[bytes, bytes, int]:
    """Read one result; gives what its text is kept under, what was read, and its characters."""
    from ...digest.engine import read_ahead as read  # what only records results need not load it
    from ...digest.study import name_of

    masked = deps.redactor.redact(original_text(item))
    (source,) = sources.of([ContextItem(item=item, tokens=item.tokens)], [masked])
    study = read(source, deps.studies(), deps.registry, deps.counter_for(deps.model))
    return name_of(masked.text), study, len(masked.text)

"""Values that the contract's tests put into stores, and the store under test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ..models.events import Applied, Event, Pinned, Seen, SessionInfo, SessionKey
from ..models.items import Content, Item, content_sha256
from ..models.records import ArchivedItem, OffloadRecord
from ..ports.store import Entry, Store

S1 = SessionKey("s1")

HARD_CONTENTS: tuple[Content, ...] = (
    "",
    " \n\t ",
    "plain",
    "null",
    "line\u2028line\u0085line\x0cline\r\nline\rline",
    "nul\0, bell\x07, escape\x1b[31m",
    "half a pair \ud83d, and the other half \ude00",
    '{"k":"seen","w":"1-2","n":1,"_c":"00000000"}',
    'a",\n"_c":"12345678"}\n{"x":1',
    "\u202eright to left\u202c \u200bzero width",
    "数据库 e\u0301 \u00e9 \U0001f600",
    {"base64": "AP/+gA=="},
    [{"type": "text", "text": "block"}, {"type": "image", "source": {"type": "base64", "data": "aGk="}}],
    [{"a": 1.0, "b": 1, "c": -0.0, "d": 0.1 + 0.2, "e": 1e-320, "f": 2**64, "g": -(2**70), "h": None, "i": True}],
    [{"nan": float("inf"), "list": [[], {}, ""]}],
    {"z": 1, "a": 2, "type": "tool_use", "input": {"half": "\udc00"}},
)
"""Contents that stores have lost or changed before."""

HARD_IDS: tuple[str, ...] = (
    *("..", "../../etc/passwd", "a/b", "/abs", "C:\\x", "..\\..\\x", "CON", "nul.txt", "com1", "x.", "x ", "x\0y", "."),
    *(
        ".git",
        ".lock",
        "~root",
        "-rf",
        "a:b",
        "\u202ex",
        "e\u0301",
        "\u00e9",
        "ABC",
        "abc",
        "%2e%2e%2f",
        "\uff0e\uff0e",
    ),
    *("half\ud800", "x" * 5000, "'; DROP TABLE entries; --", "h-aaaa", "session.json", "a\nb", "*", '"', "s1"),
)
"""Session ids that are only names, whatever they look like."""


def info_of(key: SessionKey, created: str = "2026-11-20T10:00:00+00:00") -> SessionInfo:
    """A session's info."""
    return SessionInfo(session_id=key.session_id, principal=key.principal, handle="sabcd", host="test", created=created)


def seen(number: int, content: Content = "text") -> Seen:
    """An item was seen."""
    item = Item(
        id=f"i{number}",
        kind="tool_result",
        role="tool",
        position=(number, 0),
        content=content,
        sha256=content_sha256(content),
    )
    return Seen(item=item, ts="2026-11-20T10:00:00+00:00")


def applied(number: int) -> Applied:
    """A small observation that can be told from others by its number."""
    return Applied(item_id=f"i{number}", batch_id="offload_0001", part_sha256="")


def pinned(number: int) -> Pinned:
    """A small decision that can be told from others by its number."""
    return Pinned(item_ids=(f"i{number}",))


def record(
    batch_id: str, *contents: Content, key: SessionKey = S1, policy: dict[str, Any] | None = None
) -> OffloadRecord:
    """A record of items with these contents."""
    items = tuple(
        ArchivedItem(id=f"{batch_id}-{n}", kind="tool_result", result=content, sha256=content_sha256(content))
        for n, content in enumerate(contents or ("original",))
    )
    return OffloadRecord(
        ts="2026-11-20T10:00:00+00:00",
        session_id=key.session_id,
        batch_id=batch_id,
        reason="forced",
        items=items,
        digest_replacing_inline="digest",
        original_token_count=10,
        digest_token_count=2,
        policy=policy or {},
    )


def entry(text: str, item_id: str = "i1", *, session: str = "s1", batch: str = "offload_0001", **more: Any) -> Entry:
    """Something to be found."""
    return Entry(session_id=session, batch_id=batch, item_id=item_id, text=text, **more)


def unstamped(event: Event) -> Event:
    """The event as it was before a ledger stamped it."""
    from msgspec.structs import replace

    bare = replace(event, w="", n=0, clock=0)
    return replace(bare, rev=0) if hasattr(bare, "rev") else bare


class OneStore:
    """What a contract's class is told, by `store_contract` or by a class that inherits from it."""

    opens: Callable[[Path], Store | Awaitable[Store]]
    reopens: bool = True

    @pytest.fixture(autouse=True)
    def empty_place(self, tmp_path: Path) -> None:
        self.place = tmp_path / "deep" / "home"

    @asynccontextmanager
    async def fresh(self) -> AsyncGenerator[Store]:
        """The store at this test's place, closed at the end."""
        opened = self.opens(self.place)
        store = await opened if isinstance(opened, Awaitable) else opened
        try:
            yield store
        finally:
            await store.aclose()

    @asynccontextmanager
    async def again(self) -> AsyncGenerator[Store]:
        """The same data in another store; skips the test where that cannot be."""
        if not self.reopens:
            pytest.skip("this store lives in one process only")
        async with self.fresh() as other:
            yield other

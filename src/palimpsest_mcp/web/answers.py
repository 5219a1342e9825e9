"""What the page asks, answered from the facade as JSON values: masked, save an original that is restored."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal, TypeAlias, cast

import msgspec

from ..core.palimpsest import Palimpsest
from ..core.surface import named_by_mark
from ..errors import InvalidArgument, ItemUnknown
from ..models.reports import counts_to_json
from ..models.views import ContextView

Asked: TypeAlias = Mapping[str, str]
Answer: TypeAlias = Callable[[Asked], Awaitable[dict[str, Any]]]
ITEMS_A_PAGE = 1_000
MOST_HITS = 50


class Answers:
    """One store's answers.

    Args:
        facade: the open store.
    """

    def __init__(self, facade: Palimpsest) -> None:
        self._facade = facade
        self._surface = facade.deps.surface
        self._context: tuple[str, str, ContextView] | None = None
        """Session, pulse, and what stands in it: pages of one list are cut from one view."""
        self.reads: dict[str, Answer] = {
            "store": self.store,
            "pulse": self.pulse,
            "session": self.session,
            "items": self.items,
            "item": self.item,
            "search": self.search,
            "experience": self.experience,
            "rule": self.rule,
            "handoffs": self.handoffs,
        }
        """Route -> what only reads."""
        self.writes: dict[str, Answer] = {
            "restore": self.restore,
            "reinstate": self.reinstate,
            "undo": self.undo,
            "pin": self.pin,
        }
        """Route -> what a person may change from the page."""

    def masked(self, text: str) -> str:
        """A text of an error."""
        return self._surface.text(text)

    async def store(self, asked: Asked) -> dict[str, Any]:
        """The whole store: its figures and its sessions, newest first."""
        status = msgspec.to_builtins(await self._facade.status())
        rows = await self._facade.session_rows()
        return self._shown(
            {
                "home": status["home"],
                "figures": with_values(STORE, {"status": status}, "this store, all sessions"),
                "read_again_unknown": status["read_again_unknown"],
                "sessions": [
                    {**msgspec.to_builtins(one, enc_hook=str), "share": one.usage.ratio if one.usage else None}
                    for one in rows
                ],
            }
        )

    async def pulse(self, asked: Asked) -> dict[str, Any]:
        """What changes when the session does."""
        return {"pulse": await self._facade.pulse(_one(asked, "session"))}

    async def session(self, asked: Asked) -> dict[str, Any]:
        """One session: its window, figures, timeline and batches; its items come by pages."""
        name = _one(asked, "session")
        info = await self._facade.session(name)
        pulse, view = await self._view(info.session_id)
        saved = (await self._facade.saved(info.session_id)).to_json()
        usage = msgspec.to_builtins(view.usage, enc_hook=str)
        story = await self._facade.timeline(info.session_id)
        return self._shown(
            {
                **msgspec.to_builtins(info),
                "pulse": pulse,
                "usage": usage,
                "by_kind": msgspec.to_builtins(view.by_kind),
                "figures": with_values(SESSION, {"list": {"saved": saved}, "show": {"usage": usage}}, "this session"),
                "batches": [
                    {**msgspec.to_builtins(one), "digest": "", "specifics": counts_to_json(one.specifics)}
                    for one in view.batches
                ],
                "fill": story.fill,
                "passes": msgspec.to_builtins(story.passes),
                "moments": msgspec.to_builtins(story.moments),
                "items": len(view.items),
            }
        )

    async def items(self, asked: Asked) -> dict[str, Any]:
        """Rows of the context in its order, from `offset` on."""
        _, view = await self._view((await self._facade.session(_one(asked, "session"))).session_id)
        offset = _number(asked, "offset")
        rows = view.items[offset : offset + ITEMS_A_PAGE]
        return self._shown({"offset": offset, "total": len(view.items), "items": msgspec.to_builtins(rows)})

    async def item(self, asked: Asked) -> dict[str, Any]:
        """One item with its original and its digest; of a batch that no longer stands, by `batch`."""
        session, item = _one(asked, "session"), _one(asked, "item")
        if batch := asked.get("batch", ""):
            both = await self._facade.beside_batch(session, batch)
            named = [one for one in both if one.item_id == item]
            named = named or named_by_mark(item, both, lambda one: one.item_id, self._facade.deps.redactor)
            if not named:
                raise ItemUnknown(
                    f"{batch} has no item of this name.", next="Go back to the session, and choose again."
                )
            found = named[0]
        else:
            found = await self._facade.beside_item(session, item)
        specifics = counts_to_json(found.batch_specifics)
        return self._shown({**msgspec.to_builtins(found), "batch_specifics": specifics})

    async def search(self, asked: Asked) -> dict[str, Any]:
        """Hits in the archive, in one session or in all."""
        session = asked.get("session") or None
        hits = await self._facade.search_offloaded(_one(asked, "q"), session_id=session, limit=MOST_HITS)
        return self._shown({"hits": [{**msgspec.to_builtins(one), "about": one.about} for one in hits]})

    async def experience(self, asked: Asked) -> dict[str, Any]:
        """Every skill with its rules."""
        skills = await self._facade.experience_status()
        names = [_name_of(one.folder or one.skill, [other.folder or other.skill for other in skills]) for one in skills]
        found = [
            {**msgspec.to_builtins(await self._facade.experience_show(name), enc_hook=str), "name": name}
            for name in names
        ]
        return self._shown({"skills": found})

    async def rule(self, asked: Asked) -> dict[str, Any]:
        """Where a rule comes from."""
        found = await self._facade.experience_explain(_one(asked, "rule"), asked.get("skill", ""))
        return self._shown(msgspec.to_builtins(found, enc_hook=str))

    async def handoffs(self, asked: Asked) -> dict[str, Any]:
        """Every handoff of every project, newest first."""
        found = await self._facade.handoffs(project="*")
        return self._shown({"handoffs": [msgspec.to_builtins(one, enc_hook=str) for one in found]})

    async def restore(self, asked: Asked) -> dict[str, Any]:
        """One original, exact: the bytes that `restore --raw` gives; noted in the ledger as that is."""
        one = await self._facade.restore(_one(asked, "session"), _one(asked, "batch"), _one(asked, "item"))
        return {
            "item_id": one.item_id,
            "batch_id": one.batch_id,
            "sha256": one.sha256,
            "size_bytes": len(one.data),
            "base64": base64.b64encode(one.data).decode("ascii"),
        }

    async def reinstate(self, asked: Asked) -> dict[str, Any]:
        """Put a batch back in the place of its digest."""
        done = await self._facade.reinstate(_one(asked, "session"), _one(asked, "batch"))
        return self._shown(msgspec.to_builtins(done, enc_hook=str))

    async def undo(self, asked: Asked) -> dict[str, Any]:
        """Take a pass back."""
        number = _number(asked, "number") or None
        done = await self._facade.undo(_one(asked, "session"), number)
        return self._shown(msgspec.to_builtins(done, enc_hook=str))

    async def pin(self, asked: Asked) -> dict[str, Any]:
        """Pin an item, or with `off` take its pin off."""
        item = _one(asked, "item")
        on, off = ((), (item,)) if asked.get("off") else ((item,), ())
        view = await self._facade.show_context(_one(asked, "session"), pin=on, unpin=off, rows=slice(0))
        return self._shown({"session_id": view.session_id, "item_id": item, "pinned": bool(on)})

    async def _view(self, session_id: str) -> tuple[str, ContextView]:
        pulse = await self._facade.pulse(session_id)
        if self._context is None or self._context[:2] != (session_id, pulse):
            self._context = session_id, pulse, await self._facade.show_context(session_id)
        return pulse, self._context[2]

    def _shown(self, value: dict[str, Any]) -> dict[str, Any]:
        return self._surface.value(value)


def _name_of(folder: str, among: Sequence[str]) -> str:
    """A skill by as much of the end of its path as no other has."""
    parts, others = PurePath(folder).parts, [PurePath(one).parts for one in among]
    count = next((n for n in range(1, len(parts)) if [one[-n:] for one in others].count(parts[-n:]) == 1), len(parts))
    return "/".join(parts[-count:])


def _one(asked: Asked, name: str) -> str:
    if not (found := asked.get(name, "")):
        raise InvalidArgument(f"The page asked without {name}.", next="Load the page anew.")
    return found


def _number(asked: Asked, name: str) -> int:
    text = asked.get(name, "") or "0"
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise InvalidArgument(f"{name} is no number.", next="Load the page anew.")
    return int(text)


# The figures of the page: each with the command that prints the same number, what it counts, and of what.


Unit = Literal["tokens", "bytes", "share", "count", "text", "per hundred"]


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One number on the page."""

    label: str
    path: str
    """Where it stands in the answer of `command`, keys joined by dots."""
    unit: Unit
    command: Literal["status", "list", "show"]
    """Which `--json` prints it; `list` and `show` of the session."""
    source: str
    """What it is counted from."""
    sign: Literal["", "+", "-", "="] = ""
    """Its part in a sum: those with `+`, less those with `-`, are the one with `=`."""


LEDGER = "counted from the ledger"
STORE = (
    Figure(label="offloaded", path="tokens_offloaded", unit="tokens", command="status", source=LEDGER, sign="+"),
    Figure(
        label="digests in their place", path="tokens_digests", unit="tokens", command="status", source=LEDGER, sign="-"
    ),
    Figure(label="restored", path="tokens_restored", unit="tokens", command="status", source=LEDGER, sign="-"),
    Figure(label="read again", path="tokens_read_again", unit="tokens", command="status", source=LEDGER, sign="-"),
    Figure(
        label="our own tool list",
        path="standing_tokens",
        unit="tokens",
        command="status",
        source="its size, once for each session over MCP",
        sign="-",
    ),
    Figure(label="net saved", path="net_saved_tokens", unit="tokens", command="status", source=LEDGER, sign="="),
    Figure(label="sessions", path="sessions", unit="count", command="status", source="folders of the store"),
    Figure(label="batches", path="batches", unit="count", command="status", source=LEDGER),
    Figure(label="on disk", path="disk_bytes", unit="bytes", command="status", source="sizes of the store's files"),
    Figure(label="results offloaded", path="results_offloaded", unit="count", command="status", source=LEDGER),
    Figure(label="of them restored", path="results_restored", unit="count", command="status", source=LEDGER),
)
"""Of the whole store."""
SESSION = (
    Figure(label="offloaded", path="saved.offloaded", unit="tokens", command="list", source=LEDGER, sign="+"),
    Figure(
        label="digests in their place", path="saved.digests", unit="tokens", command="list", source=LEDGER, sign="-"
    ),
    Figure(label="restored", path="saved.restored", unit="tokens", command="list", source=LEDGER, sign="-"),
    Figure(label="read again", path="saved.read_again", unit="tokens", command="list", source=LEDGER, sign="-"),
    Figure(label="net saved", path="saved.net", unit="tokens", command="list", source=LEDGER, sign="="),
    Figure(label="used", path="usage.used.value", unit="tokens", command="show", source="usage.used.source"),
    Figure(
        label="window",
        path="usage.effective_window.value",
        unit="tokens",
        command="show",
        source="usage.effective_window.source",
    ),
    Figure(label="full", path="usage.ratio", unit="share", command="show", source="used / window"),
    Figure(
        label="with every digest applied",
        path="usage.compacted_view_tokens",
        unit="tokens",
        command="show",
        source="our own view of the session",
    ),
    Figure(label="results offloaded", path="saved.results", unit="count", command="list", source=LEDGER),
    Figure(label="of them restored", path="saved.restored_results", unit="count", command="list", source=LEDGER),
)
"""Of one session."""


def with_values(figures: tuple[Figure, ...], answers: Mapping[str, Any], scope: str) -> list[dict[str, Any]]:
    """The figures with their values.

    Args:
        answers: command -> what its `--json` prints.
        scope: of what they are, in words.
    """
    return [
        {
            **msgspec.to_builtins(one),
            "value": at(answers[one.command], one.path),
            "source": str(at(answers[one.command], one.source)) if one.source.startswith("usage.") else one.source,
            "scope": scope,
        }
        for one in figures
    ]


def at(value: Any, path: str) -> Any:
    """What stands under keys joined by dots; None where a key is missing or stands under nothing."""
    for key in path.split("."):
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value

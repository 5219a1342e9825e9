"""A provider's request on its way: the same bytes, or the same with stored digests in the place of older results.

Two requests of one conversation are told to belong together by how it begins: all up to the model's first answer, whose
words and call ids no other conversation has. What a pass decided is kept as edits by message, so that the next request
costs no more than to find its messages.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from ..errors import PalimpsestError
from ..hosts.detect import parse_value
from ..hosts.json_bytes import NotSpliceable, Place, edits, elements, members, spliced
from ..hosts.pieces import as_fields, entries_of
from ..hosts.providers import Provider, first_answer, provider_of
from ..models.plans import REFUSE, PassOptions
from ..text.tokens.windows import window_of
from . import importer
from .dependencies import Dependencies
from .measure import policy_of
from .messages import Messages
from .sessions import Sessions

HOST = "gateway"
_BYTES_A_TOKEN = 2.0
"""Fewer than any text of a conversation has on the average: what is shorter by this is below the trigger."""
_CLOSER = 0.97
_MORE = 1.02
_KEPT = 128
_IDS = ("session_id", "x-session-id", "x-session-affinity", "x-client-session-id")
"""Headers by which clients name a session. They tell conversations apart that begin alike."""
CLAUDE_CODE = "x-claude-code-session-id"


class Passed(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a request."""

    body: bytes
    why: str = ""
    """Why it went through untouched; empty where nothing was to be said."""
    session: str = ""
    """Handle of the session that a pass was over."""


@dataclass
class _Known:
    """What this process knows of a conversation."""

    due: float
    """Characters from which on a pass may have something to do."""
    edits: dict[int, tuple[bytes, str]] = field(default_factory=dict[int, tuple[bytes, str]])
    """Place in the list -> hash of the message that stood there, and what stands there instead."""
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class Gateway:
    """Requests of every conversation that one process forwards."""

    def __init__(
        self, deps: Dependencies, sessions: Sessions, messages: Messages, *, window_tokens: int | None, thinking: str
    ) -> None:
        self._deps = deps
        self._sessions = sessions
        self._messages = messages
        self._window = window_tokens
        self._thinking = thinking or REFUSE
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def request(self, path: str, headers: Mapping[str, str], body: bytes) -> Passed:
        """What is to be sent. Never raises: whatever cannot be read or decided goes through as it came."""
        provider = provider_of(path)
        if provider is None or not self._deps.automatic:
            return Passed(body=body)
        if headers.get(CLAUDE_CODE):
            return Passed(body=body, why="Claude Code: its plugin compacts inside the client, so nothing is done here")
        try:
            return await self._request(provider, path, headers, body)
        except (NotSpliceable, UnicodeError):
            return Passed(body=body, why="the request is not the JSON that is expected there")
        except PalimpsestError as error:
            return Passed(body=body, why=f"{error.code}: {error.message}")
        except Exception as error:  # the request goes on; the words of an error may quote it, its kind does not
            return Passed(body=body, why=f"internal_error: {type(error).__name__}")

    async def _request(self, provider: Provider, path: str, headers: Mapping[str, str], body: bytes) -> Passed:
        text = body.decode("utf-8")
        root = members(text)
        listed = root.get(provider.key)
        rows = entries_of({provider.key: listed.value}, provider.key) if listed is not None else []
        if listed is None or not rows:
            return Passed(body=body)
        begins = first_answer(provider, rows)
        if begins is None:
            return Passed(body=body)
        model = _model(root, path)
        window = self._window or (found.tokens if (found := window_of(model)) is not None else None)
        if window is None:
            return Passed(body=body, why="the window of this model is not known; --window TOKENS says it")
        name = _name(provider, headers, rows[: begins + 1])
        known = await self._of(name, window)
        async with known.turn:
            changes = self._known_changes(known, text, listed)
            if changes is not None and len(text) + sum(len(new) - (end - at) for at, end, new in changes) < known.due:
                return Passed(body=spliced(text, changes).encode() if changes else body)
            return await self._pass(provider, known, name, model, window, text, root, listed, body)

    async def _of(self, name: str, window: int) -> _Known:
        known = self._known.get(name)
        if known is None:
            policy = self._deps.policy_named(None)
            due = policy.offload_trigger_token_ratio * window * _BYTES_A_TOKEN
            known = self._known[name] = _Known(due=due)
            if await self._was_compacted(name):
                known.due = 0  # by an earlier process: its digests are to stand again
        self._known.move_to_end(name)
        for idle in [one for one, it in self._known.items() if not it.turn.locked()][: len(self._known) - _KEPT]:
            del self._known[idle]
        return known

    async def _was_compacted(self, name: str) -> bool:
        info = await self._sessions.find_or_none(name, whole=True)
        return info is not None and bool((await self._sessions.fold(info)).decided.replacements)

    def _known_changes(self, known: _Known, text: str, listed: Place) -> list[tuple[int, int, str]] | None:
        """What was decided, where every message is still what it was; None where one is not."""
        if not known.edits:
            return []
        places = elements(text, listed.start)
        changes: list[tuple[int, int, str]] = []
        for at, (digest, new) in known.edits.items():
            if at >= len(places) or _hash(text, places[at]) != digest:
                return None
            changes.append((places[at].start, places[at].end, new))
        return changes

    async def _pass(
        self,
        provider: Provider,
        known: _Known,
        name: str,
        model: str,
        window: int,
        text: str,
        root: Mapping[str, Place],
        listed: Place,
        body: bytes,
    ) -> Passed:
        rows = cast("list[Any]", listed.value)
        before = provider.read(rows) if provider.read is not None else rows
        context = parse_value(before, form=provider.form, kind_by_tool=self._deps.kind_by_tool)
        beside = "\n".join(text[one.start : one.end] for key, one in root.items() if key != provider.key)
        context = importer.with_system(msgspec.structs.replace(context, host=HOST), beside)
        info = await self._sessions.ensure(name, host=HOST, source=HOST)
        asked = PassOptions(host=HOST, model=model, window_tokens=window, thinking=self._thinking)
        passed = await self._messages.compact(info, context, asked, requested=False)
        if passed.request_options:  # it would need members that the client did not send
            return Passed(body=body, why="its model binds thinking to what stood before it", session=info.handle)
        after = passed.messages
        if provider.write is not None:
            after = provider.write(rows, before, after)
        known.edits = {}
        if after is not rows and len(after) == len(rows):
            for at, place in enumerate(elements(text, listed.start)):
                if after[at] is not rows[at] and (found := list(edits(text, place.start, rows[at], after[at]))):
                    inside = [(start - place.start, end - place.start, new) for start, end, new in found]
                    known.edits[at] = (_hash(text, place), spliced(text[place.start : place.end], inside))
        elif len(after) != len(rows):
            return Passed(body=body, why="a message would have to leave the list", session=info.handle)
        changes = self._known_changes(known, text, listed) or []
        out = spliced(text, changes)
        policy = await policy_of(self._deps, self._sessions, info, None)
        ratio = passed.report.after.ratio or 0.0
        trigger = policy.offload_trigger_token_ratio
        known.due = len(out) * (_MORE if ratio >= trigger else max(_MORE, _CLOSER * trigger / max(ratio, 0.01)))
        why = "" if changes or ratio < trigger else passed.report.thinking.said or passed.report.reason
        return Passed(body=out.encode() if changes else body, why=why, session=info.handle)


def _hash(text: str, place: Place) -> bytes:
    return hashlib.blake2b(text[place.start : place.end].encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _model(root: Mapping[str, Place], path: str) -> str:
    """In the request; Gemini has it in the path."""
    named = root.get("model")
    if named is not None and isinstance(named.value, str):
        return named.value
    return path.rsplit("/", 1)[-1].split(":", 1)[0]


def _name(provider: Provider, headers: Mapping[str, str], start: list[Any]) -> str:
    told = [headers.get(one, "") for one in _IDS]
    text = json.dumps([provider.name, told, _unmarked(start)], sort_keys=True)
    return "gateway-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _unmarked(value: Any) -> Any:
    """Without marks of the cache, which move on from request to request."""
    if isinstance(value, list):
        return [_unmarked(one) for one in cast("list[Any]", value)]
    fields = as_fields(value)
    if fields is None:
        return value
    return {key: _unmarked(one) for key, one in fields.items() if key != "cache_control"}

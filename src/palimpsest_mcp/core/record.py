"""Items that a program hands over one by one: validated, named, counted, written before they are acknowledged."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ..context.fold import Fold
from ..context.gates import index_lines
from ..context.view import View, view
from ..errors import InvalidArgument, InvalidItem, WindowUnknown
from ..hosts.actions import action_of
from ..hosts.json_bytes import MAX_DEPTH, MAX_TEXT, deeper_than, longest_text
from ..models.advice import Advice, Either
from ..models.events import Observation, Seen, SessionInfo
from ..models.items import Content, Item, call_key, content_bytes, content_sha256
from ..models.plans import THINKING, PassOptions
from ..models.text import shown as quoted
from ..ports.seams import HostContext
from ..text.tokens.windows import window_of
from .dependencies import ContentCounter, Dependencies
from .importer import dump
from .measure import check_strategy
from .sessions import Sessions, exactly, read_from, slips, unknown

FIELDS = (
    "id", "kind", "role", "content", "args", "tool_name", "tool_use_id", "ts", "title", "url", "source_channel",
    "tokens",
)  # fmt: skip
ROLES = ("system", "user", "assistant", "tool")
MAX_ITEMS = 10_000
CITATION_INDEX = "citation_index"
EXAMPLE = '{"role": "tool", "tool_name": "Bash", "tool_use_id": "call_1", "content": "3 passed in 0.2s"}'
WITHOUT_CONTENT = "recorded without content: not restorable"
WITHOUT_SIZE = "recorded without content and tokens: not restorable, and counted as 0 tokens though its size is unknown"
CHANNEL_ARGS = ("channel", "source_channel", "channel_name")
_TEXTS = ("id", "kind", "role", "tool_name", "tool_use_id", "ts", "title", "url", "source_channel")


class RecordedItems(msgspec.Struct, frozen=True, kw_only=True):
    """What `record` wrote."""

    ids: tuple[str, ...]
    """One per item given, in order; an item that was known keeps its id."""
    tokens: int
    """Of the items that are new."""
    warnings: tuple[str, ...]


async def record(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, raw: Sequence[Mapping[str, Any]]
) -> RecordedItems:
    """Write items at the end of the session's context: all of them, or none.

    An item with an id (or a result with a `tool_use_id`) that is known with the same content is the same item:
    recording again after a lost answer changes nothing. Malformed tool output is no error: it is a string like others.

    Raises:
        InvalidItem: it names the field and shows a correct example; nothing was written.
    """
    counter = deps.counter_for(deps.model)
    fold, shown = await sessions.view(info, counter)
    items = await check_items(deps, fold, raw, shown)
    new = [item for item, known in items if not known]
    events: list[Observation] = [Seen(item=item, ts=deps.now()) for item in new]
    if cited := _citations(fold, new, counter):
        events.append(Seen(item=cited, ts=deps.now()))
    if events:
        await deps.store.ledger.observe(sessions.key(info), events)
        deps.note_unread(sessions.key(info), new)
    return RecordedItems(
        ids=tuple(item.id for item, _ in items),
        tokens=sum(item.tokens for item in new),
        warnings=tuple(f"{item.id}: {warning}" for item, _ in items for warning in item.warnings),
    )


async def check_items(
    deps: Dependencies, fold: Fold, raw: Sequence[Mapping[str, Any]], shown: View | None = None
) -> list[tuple[Item, bool]]:
    """The items that objects stand for, each with whether the fold has it already. Writes nothing.

    Args:
        shown: the fold's view where it is known already.

    Raises:
        InvalidItem: as `record`.
    """
    if not isinstance(raw, (list, tuple)):
        raise InvalidItem("items is a list of objects.", next=f"Give [{EXAMPLE}].", index=0, field="")
    if len(raw) > MAX_ITEMS:
        raise InvalidItem(f"At most {MAX_ITEMS} items a call.", next="Send them in pieces.", index=MAX_ITEMS, field="")
    drafts = _Drafts(deps, fold, view(fold) if shown is None else shown, deps.counter_for(deps.model))
    return await asyncio.to_thread(lambda: [drafts.add(index, item) for index, item in enumerate(raw)])


class _Drafts:
    """Turns one call's objects into items."""

    def __init__(self, deps: Dependencies, fold: Fold, shown: View, counter: ContentCounter) -> None:
        self._deps = deps
        self._fold = fold
        self._counter = counter
        self._row = shown.last_row
        self._asked = shown.asked
        self._calls: dict[str, Item] = {}
        """New ones, by unit."""
        self._new: dict[str, Item] = {}
        self._tried: dict[str, int] = {}
        """Name -> the number up to which it is taken."""

    def add(self, index: int, raw: Any) -> tuple[Item, bool]:
        """The item, and whether it was known before."""
        fields = _fields(index, raw)
        draft = self._draft(index, fields)
        known = self._known(draft, named=bool(fields.get("id") or draft.call_id))
        if known is not None:
            return known, True
        item = msgspec.structs.replace(draft, id=self._free(draft.id))
        self._row += 1
        item = msgspec.structs.replace(item, position=(self._row, 0))
        self._new[item.id] = item
        if item.kind == "tool_call":
            self._calls[item.unit] = item
        self._asked = self._asked or item.kind == "original_query"
        return item, False

    def _draft(self, index: int, fields: dict[str, Any]) -> Item:
        content = self._content(index, fields.get("content"))
        role = fields.get("role") or ("tool" if fields.get("kind") in ("tool_result", "evidence") else "user")
        if role not in ROLES:
            raise _refused(index, "role", f"is one of {', '.join(ROLES)}")
        call = fields.get("tool_use_id", "")
        unit = f"call:{call_key(call)}" if call else ""
        of = self._calls.get(unit) or self._fold.call_of(unit)
        tool = fields.get("tool_name") or (of.tool_name if of is not None else "")
        kind = fields.get("kind") or self._kind(role, tool)
        args = fields.get("args") if fields.get("args") is not None or of is None else of.args
        if kind == "evidence":
            _check_evidence(index, fields, args)
        tokens = fields.get("tokens")
        return Item(
            id=self._name(fields, role, kind, content),
            kind=kind,
            role=role,
            position=(0, 0),
            content=content,
            sha256=content_sha256(content),
            size_bytes=len(content_bytes(content)),
            tokens=self._size(content, kind, tool, args) if tokens is None or content is not None else tokens,
            unit=unit,
            tool_name=tool,
            call_id=call,
            args=args,
            action=action_of(tool, args) if tool else None,
            title=fields.get("title", ""),
            url=fields.get("url", ""),
            source_channel=fields.get("source_channel", ""),
            ts=fields.get("ts", ""),
            warnings=()
            if content is not None or kind == "tool_call"
            else (WITHOUT_SIZE if tokens is None else WITHOUT_CONTENT,),
        )

    def _size(self, content: Content | None, kind: str, tool: str, args: dict[str, Any] | None) -> int:
        if content is not None:
            return self._counter.count_content(content)
        return self._counter.count(f"{tool} {dump(args or {})}") if kind == "tool_call" else 0

    def _content(self, index: int, content: Any) -> Content | None:
        if content is None:
            return None
        if isinstance(content, dict) and "base64" in content:
            try:
                base64.b64decode(cast("Any", content["base64"]), validate=True)
            except (TypeError, ValueError):
                raise _refused(index, "content", "has a `base64` that is not base64") from None
        elif not isinstance(content, (str, list, dict)):
            raise _refused(index, "content", "is a string, a list of blocks or an object")
        if not deeper_than(content, MAX_DEPTH) and longest_text(content) > MAX_TEXT:
            raise _refused(index, "content", f"is at most {MAX_TEXT:,} characters long: no model's window holds more")
        found = cast("Content", content)
        if self._deps.redact_archive and isinstance(found, str):
            return self._deps.masked(found)
        return found

    def _kind(self, role: str, tool: str) -> str:
        if role == "tool":
            return self._deps.kind_by_tool.get(tool, "tool_result")
        if role == "system":
            return "system_prompt"
        return "original_query" if role == "user" and not self._asked else "message"

    def _name(self, fields: dict[str, Any], role: str, kind: str, content: Content | None) -> str:
        if name := fields.get("id"):
            return call_key(name)
        if call := fields.get("tool_use_id"):
            return f"call:{call_key(call)}" if kind == "tool_call" else call_key(call)
        words = content_sha256(content) or content_sha256(fields.get("title", ""))
        return f"{role[0]}-{words[:12]}"

    def _known(self, draft: Item, *, named: bool) -> Item | None:
        if not named:
            return None
        state = self._fold.state(draft.id)
        if state is not None and draft.sha256 in state.versions and state.present:
            return state.versions[draft.sha256].item
        new = self._new.get(draft.id)
        return new if new is not None and new.sha256 == draft.sha256 else None

    def _free(self, name: str) -> str:
        n = self._tried.get(name, 1)
        free = name if n == 1 else f"{name}#{n}"
        while self._fold.state(free) is not None or free in self._new:
            n += 1
            free = f"{name}#{n}"
        self._tried[name] = n
        return free


def _fields(index: int, raw: Any) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise _refused(index, "", "is an object")
    fields = dict(cast("Mapping[str, Any]", raw))
    for name in fields:
        if name not in FIELDS:
            raise _refused(index, str(name)[:40], f"is not a field of an item; fields are {', '.join(FIELDS)}")
    for name in _TEXTS:
        if not isinstance(fields.get(name, ""), str):
            if fields[name] is not None:
                raise _refused(index, name, "is a string")
            fields[name] = ""
    args = fields.get("args")
    if args is not None and not isinstance(args, dict):
        raise _refused(index, "args", "is an object")
    tokens = fields.get("tokens")
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
        raise _refused(index, "tokens", "is a whole number, 0 or more")
    return fields


def _check_evidence(index: int, fields: dict[str, Any], args: dict[str, Any] | None) -> None:
    """Evidence has a title, a URL, and the channel that its call asked for (seed 000, quality bar)."""
    for name in ("title", "url"):
        if not fields.get(name, "").strip():
            raise _refused(index, name, "must not be empty for evidence")
    asked = next((str(args[name]) for name in CHANNEL_ARGS if args and args.get(name)), "")
    if asked and fields.get("source_channel", "") != asked:
        raise _refused(index, "source_channel", "differs from the channel in its call's arguments")


def _refused(index: int, field: str, what: str) -> InvalidItem:
    where = f"items[{index}].{field}" if field else f"items[{index}]"
    return InvalidItem(f"{where} {what}.", next=f"Send items such as {EXAMPLE}.", index=index, field=field)


def _citations(fold: Fold, new: Sequence[Item], counter: ContentCounter) -> Item | None:
    """The citation index with the URLs of new evidence, None when it has them all; a canonical URL keeps its number."""
    urls = [item.url for item in new if item.kind == "evidence" and item.url]
    if not urls:
        return None
    state = fold.state(CITATION_INDEX)
    before = state.current if state is not None and state.versions else None
    old = before.content if before is not None and isinstance(before.content, str) else ""
    text = "\n".join(index_lines(old.splitlines(), urls))
    if text == old:
        return None
    last = max((item.position[0] for item in new), default=0)
    return Item(
        id=CITATION_INDEX,
        kind=CITATION_INDEX,
        role="system",
        position=before.position if before is not None else (last + 1, 0),
        content=text,
        sha256=content_sha256(text),
        size_bytes=len(content_bytes(text)),
        tokens=counter.count(text),
    )


# What is refused before a session is made: a call that does nothing leaves nothing behind.


MOST_TOKENS = 1_000_000_000
"""No window is nearly as large: what is above it was mistyped."""


def admit(deps: Dependencies, asked: PassOptions) -> None:
    """Check the options of a pass.

    Raises:
        InvalidArgument, InvalidPolicy: one does not fit.
    """
    check_strategy(asked.strategy)
    for name, value, least in (("used_tokens", asked.used_tokens, 0), ("window_tokens", asked.window_tokens, 1)):
        if value is not None and not least <= value <= MOST_TOKENS:
            raise InvalidArgument(
                f"{name} is a number of tokens from {least} to {MOST_TOKENS:,}, not {value:,}.",
                next="Give the number as reported.",
            )
    if asked.policy:
        deps.policy_named(asked.policy)
    number = isinstance(asked.target, (int, float))  # pyright: ignore[reportUnnecessaryIsInstance]  # foreign values
    if asked.target is not None and not (number and 0.0 < asked.target < 1.0):
        raise InvalidArgument(
            f"target must be above 0 and below 1, not {asked.target}.", next="Give a share of the window, such as 0.4."
        )
    if asked.thinking not in THINKING:
        raise InvalidArgument(
            f"thinking is one of {', '.join(THINKING)}, not {quoted(asked.thinking)}.", next="Leave it out: it is drop."
        )
    if asked.keep_last is not None and asked.keep_last < -1:
        raise InvalidArgument(
            f"keep_last must be -1 or more, not {asked.keep_last}.",
            next="Give the number of newest tool results to keep; -1 keeps all.",
        )


async def admit_list(
    deps: Dependencies, sessions: Sessions, name: str, context: HostContext, asked: PassOptions
) -> None:
    """Check that a list that is new here has a window.

    Raises:
        WindowUnknown: none is given, configured or in the model table, and the pass is not forced.
    """
    if asked.force or asked.window_tokens or deps.window_tokens or deps.effective_window_tokens:
        return
    model = asked.model or context.model or deps.model
    if (model and window_of(model, host=asked.host or context.host)) or await is_known(sessions, name):
        return
    raise no_window()


def no_window() -> WindowUnknown:
    """What is said where no window is known."""
    return WindowUnknown(
        "The size of the window is not known.",
        next=Advice(
            "Give {}, or {} to take the session's own size as the window.",
            Either(command="--window with its tokens", tool="window_tokens"),
            Either(command="--force", tool='"force": true', call="force=True"),
        ),
    )


async def admit_items(deps: Dependencies, sessions: Sessions, name: str, raw: Sequence[Mapping[str, Any]]) -> None:
    """Check the items of a session that is new here; those of a known one are checked when they are written.

    Raises:
        InvalidItem: it names the field.
    """
    if not await is_known(sessions, name):
        await check_items(deps, Fold(), raw)


async def admit_statements(
    sessions: Sessions, name: str, sections: Mapping[str, Any], fitting: Sequence[str], *, intent_changed: bool
) -> None:
    """Check what is stated into the summary of a session that is new here.

    Args:
        fitting: blockers and decisions that are to be closed: a new session has none.

    Raises:
        InvalidArgument: a section or name does not fit.
    """
    if await is_known(sessions, name):
        return
    from .summary import check_stated

    check_stated(sections, fitting, intent_changed=intent_changed)
    if fitting:
        raise InvalidArgument(
            "A new session has no blockers and no decisions yet.", next="Name its session, or leave the names out."
        )


async def admit_name(sessions: Sessions, name: str) -> str:
    """The id under which what somebody typed is kept: that of a known session, or a new one.

    Raises:
        SessionUnknown: no session has this name, but it may be a slip of one that is there.
    """
    if (info := await sessions.known(name)) is not None:
        return info.session_id
    return await admit_new(sessions, name)


async def admit_new(sessions: Sessions, name: str) -> str:
    """The same where no session was known by this name a moment ago."""
    infos = await sessions.all()
    # Another process may have made it since the first look.
    if len(found := exactly(name, infos) or read_from(name, infos)) == 1:
        return found[0].session_id
    if name != "new" and (meant := found or slips(name, infos)):
        raise unknown(name, meant, infos)
    return name


async def is_known(sessions: Sessions, name: str) -> bool:
    """Whether a session of this id or handle exists."""
    return await sessions.known(name) is not None

"""A host's list becomes ledger events: aligned with what is known, counted, written once."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import aiofiles
import msgspec

from ..context.alignment import align, part_hash
from ..context.fold import Fold
from ..context.state import UsageFields, is_placeholder
from ..context.tombstones import row_without
from ..context.view import View, view
from ..errors import FileMissing, FileWrongShape, InvalidArgument
from ..hosts.detect import SessionValue, parse_value, read_session, transcripts
from ..hosts.pieces import as_fields, messages_key
from ..models.events import Envelope, Observation, SessionInfo, UsageSeen
from ..models.items import Item, content_bytes, content_sha256
from ..models.reports import Forgotten
from ..models.text import plain_line
from ..ports.seams import HostContext
from .dependencies import ContentCounter, Dependencies
from .sessions import Sessions

_ROWS = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), default=as_fields)
MARK = "palimpsest-item"
"""First word of the mark that stands for a tool result's content in an envelope's rows."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """A host's list and what the ledger makes of it."""

    info: SessionInfo
    context: HostContext
    fold: Fold
    view: View
    ids: dict[str, str]
    """Id in the host's list -> id in the ledger."""
    counter: ContentCounter
    beside: int
    """Tokens that a request carries beside the items."""


async def import_context(
    deps: Dependencies,
    sessions: Sessions,
    info: SessionInfo,
    context: HostContext,
    *,
    wrapper: str = "",
    awaited: Collection[str] = (),
    model: str = "",
) -> Imported:
    """Bring the ledger up to what the host's list shows; writes nothing when it already is (L5).

    Args:
        model: as the caller names it; its tokens are counted, else those of the model that the host names.
        awaited: items that somebody brought before the host wrote them down: their absence says nothing yet.
    """
    if deps.redact_archive:
        context = await asyncio.to_thread(_masked, deps, context)
    fold = await sessions.fold(info)
    inherited = await sessions.inherited_parts(info)
    counter = deps.counter_for(model or _model(deps, fold, context))
    found = align(
        fold,
        context.items,
        parts=fold.decided.parts,
        inherited=inherited,
        gone_why=context.gone_why,
        awaited=awaited,
    )
    counted = await asyncio.to_thread(_count, found.seen, counter)
    beside = await asyncio.to_thread(counter.count, context.system_text) if context.system_text else 0
    beside += context.beside_tokens
    events = found.observations(counted, ts=deps.now())
    events += _usage(fold, context)
    events += _list_alone(fold, "" if model else context.model, beside)
    # The rows hold the host's words around the items; a store that keeps masked text only cannot keep them.
    around = None if deps.redact_archive else await asyncio.to_thread(_envelope, fold, context, found.ids, wrapper)
    if around is not None:
        events.append(around)
    if events:
        await deps.store.ledger.observe(sessions.key(info), events)
        fold = await sessions.fold(info)
    shown = view(
        fold,
        result_overhead=counter.per_result_overhead,
        digester=deps.digester_for(counter).name,
        open_units=context.open_units,
    )
    return Imported(
        info=info, context=context, fold=fold, view=shown, ids=dict(found.ids), counter=counter, beside=beside
    )


async def tail_events(
    deps: Dependencies, sessions: Sessions, info: SessionInfo, context: HostContext
) -> list[Observation]:
    """What the newest part of a host's list adds to the ledger, to be written by the caller.

    Args:
        context: rows from some row of the list on, with their positions in the whole list.
    """
    if deps.redact_archive:
        context = await asyncio.to_thread(_masked, deps, context)
    fold = await sessions.fold(info)
    inherited = await sessions.inherited_parts(info)
    items = [_plain_message(item, fold) if fold.is_asked else item for item in context.items]
    found = align(fold, items, parts=fold.decided.parts, inherited=inherited, tail_only=True)
    counter = deps.counter_for(_model(deps, fold, context))
    counted = await asyncio.to_thread(_count, found.seen, counter)
    return [*found.observations(counted, ts=deps.now()), *_usage(fold, context)]


def _model(deps: Dependencies, fold: Fold, context: HostContext) -> str:
    """Whose tokens are counted: a list that no answer stands in yet is read by the model that answered before."""
    known = fold.usage.get("", UsageFields()).model
    return context.model or (known.model if known is not None else "") or deps.model


def _plain_message(item: Item, fold: Fold) -> Item:
    """A part of a list has a first question of its own; the session's was asked before."""
    known = item.id in fold.states
    return item if known or item.kind != "original_query" else msgspec.structs.replace(item, kind="message")


def _masked(deps: Dependencies, context: HostContext) -> HostContext:
    """The context as a store with `redact_archive` keeps it: texts masked, their hashes those of the masked texts."""
    texts = [item.content if isinstance(item.content, str) else "" for item in context.items]
    masked = deps.redactor.redact_all(texts)
    items = tuple(
        msgspec.structs.replace(
            item, content=one.text, sha256=content_sha256(one.text), size_bytes=len(content_bytes(one.text))
        )
        if isinstance(item.content, str) and one.text != item.content
        else item
        for item, one in zip(context.items, masked, strict=True)
    )
    return msgspec.structs.replace(context, items=items)


def _count(items: Sequence[Item], counter: ContentCounter) -> list[Item]:
    return [
        item
        if item.tokens or item.content is None
        else msgspec.structs.replace(item, tokens=counter.count_content(item.content))
        for item in items
    ]


def _usage(fold: Fold, context: HostContext) -> list[Observation]:
    usage = context.usage
    known = fold.usage.get("")
    if usage is None or usage.used_tokens is None:
        return []
    last = known.used if known else None
    if last is not None and (last.used_tokens, last.row) == (usage.used_tokens, usage.row):
        return []
    return [
        UsageSeen(
            used_tokens=usage.used_tokens,
            model=usage.model,
            host=context.host,
            used_source="provider usage",
            row=usage.row,
        )
    ]


def _list_alone(fold: Fold, model: str, beside: int) -> list[Observation]:
    """What only the list tells: whoever measures the session without it shall find the same window as full."""
    known = fold.usage.get("", UsageFields())
    told = known.model.model if known.model is not None else ""
    counted = known.beside.beside_tokens if known.beside is not None else 0
    news = UsageSeen(model=model if model != told else "", beside_tokens=beside if beside != counted else None)
    return [news] if news.model or news.beside_tokens is not None else []


def item_mark(item_id: str, sha256: str) -> str:
    """What stands in an envelope for the content of a tool result."""
    return f"{MARK} {sha256} {item_id}"


def marked_item(text: str) -> tuple[str, str] | None:
    """(item id, hash) of a mark; None for any other text."""
    word, _, rest = text.partition(" ")
    sha256, _, item_id = rest.partition(" ")
    return (item_id, sha256) if word == MARK and len(sha256) == 64 and item_id else None


def _envelope(fold: Fold, context: HostContext, ids: Mapping[str, str], wrapper: str) -> Envelope | None:
    """What is new around the items; None when nothing is."""
    marks: dict[str, Any] = {
        item.id: item_mark(ids[item.id], _truth(fold, ids[item.id], item))
        for item in context.items
        if item.role == "tool" and item.content is not None
    }
    for item in context.items:  # of calls the row has all: notes in their arguments are ours, not the host's
        if item.kind == "tool_call" and (state := fold.states.get(ids[item.id])) is not None and state.versions:
            whole = state.current.content
            if item.sha256 not in state.versions and part_hash(item) in fold.decided.parts and whole is not None:
                marks[item.id] = whole
    rows = [dump(message) for message in transcripts()[context.form].render(context, marks)]
    if fold.purged:
        gone = Forgotten(keys=frozenset(fold.purged))
        rows = [row_without(row, gone) for row in rows]
    known = fold.envelopes.get("")
    if known is None:
        return Envelope(form=context.form, total_rows=len(rows), rows=tuple(rows), wrapper=wrapper)
    same = 0
    while same < len(rows) and known.by_row.get(same, (None, ""))[1] == rows[same]:
        same += 1
    newest = known.newest
    if same == len(rows) and newest.total_rows == len(rows) and newest.wrapper == wrapper:
        return None
    return Envelope(form=context.form, total_rows=len(rows), first_row=same, rows=tuple(rows[same:]), wrapper=wrapper)


def _truth(fold: Fold, ledger_id: str, item: Item) -> str:
    """Hash of the original behind a host's text: our parts and a host's placeholders stand for what was before."""
    state = fold.states.get(ledger_id)
    if state is None or not state.versions or item.sha256 in state.versions:
        return item.sha256
    stands_for = part_hash(item) in fold.decided.parts or is_placeholder(item.content)
    return state.current.sha256 if stands_for else item.sha256


def dump(value: Any) -> str:
    """JSON text that `json.loads` reads back as the very same value, lone surrogates and NaN included.

    An SDK's own objects (pydantic), which readers accept in message lists, become the mappings they stand for.
    """
    return _ROWS.encode(value)


# Session files: read whole, and named as sessions.

MAX_FILE_BYTES = 1 << 30
"""A larger file is no session: 1 GiB is some 250M tokens."""


def as_path(given: object) -> Path:
    """A file that a caller of the library names, by a path or by its text.

    Raises:
        InvalidArgument: it is neither.
    """
    if isinstance(given, (str, Path)):
        return Path(given)
    raise InvalidArgument("path is a path, or its text.", next='Give it as Path("session.json").')


async def read_file(path: Path, *, line: int | None = None, form: str = "auto") -> SessionValue:
    """Read one session of a file.

    Raises:
        FileMissing: it is not there, not a regular file, too large, or may not be read.
        FileEmpty, FileNotJson, FileWrongShape, LineNeeded, InvalidArgument: what `read_session` raises.
    """
    try:
        await asyncio.to_thread(_check, path)
        async with aiofiles.open(path, "rb") as file:
            data = await file.read()
    except OSError as error:
        raise FileMissing(
            f"{_named(path)} cannot be read ({error.strerror or 'I/O error'}).", next="Check its path and permissions."
        ) from None
    return read_session(data, line=line, form=form)


def _check(path: Path) -> None:
    if not path.is_file():
        what = "is no regular file" if path.exists() else "is not there"
        raise FileMissing(f"{_named(path)} {what}.", next=_next_for(path))
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FileMissing(f"{_named(path)} is larger than 1 GiB.", next="Give one session, not a whole collection.")


def _named(path: Path) -> str:
    return f"The file {plain_line(str(path), 200)}"


def _next_for(path: Path) -> str:
    """A file of nearly this name in the same folder, where there is one."""
    try:
        names = [one.name for one in path.parent.iterdir() if one.is_file()]
    except (OSError, ValueError):
        names = []
    if meant := difflib.get_close_matches(path.name, names, n=2):
        return f"Did you mean {' or '.join(plain_line(str(path.with_name(name)), 200) for name in meant)}?"
    return "Check the path; it must be a regular file."


def parsed(found: SessionValue, kind_by_tool: Mapping[str, str]) -> HostContext:
    """The context of what a file holds.

    Raises:
        FileWrongShape: it names the first value that does not fit.
    """
    context = parse_value(found.value, form=found.form, kind_by_tool=kind_by_tool)
    return msgspec.structs.replace(context, warnings=(*found.warnings, *context.warnings))


def need_messages(context: HostContext) -> HostContext:
    """The context of a session that somebody wants shorter.

    Raises:
        FileWrongShape: no message is in it.
    """
    if context.items:
        return context
    form = "Claude Code transcript" if context.form == "claude-code" else "session"
    raise FileWrongShape(
        f"There is no message of a {form} in it.",
        next="Name a file with messages; its form is found by itself.",
        where="$",
    )


def with_system(context: HostContext, system: str) -> HostContext:
    """The context with a system prompt that stands beside it."""
    return msgspec.structs.replace(context, system_text=system) if system else context


def session_id_of(path: Path, line: int | None) -> str:
    """`<stem>-<hash8>`: the same file and line are the same session, two files with one name are not (L17).

    Args:
        line: 1-based, None for a file of one session.
    """
    name = f"{path.absolute()}\0{'' if line is None else line}".encode("utf-8", "surrogatepass")
    stem = path.name.split(".", 1)[0] or "session"
    return f"{stem}-{hashlib.sha256(name).hexdigest()[:8]}"


def place_of(path: Path) -> str:
    """The absolute path under which a session remembers its file."""
    return os.path.abspath(path)


def wrapper_of(value: Any) -> str:
    """JSON text of the object around a message list, its messages left out; empty where the list stands alone."""
    key = messages_key(value)
    return dump({**cast("dict[str, Any]", value), key: []}) if key else ""

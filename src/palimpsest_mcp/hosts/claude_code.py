"""Claude Code transcripts: JSON lines of rows, of which the main chain makes a message list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ..models.items import Content
from ..ports.host import Form, HostContext, HostUsage
from .anthropic_messages import piece_of, put_block
from .assemble import assemble
from .pieces import Piece, as_fields, need_fields, text_of, type_word, wrong_shape
from .rendering import render_pieces

_MESSAGE_ROWS = ("user", "assistant")
_ROW_WORDS = (
    "user assistant system attachment progress summary file-history-snapshot queue-operation last-prompt mode "
    "tools-used cost-state api-request api-request-shape api-request-blob atis-latch permission-mode ai-title "
    "custom-title agent-name pr-link"
)
_ROW_TYPES = frozenset(_ROW_WORDS.split())
_NOTICES = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<bash-",
    "[Request interrupted",
)
"""How user texts begin that the host writes around commands, hooks and interruptions."""
_COUNTERS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class Row(msgspec.Struct, frozen=True):
    """One user or assistant row of the chain."""

    number: int
    """0-based place in the file."""
    role: str
    content: str | list[Any]
    fields: dict[str, Any]


class Message(msgspec.Struct):
    """A message as the API knows it, put together from its rows: blocks with the row and block they come from."""

    role: str
    key: str
    blocks: list[tuple[Any, Row, int]] = []
    plain: bool = False
    """One row whose content is a string."""


class ClaudeCodeTranscript:
    """Rows of `~/.claude/projects/<folder>/<session>.jsonl`, or of one sub-agent's own file."""

    def __init__(self, kind_by_tool: Mapping[str, str] | None = None) -> None:
        """Args:
        kind_by_tool: tool name -> kind of its results (the policy's).
        """
        self._kind_by_tool = dict(kind_by_tool or {})

    @property
    def form(self) -> Form:
        return "claude-code"

    def fits(self, value: Any) -> bool:
        """Whether a row of a transcript is among its entries."""
        if not isinstance(value, list):
            return False
        rows = (as_fields(row) for row in cast("list[Any]", value))
        return any(row is not None and _is_row(row) for row in rows)

    def parse(self, value: Any) -> HostContext:
        """Read the main chain as it stands after the host's last compaction.

        Raises:
            FileWrongShape: it names the first row that does not fit.
        """
        rows = _rows_of(value)
        sidechain = _only_sidechain(rows)
        chain = _Chain(rows, sidechain)
        messages = list(_join(chain.rows))
        pieces = list(_pieces(messages))
        found = assemble(pieces, self._kind_by_tool)
        first = chain.rows[0].fields if chain.rows else dict[str, Any]()
        usage = _usage(chain.rows)
        agent = text_of(first, "agentId") if sidechain else ""
        return HostContext(
            form="claude-code",
            items=found.items,
            open_units=found.open_units,
            messages=tuple(_plain_message(message) for message in messages),
            usage=usage,
            host="claude-code",
            session_id=".".join(part for part in (text_of(first, "sessionId"), agent) if part),
            model=_model(chain.rows),
            project=text_of(first, "cwd"),
            gone_why="host_compaction" if chain.compacted else "",
        )

    def render(self, context: HostContext, contents: Mapping[str, Content]) -> list[Any]:
        """The message list with new contents; see `HostTranscript.render`. A list for the API, no transcript.

        Raises:
            InvalidArgument: a call, a thinking block or a provider's own block was to be changed.
        """
        return render_pieces(context, contents, _message_pieces(context.messages), put_block)


def _is_row(row: dict[str, Any]) -> bool:
    kind = text_of(row, "type")
    if kind in _MESSAGE_ROWS:
        return isinstance(row.get("message"), dict)
    return kind in _ROW_TYPES and "role" not in row and bool({"sessionId", "uuid", "messageId", "leafUuid"} & set(row))


def _rows_of(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise wrong_shape("$", f"rows of a transcript were expected, {type_word(value)} stands there")
    return [need_fields(row, f"rows[{number}]") for number, row in enumerate(cast("list[Any]", value))]


def _only_sidechain(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether it is a sub-agent's own file: then its chain is the session."""
    told = [row.get("isSidechain") is True for row in rows if text_of(row, "type") in _MESSAGE_ROWS]
    return bool(told) and all(told)


class _Chain:
    """Rows that are in the context now: after the last compaction, on the branch that the last row stands on."""

    def __init__(self, rows: Sequence[dict[str, Any]], sidechain: bool) -> None:
        mine = [(n, row) for n, row in enumerate(_once(rows)) if row and _on_chain(row, sidechain)]
        boundary = max((n for n, row in mine if _is_boundary(row)), default=-1)
        summary = max((n for n, row in mine if _is_summary(row)), default=-1)
        # Old clients wrote their summary without a boundary row before it.
        cut = summary - 1 if boundary < 0 <= summary else boundary
        self.compacted = max(boundary, summary) >= 0
        kept = _preserved(rows[boundary]) if boundary >= 0 else frozenset[str]()
        before = [(n, row) for n, row in mine if n < cut and text_of(row, "uuid") in kept]
        after = [(n, row) for n, row in mine if n > cut]
        branch = _branch([row for _, row in (*before, *after)])
        live = [(n, row) for n, row in after if not branch or _is_summary(row) or text_of(row, "uuid") in branch]
        # The host puts the rounds it preserved right after its summary.
        ordered = sorted((*before, *live), key=lambda pair: not _is_summary(pair[1]))
        self.rows = [row for n, fields in ordered if (row := _row(n, fields)) is not None]


def _once(rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows with an empty one in the place of each that repeats an earlier row's uuid."""
    seen: set[str] = set()
    for row in rows:
        uuid = text_of(row, "uuid")
        yield {} if uuid and uuid in seen else row
        seen.add(uuid)


def _on_chain(row: dict[str, Any], sidechain: bool) -> bool:
    return "isSidechain" not in row or (row["isSidechain"] is True) == sidechain


def _is_summary(row: dict[str, Any]) -> bool:
    return row.get("isCompactSummary") is True


def _is_boundary(row: dict[str, Any]) -> bool:
    return text_of(row, "type") == "system" and text_of(row, "subtype") == "compact_boundary"


def _preserved(boundary: dict[str, Any]) -> frozenset[str]:
    """Uuids of the rows that the host kept whole over its compaction."""
    told = as_fields((as_fields(boundary.get("compactMetadata")) or {}).get("preservedMessages")) or {}
    uuids = told.get("allUuids") or told.get("uuids")
    return (
        frozenset(u for u in cast("list[Any]", uuids) if isinstance(u, str)) if isinstance(uuids, list) else frozenset()
    )


def _branch(rows: Sequence[dict[str, Any]]) -> frozenset[str]:
    """Uuids of the rows on the branch of the last one; empty when there is no telling, then every row counts.

    After a rewind the file still holds the abandoned branch. Walking up from the leaf misses parallel calls and their
    results, which hang on rows of their own: they are joined by message id and call id.
    """
    by_uuid = {text_of(row, "uuid"): row for row in rows if text_of(row, "uuid")}
    leaf = next((row for row in reversed(rows) if text_of(row, "type") in _MESSAGE_ROWS and text_of(row, "uuid")), None)
    on: set[str] = set()
    row = leaf
    while row is not None and text_of(row, "uuid") not in on:
        on.add(text_of(row, "uuid"))
        parent = text_of(row, "parentUuid")
        told_root = "parentUuid" in row and row["parentUuid"] is None
        if parent not in by_uuid and not told_root and not _is_top(row, rows):
            return frozenset()
        row = by_uuid.get(parent)
    return frozenset(on | _siblings(rows, on)) if on else frozenset()


def _is_top(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a row whose parent is elsewhere may be the first of the chain: nothing of the chain stands before it."""
    first = next((each for each in rows if text_of(each, "uuid")), None)
    return first is row


def _siblings(rows: Sequence[dict[str, Any]], on: set[str]) -> set[str]:
    """Rows of the same answers, results of their calls, and what hangs on those alone."""
    answers = {_message_id(row) for row in rows if text_of(row, "uuid") in on} - {""}
    joined = {text_of(row, "uuid") for row in rows if _message_id(row) in answers}
    calls = {call for row in rows if text_of(row, "uuid") in joined | on for call in _ids(row, "tool_use", "id")}
    return joined | {
        text_of(row, "uuid")
        for row in rows
        if calls & set(_ids(row, "tool_result", "tool_use_id")) and text_of(row, "uuid")
    }


def _message_id(row: dict[str, Any]) -> str:
    return text_of(as_fields(row.get("message")) or {}, "id") if text_of(row, "type") == "assistant" else ""


def _ids(row: dict[str, Any], kind: str, key: str) -> Iterator[str]:
    content = (as_fields(row.get("message")) or {}).get("content")
    for block in cast("list[Any]", content) if isinstance(content, list) else []:
        fields = as_fields(block) or {}
        if text_of(fields, "type") == kind and text_of(fields, key):
            yield text_of(fields, key)


def _row(number: int, fields: dict[str, Any]) -> Row | None:
    """A row as a message's part; None for bookkeeping and for the host's own notes."""
    role = text_of(fields, "type")
    if role not in _MESSAGE_ROWS or fields.get("isMeta") is True:
        return None
    where = f"rows[{number}].message"
    message = need_fields(fields.get("message"), where)
    content = message.get("content")
    if not isinstance(content, (str, list)):
        raise wrong_shape(f"{where}.content", f"a string or a list was expected, {type_word(content)} stands there")
    if not content:
        return None
    return Row(number, role, cast("str | list[Any]", content), fields)


def _join(rows: Iterable[Row]) -> Iterator[Message]:
    """Rows as messages: one answer's rows together, and every result in the message right after its answer.

    While an answer streams, results of its first calls are written between its rows; the API wants them behind it.
    """
    messages: list[Message] = []
    for row in rows:
        blocks = [(block, row, at) for at, block in enumerate(row.content)] if isinstance(row.content, list) else []
        target = _target(messages, row)
        if target is not None:
            target.blocks += blocks
            continue
        plain = isinstance(row.content, str)
        key = _message_id(row.fields) or f"row {row.number}"
        messages.append(Message(row.role, key, [(row.content, row, 0)] if plain else blocks, plain))
    return iter(messages)


def _target(messages: Sequence[Message], row: Row) -> Message | None:
    """The message that a row continues."""
    if not messages or isinstance(row.content, str):
        return None
    if row.role == "assistant":
        answer = next((message for message in reversed(messages) if message.role == "assistant"), None)
        return answer if answer is not None and answer.key == _message_id(row.fields) else None
    last = messages[-1]
    results = set(_ids(row.fields, "tool_result", "tool_use_id"))
    return last if results and last.role == "user" and not last.plain and _holds_results(last) else None


def _holds_results(message: Message) -> bool:
    return any(text_of(as_fields(block) or {}, "type") == "tool_result" for block, _, _ in message.blocks)


def _plain_message(message: Message) -> dict[str, Any]:
    if message.plain:
        return {"role": message.role, "content": message.blocks[0][0]}
    return {"role": message.role, "content": [block for block, _, _ in message.blocks]}


def _pieces(messages: Sequence[Message]) -> Iterator[Piece]:
    for at, message in enumerate(messages):
        for n, (block, row, index) in enumerate(message.blocks):
            where = f"rows[{row.number}].message.content[{index}]"
            piece = _message_piece(block, message.role, (at, n), where)
            yield msgspec.structs.replace(
                piece,
                position=(row.number, index),
                uuid=text_of(row.fields, "uuid"),
                uuid_block=index,
                ts=text_of(row.fields, "timestamp"),
                kind="message" if piece.sort == "text" and _is_notice(piece.content) else "",
            )


def _is_notice(content: Content) -> bool:
    """Whether a user text is the host's own: never the original query."""
    return isinstance(content, str) and content.lstrip().startswith(_NOTICES)


def _message_pieces(messages: Sequence[Any]) -> Iterator[Piece]:
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        for n, block in enumerate([content] if isinstance(content, str) else content):
            yield _message_piece(block, role, (at, n), f"messages[{at}].content[{n}]")


def _message_piece(block: Any, role: str, place: tuple[int, int], where: str) -> Piece:
    if isinstance(block, str):
        return Piece(sort="text", role=role, place=place, content=block)
    return piece_of(block, role, place, where)


def _usage(rows: Sequence[Row]) -> HostUsage | None:
    """The newest answer that reported numbers. Rows that the host made up itself report zeros, which say nothing."""
    for row in reversed(rows):
        message = as_fields(row.fields.get("message")) or {}
        used = _used(as_fields(message.get("usage"))) if row.role == "assistant" else None
        if used is not None:
            return HostUsage(used_tokens=used, model=text_of(message, "model"), row=row.number)
    return None


def _used(usage: dict[str, Any] | None) -> int | None:
    """Input, cache creation, cache read and output together; None when one of them is null, or all are 0."""
    if usage is None or "input_tokens" not in usage:
        return None
    counts = [usage.get(name, 0) for name in _COUNTERS]
    if not all(type(count) is int and count >= 0 for count in counts):
        return None
    return sum(cast("list[int]", counts)) or None


def _model(rows: Sequence[Row]) -> str:
    for row in reversed(rows):
        model = text_of(as_fields(row.fields.get("message")) or {}, "model") if row.role == "assistant" else ""
        if model and not model.startswith("<"):
            return model
    return ""

"""Claude Code transcripts: JSON lines of rows, of which the main chain makes a message list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ...models.items import Content
from ...ports.host import Form, HostContext, HostUsage
from ..anthropic import piece_of, put_block, rows_without
from ..assemble import assemble
from ..pieces import Piece, as_fields, render_pieces, text_of
from .rows import MESSAGE_ROWS, Row, block_ids, live_rows, message_id, only_sidechain, rows_of

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

    form: Form = "claude-code"

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
        rows = rows_of(value)
        sidechain = only_sidechain(rows)
        chain = live_rows(rows, sidechain)
        messages = list(_join(chain.rows))
        pieces = list(_pieces(messages))
        found = assemble(pieces, self._kind_by_tool)
        first = chain.rows[0].fields if chain.rows else dict[str, Any]()
        usage = _usage([row for row in chain.rows if row.number >= chain.since])
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
    if kind in MESSAGE_ROWS:
        return isinstance(row.get("message"), dict)
    return kind in _ROW_TYPES and "role" not in row and bool({"sessionId", "uuid", "messageId", "leafUuid"} & set(row))


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
        key = message_id(row.fields) or f"row {row.number}"
        messages.append(Message(row.role, key, [(row.content, row, 0)] if plain else blocks, plain))
    return iter(messages)


def _target(messages: Sequence[Message], row: Row) -> Message | None:
    """The message that a row continues."""
    if not messages or isinstance(row.content, str):
        return None
    if row.role == "assistant":
        answer = next((message for message in reversed(messages) if message.role == "assistant"), None)
        return answer if answer is not None and answer.key == message_id(row.fields) else None
    last = messages[-1]
    results = set(block_ids(row.fields, "tool_result", "tool_use_id"))
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


# A transcript of Claude Code with other contents in it, as a session of its own that the client can resume.
#
# What the client needs for that was found by running it (2.1.328): rows keep their uuids, a changed result loses the
# tool's own record beside it, the log of requests goes, and usage is zeroed, since numbers of the longer session
# would make the client compact at once.


_REQUEST_LOG = ("api-request", "api-request-shape", "api-request-blob")
_BESIDE_A_RESULT = ("toolUseResult", "mcpMeta")
"""Copies of a result, for the client's own screen."""


def rewritten(
    rows: Sequence[dict[str, Any]],
    contents: Mapping[tuple[int, int], Content],
    session_id: str,
    *,
    drop_thinking: bool = False,
) -> list[dict[str, Any]]:
    """The rows of the new session; the given ones are not changed.

    Args:
        contents: place of a row in the file and of a block in it -> what takes that block's place.
        session_id: of the new session.
        drop_thinking: leave out the thinking behind the first change, which the model would refuse.
    """
    by_row: dict[int, dict[int, Content]] = {}
    for (number, index), content in contents.items():
        by_row.setdefault(number, {})[index] = content
    new = [_with_contents(row, by_row[at]) if at in by_row else dict(row) for at, row in enumerate(rows)]
    found: list[dict[str, Any]] = []
    for row in rows_without(new, min(by_row)) if drop_thinking and by_row else new:
        if text_of(row, "type") in _REQUEST_LOG:
            continue
        if "sessionId" in row:
            row["sessionId"] = session_id
        found.append(_without_usage(row))
    return found


def _with_contents(row: dict[str, Any], contents: Mapping[int, Content]) -> dict[str, Any]:
    message = as_fields(row.get("message")) or {}
    role = text_of(message, "role") or text_of(row, "type")
    for index, content in contents.items():
        old = message.get("content")
        if not isinstance(old, list):
            message = {**message, "content": content}
            continue
        block = cast("list[Any]", old)[index]
        message = put_block(message, piece_of(block, role, (0, index), f"content[{index}]"), content)
    kept = {key: value for key, value in row.items() if key not in _BESIDE_A_RESULT}
    return {**kept, "message": message}


def _without_usage(row: dict[str, Any]) -> dict[str, Any]:
    message = as_fields(row.get("message")) if text_of(row, "type") == "assistant" else None
    if message is None or not isinstance(message.get("usage"), dict):
        return row
    return {**row, "message": {**message, "usage": _zeroed(message["usage"])}}


def _zeroed(value: Any) -> Any:
    """The same with every count at zero."""
    if isinstance(value, dict):
        return {key: _zeroed(inner) for key, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_zeroed(inner) for inner in cast("list[Any]", value)]
    return 0 if type(value) in (int, float) else value

"""Claude Code transcripts: JSON lines of rows, of which the main chain makes a message list.

Rows of a Claude Code transcript: which of them are in the context now.

A transcript read on from where it was left: rows as they come, and how much of them must be read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from ...errors import PalimpsestError
from ...models.items import Content
from ...ports.seams import Form, HostContext, HostUsage
from ..anthropic import piece_of, put_block, rows_without
from ..assemble import assemble
from ..json_bytes import decode
from ..pieces import Piece, as_fields, need_fields, render_pieces, text_of, type_word, wrong_shape

MESSAGE_ROWS = ("user", "assistant")
"""Types of the rows that hold messages; all others are bookkeeping."""


class Row(msgspec.Struct, frozen=True):
    """One user or assistant row of the chain."""

    number: int
    """0-based place in the file."""
    role: str
    content: str | list[Any]
    fields: dict[str, Any]


class Chain(msgspec.Struct, frozen=True):
    """The rows of one agent that are in its context now, in the context's order."""

    rows: tuple[Row, ...]
    compacted: bool
    """The host compacted what came before."""
    since: int = 0
    """Number of the first row behind that: what rows before it say of the context's size is no longer true."""


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The rows as objects.

    Raises:
        FileWrongShape: it is no list, or one of its entries is no object.
    """
    if not isinstance(value, list):
        raise wrong_shape("$", f"rows of a transcript were expected, {type_word(value)} stands there")
    return [need_fields(row, f"rows[{number}]") for number, row in enumerate(cast("list[Any]", value))]


def only_sidechain(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether it is a sub-agent's own file: then its chain is the session."""
    told = [row.get("isSidechain") is True for row in rows if text_of(row, "type") in MESSAGE_ROWS]
    return bool(told) and all(told)


def live_rows(rows: Sequence[dict[str, Any]], sidechain: bool) -> Chain:
    """Rows after the last compaction, on the branch that the last row stands on.

    Args:
        sidechain: whether the sub-agent's rows are meant, not the main chain's.

    Raises:
        FileWrongShape: a row of the chain has no message of the right shape.
    """
    mine = [(n, row) for n, row in enumerate(_once(rows)) if row and _on_chain(row, sidechain)]
    boundary = max((n for n, row in mine if _is_boundary(row)), default=-1)
    summary = max((n for n, row in mine if _is_summary(row)), default=-1)
    # Old clients wrote their summary without a boundary row before it.
    cut = summary - 1 if boundary < 0 <= summary else boundary
    kept = _preserved(rows[boundary]) if boundary >= 0 else frozenset[str]()
    before = [(n, row) for n, row in mine if n < cut and text_of(row, "uuid") in kept]
    after = [(n, row) for n, row in mine if n > cut]
    branch = _branch([row for _, row in (*before, *after)])
    live = [(n, row) for n, row in after if not branch or _is_summary(row) or text_of(row, "uuid") in branch]
    # The host puts the rounds it preserved right after its summary.
    ordered = sorted((*before, *live), key=lambda pair: not _is_summary(pair[1]))
    found = (_row(n, fields) for n, fields in ordered)
    return Chain(tuple(row for row in found if row is not None), max(boundary, summary) >= 0, max(boundary, cut) + 1)


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
    """Uuids of the rows on the branch of the last one (and "", for rows without); empty when there is no telling, then
    every row counts.

    After a rewind the file still holds the abandoned branch. Walking up from the leaf misses parallel calls and their
    results, which hang on rows of their own: they are joined by message id and call id.
    """
    by_uuid = {text_of(row, "uuid"): row for row in rows if text_of(row, "uuid")}
    leaf = next((row for row in reversed(rows) if text_of(row, "type") in MESSAGE_ROWS and text_of(row, "uuid")), None)
    on: set[str] = set()
    row = leaf
    while row is not None and text_of(row, "uuid") not in on:
        on.add(text_of(row, "uuid"))
        parent = text_of(row, "parentUuid")
        told_root = "parentUuid" in row and row["parentUuid"] is None
        if parent not in by_uuid and not told_root and not _is_top(row, rows):
            return frozenset()
        row = by_uuid.get(parent)
    return frozenset(on | _siblings(rows, on) | {""}) if on else frozenset()


def _is_top(row: dict[str, Any], rows: Sequence[dict[str, Any]]) -> bool:
    """Whether a row whose parent is elsewhere may be the first of the chain: nothing of the chain stands before it."""
    first = next((each for each in rows if text_of(each, "uuid")), None)
    return first is row


def _siblings(rows: Sequence[dict[str, Any]], on: set[str]) -> set[str]:
    """Rows of the same answers as those on the branch, and the results of their calls."""
    answers = {message_id(row) for row in rows if text_of(row, "uuid") in on} - {""}
    answering = [row for row in rows if text_of(row, "uuid") in on or message_id(row) in answers]
    calls = {call for row in answering for call in block_ids(row, "tool_use", "id")}
    told = [row for row in rows if not calls.isdisjoint(block_ids(row, "tool_result", "tool_use_id"))]
    return {text_of(row, "uuid") for row in (*answering, *told)} - {""}


def message_id(row: dict[str, Any]) -> str:
    """The API's id of the answer that an assistant row belongs to; empty for other rows."""
    return text_of(as_fields(row.get("message")) or {}, "id") if text_of(row, "type") == "assistant" else ""


def block_ids(row: dict[str, Any], kind: str, key: str) -> Iterator[str]:
    """The ids under `key` of a row's blocks of one type."""
    content = (as_fields(row.get("message")) or {}).get("content")
    for block in cast("list[Any]", content) if isinstance(content, list) else []:
        fields = as_fields(block) or {}
        if text_of(fields, "type") == kind and text_of(fields, key):
            yield text_of(fields, key)


def _row(number: int, fields: dict[str, Any]) -> Row | None:
    """A row as a message's part; None for bookkeeping and for the host's own notes."""
    role = text_of(fields, "type")
    if role not in MESSAGE_ROWS or fields.get("isMeta") is True:
        return None
    where = f"rows[{number}].message"
    message = need_fields(fields.get("message"), where)
    content = message.get("content")
    if not isinstance(content, (str, list)):
        raise wrong_shape(f"{where}.content", f"a string or a list was expected, {type_word(content)} stands there")
    if not content:
        return None
    return Row(number, role, cast("str | list[Any]", content), fields)


# Messages as Claude Code shows them to a hooks module: rows with calls and results beside their text.


def results_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every tool result of the client's list that names its call."""
    found: list[dict[str, Any]] = []
    for row in rows:
        listed = row.get("toolResults")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        found += [one for one in map(as_fields, entries) if one is not None and text_of(one, "tool_use_id")]
    return found


def calls_of(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The id of every call in the client's list."""
    found: list[str] = []
    for row in rows:
        listed = row.get("toolUses")
        entries = cast("list[Any]", listed) if isinstance(listed, list) else []
        found += [name for one in map(as_fields, entries) if one is not None and (name := text_of(one, "tool_use_id"))]
    return found


def as_messages(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The client's list as an Anthropic message list."""
    messages: list[dict[str, Any]] = []
    for row in rows:
        blocks: list[dict[str, Any]] = [
            {
                "type": "tool_result",
                "tool_use_id": text_of(one, "tool_use_id"),
                "content": text_of(one, "text"),
                "is_error": one.get("isError") is True,
            }
            for one in results_of([row])
        ]
        if text := text_of(row, "text"):
            blocks.append({"type": "text", "text": text})
        uses = row.get("toolUses")
        for use in map(as_fields, cast("list[Any]", uses) if isinstance(uses, list) else []):
            if use is not None:
                name, call_id = text_of(use, "tool"), text_of(use, "tool_use_id")
                blocks.append(
                    {"type": "tool_use", "id": call_id, "name": name, "input": as_fields(use.get("input")) or {}}
                )
        messages.append({"role": "assistant" if row.get("role") == "assistant" else "user", "content": blocks})
    return messages


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


_KEPT_WHOLE = (*MESSAGE_ROWS, "system")
_MOST_BEHIND = 400
"""Rows: a call that is open for longer no longer makes later reads start at it."""


class _Head(msgspec.Struct, omit_defaults=True):
    """What the chain needs of a bookkeeping row; the rest may be large and is passed over."""

    type: str = ""
    uuid: str | None = None
    parentUuid: str | None | msgspec.UnsetType = msgspec.UNSET  # the host's own names
    isSidechain: bool | msgspec.UnsetType = msgspec.UNSET


_HEADS = msgspec.json.Decoder(_Head)


class News(msgspec.Struct, frozen=True):
    """What came since the last read."""

    rows: int
    start: int
    """First row that an import must read again: of the oldest call that was still open, or of the newest answer. An
    answer goes on while results of its first calls are written."""
    whole: bool
    """The host compacted, or went back to an earlier row: only the whole transcript tells what is in context now."""


class Tail:
    """The rows of one transcript so far. Feed it the bytes from `offset` on.

    Args:
        sidechain: it is a sub-agent's own file.
    """

    def __init__(self, *, sidechain: bool = False) -> None:
        self._sidechain = sidechain
        self.rows: list[dict[str, Any]] = []
        """In the file's order; lines that are no whole row are not among them."""
        self.offset = 0
        """Bytes that were read; always the start of a line."""
        self.answered: set[str] = set()
        """Ids of the calls whose results stand in the rows."""
        self._open: dict[str, int] = {}
        self._newest = ""
        self._recent: set[str] = set()
        self._answer = ""
        self._answer_row = 0

    def window(self, start: int) -> list[dict[str, Any]]:
        """The rows from one on; those of the other chain are empty."""
        return [row if row.get("isSidechain", self._sidechain) is self._sidechain else {} for row in self.rows[start:]]

    def feed(self, data: bytes) -> News:
        """Take in what the file holds from `offset` on; a last line without its end is left for the next time."""
        end = data.rfind(b"\n") + 1
        first, whole, start = len(self.rows), self.offset == 0, self._start()
        for line in data[:end].split(b"\n"):
            row = _fields_of(line)
            if row is not None:
                whole = self._add(row) or whole
        self.offset += end
        return News(len(self.rows) - first, 0 if whole else min(start, first), whole)

    def _start(self) -> int:
        return max(min([*self._open.values(), self._answer_row]), len(self.rows) - _MOST_BEHIND, 0)

    def _add(self, row: dict[str, Any]) -> bool:
        """Add a row; whether it changes what came before."""
        self.rows.append(row)
        kind, uuid = text_of(row, "type"), text_of(row, "uuid")
        turned = text_of(row, "subtype") == "compact_boundary" or row.get("isCompactSummary") is True
        if turned:
            self._open.clear()
        if kind in MESSAGE_ROWS and row.get("isSidechain", self._sidechain) is self._sidechain:
            turned = self._on(row, kind) or turned
        if uuid:
            self._newest = uuid
            self._recent.add(uuid)
        return turned

    def _on(self, row: dict[str, Any], kind: str) -> bool:
        """Note calls and results; whether the row hangs on one that is not among the newest: the user went back."""
        parent = text_of(row, "parentUuid")
        if kind == "assistant":
            answer = message_id(row)
            goes_back = bool(parent) and parent not in self._recent and parent != self._newest
            if answer != self._answer or not answer:
                self._answer, self._recent = answer, {self._newest}
                self._answer_row = len(self.rows) - 1
            for call in block_ids(row, "tool_use", "id"):
                self._open[call] = len(self.rows) - 1
            return goes_back
        results = list(block_ids(row, "tool_result", "tool_use_id"))
        self.answered.update(results)
        for call in results:
            self._open.pop(call, None)
        return not results and bool(parent) and bool(self._newest) and parent != self._newest


def tokens_after_compaction(rows: list[dict[str, Any]]) -> tuple[int, int] | None:
    """(row of the last boundary, tokens that the host counted behind it); None without one that says."""
    for number in range(len(rows) - 1, -1, -1):
        row = rows[number]
        if text_of(row, "subtype") == "compact_boundary":
            tokens = (as_fields(row.get("compactMetadata")) or {}).get("postTokens")
            return (number, tokens) if type(tokens) is int and tokens > 0 else None
    return None


def forked_from(rows: list[dict[str, Any]], session_id: str) -> str:
    """The session that a fork's first rows were copied from; empty where they say nothing of it."""
    for row in rows[:50]:
        origin = text_of(as_fields(row.get("forkedFrom")) or {}, "sessionId")
        if origin and origin != session_id:
            return origin
    return ""


def _fields_of(line: bytes) -> dict[str, Any] | None:
    """A line as a row: messages and boundaries whole, of all others what the chain needs; None for a torn one."""
    if not line.strip():
        return None
    try:
        head = _HEADS.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        head = None
    if head is not None and head.type not in _KEPT_WHOLE:
        found = msgspec.to_builtins(head)
        return {key: value for key, value in found.items() if key != "uuid" or value is not None}
    try:
        return as_fields(decode(line))
    except PalimpsestError:
        return None

"""Sessions of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-….jsonl` (google-gemini/gemini-cli,
`chatRecordingTypes.ts` and `chatRecordingService.ts`, 2026-08).

One object a line: metadata first, then messages (one with a known id is that message again), `{"$set": {…}}` and
`{"$rewindTo": ID}`, which takes back that message and what followed. A compaction is a `$set` of `messages` of which
some are new and some of the old are gone; one that only masks results is none. Older versions wrote one object with
`messages`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import FileNotJson
from .json_bytes import decode
from .pieces import as_fields, entries_of, text_of
from .recorded import RecordedSession, Recorder, Stretch, rows_in

_FAILED = ("error", "cancelled")


def read(data: bytes) -> RecordedSession | None:
    """A session file's bytes; None where they are none."""
    meta: dict[str, Any] = {}
    done: list[Stretch] = []
    shown: dict[str, dict[str, Any]] = {}
    for row in _rows(data):
        changes = as_fields(row.get("$set"))
        if "$rewindTo" in row:
            ids = list(shown)
            at = ids.index(name) if (name := text_of(row, "$rewindTo")) in shown else 0
            shown = {name: shown[name] for name in ids[:at]}
        elif isinstance(row.get("id"), str):
            shown[row["id"]] = row
        elif changes is not None:
            meta |= {key: value for key, value in changes.items() if key != "messages"}
            if isinstance(changes.get("messages"), list):
                shown, ended = _checkpoint(shown, cast("list[Any]", changes["messages"]))
                done += ended
        elif isinstance(row.get("sessionId"), str):
            meta |= row
    session_id = text_of(meta, "sessionId")
    if not session_id:
        return None
    answers = [one for one in shown.values() if one.get("type") == "gemini"]
    totals = [(as_fields(one.get("tokens")) or {}).get("total") for one in answers]
    return RecordedSession(
        session_id=session_id,
        form="anthropic",
        stretches=(*done, Stretch(messages=tuple(_messages(shown)))),
        project=next((one for one in entries_of(meta, "directories") if isinstance(one, str)), ""),
        model=next((text_of(one, "model") for one in reversed(answers) if text_of(one, "model")), ""),
        used_tokens=next((total for total in reversed(totals) if type(total) is int and total > 0), None),
    )


def _rows(data: bytes) -> Iterator[dict[str, Any]]:
    try:
        whole = as_fields(decode(data))
    except (FileNotJson, ValueError):
        whole = None
    if whole is None or not isinstance(whole.get("messages"), list):
        yield from rows_in(data)
        return
    yield {key: value for key, value in whole.items() if key != "messages"}
    yield from (row for row in map(as_fields, cast("list[Any]", whole["messages"])) if row is not None)


def _checkpoint(
    shown: dict[str, dict[str, Any]], messages: list[Any]
) -> tuple[dict[str, dict[str, Any]], list[Stretch]]:
    """The messages from now on, and the stretch that ended, where that was a compaction. A message that is known stays
    as it was: what takes its place here may be masked."""
    new = {text_of(row, "id"): row for row in map(as_fields, messages) if row is not None and text_of(row, "id")}
    after = {name: shown.get(name, row) for name, row in new.items()}
    fresh = [row for name, row in new.items() if name not in shown]
    if not fresh or new.keys() >= shown.keys():
        return after, []
    summary = "\n".join(filter(None, (_text(row.get("content")) for row in fresh)))
    return after, [Stretch(messages=tuple(_messages(shown)), summary=summary)]


def _messages(shown: Mapping[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """As messages of the Messages API: every call with its result right behind it."""
    for row in shown.values():
        text = _text(row.get("content"))
        if row.get("type") == "user" and text:
            yield {"role": "user", "content": text}
        if row.get("type") != "gemini":
            continue
        calls = [call for call in map(as_fields, entries_of(row, "toolCalls")) if call is not None]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
        for call in calls:
            given = as_fields(call.get("args")) or {}
            blocks.append(
                {"type": "tool_use", "id": text_of(call, "id"), "name": text_of(call, "name"), "input": given}
            )
        if blocks:
            yield {"role": "assistant", "content": blocks}
        results = [_result(call) for call in calls if call.get("result") is not None]
        if results:
            yield {"role": "user", "content": results}


def _result(call: dict[str, Any]) -> dict[str, Any]:
    failed = {"is_error": True} if text_of(call, "status") in _FAILED else {}
    text = _text(call["result"])
    return {"type": "tool_result", "tool_use_id": text_of(call, "id"), "content": text, **failed}


def _text(parts: Any) -> str:
    """The words of a `PartListUnion`: a text, a part, or a list of both. What a function answered is its output."""
    if isinstance(parts, str):
        return parts
    if isinstance(parts, list):
        return "\n".join(filter(None, map(_text, cast("list[Any]", parts))))
    fields = as_fields(parts) or {}
    answered = as_fields(fields.get("functionResponse"))
    if answered is None:
        return text_of(fields, "text")
    response = as_fields(answered.get("response")) or {}
    plain = response.get("output", response.get("error"))
    return plain if isinstance(plain, str) else json.dumps(response, ensure_ascii=False)


def _folder(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("GEMINI_CLI_HOME", "") or home) / ".gemini" / "tmp"


GEMINI = Recorder(
    host="gemini-cli",
    folder=_folder,
    patterns=("*/chats/session-*.jsonl", "*/chats/session-*.json"),
    read=read,
    set_by="GEMINI_CLI_HOME to the folder that `.gemini` is in",
)

"""Sessions of Codex CLI: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-….jsonl` (openai/codex, `protocol.rs`, 2026-11).

One object a line, `{timestamp, type, payload}`. `response_item` is an item of the Responses API; `compacted` says that
the history so far gave way to `replacement_history`, or in older versions to the user's messages and `message`, the
summary. The file is rewritten at a compaction in newer versions: then it begins with what is left.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from .pieces import as_fields, text_of
from .recorded import RecordedSession, Recorder, Stretch, rows_in


def read(data: bytes) -> RecordedSession | None:
    """A rollout's bytes as a session; None where they are none."""
    session_id = project = model = ""
    used = window = None
    done: list[Stretch] = []
    history: list[Any] = []
    for row in rows_in(data):
        payload = as_fields(row.get("payload")) or {}
        match row.get("type"):
            case "session_meta":
                session_id = session_id or text_of(payload, "id")
                project = text_of(payload, "cwd") or project
            case "turn_context":
                project, model = text_of(payload, "cwd") or project, text_of(payload, "model") or model
            case "response_item":
                history.append(payload)
            case "compacted":
                after = _after(payload, history)
                known = {id(item) for item in history}
                told = [_text(item) for item in after if id(item) not in known and text_of(item, "role") != "developer"]
                summary = text_of(payload, "message") or "\n".join(filter(None, told))
                done.append(Stretch(messages=tuple(history), summary=summary or "(encrypted by its provider)"))
                history = after
            case "event_msg" if text_of(payload, "type") == "token_count":
                info = as_fields(payload.get("info")) or {}
                last = as_fields(info.get("last_token_usage")) or {}
                used = _number(last.get("total_tokens")) or used
                window = _number(info.get("model_context_window")) or window
            case _:
                pass
    if not session_id:
        return None
    return RecordedSession(
        session_id=session_id,
        form="openai",
        stretches=(*done, Stretch(messages=tuple(history))),
        project=project,
        model=model,
        used_tokens=used,
        window_tokens=window,
    )


def _after(payload: dict[str, Any], history: list[Any]) -> list[Any]:
    replaced = payload.get("replacement_history")
    if isinstance(replaced, list):
        items = [as_fields(item) or {} for item in cast("list[Any]", replaced)]
        return [as_fields(item.get("item")) or item for item in items]
    asked = [item for item in history if text_of(item, "type") == "message" and text_of(item, "role") == "user"]
    summary = {"type": "message", "role": "assistant"}
    return [*asked, {**summary, "content": [{"type": "output_text", "text": text_of(payload, "message")}]}]


def _text(item: dict[str, Any]) -> str:
    content = item.get("content")
    parts = cast("list[Any]", content) if isinstance(content, list) else []
    return "\n".join(filter(None, (text_of(as_fields(part) or {}, "text") for part in parts)))


def _number(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _folder(environ: Mapping[str, str], home: Path) -> Path:
    return Path(environ.get("CODEX_HOME", "") or home / ".codex") / "sessions"


CODEX = Recorder(
    host="codex",
    folder=_folder,
    patterns=("*/*/*/rollout-*.jsonl",),
    read=read,
    set_by="CODEX_HOME to the folder that `sessions` is in",
)

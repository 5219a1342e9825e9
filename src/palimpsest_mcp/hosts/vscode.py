"""Chat sessions of VS Code: `User/workspaceStorage/ID/chatSessions/SESSION.jsonl`, or `.json` before 1.109
(microsoft/vscode: `chatSessionStore.ts`, `objectMutationLog.ts`; vscode-copilot-chat: `conversation.ts`; 2026).

A log's lines change one object: `{"kind": 0, "v": …}` is all of it, 1 sets the value at the path `k`, 2 cuts the list
there to `i` entries and appends `v`, 3 deletes what is there. `requests` holds the turns. Copilot keeps of each turn
`toolCallRounds`, `toolCallResults` by call, and what its own compactions wrote, each by the last round that it covers.
A turn that goes on has none of these: it is read when it has ended.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ..errors import InputError
from .json_bytes import decode
from .pieces import as_fields, entries_of, text_of
from .recorded import RecordedSession, Recorder, Stretch, rows_in

_PENDING = (None, 0, 4)
"""`ResponseModelState` of a turn that goes on: none yet, pending, waiting for the user."""
_MARKDOWN = ("", "markdownContent", "markdownVuln")
_TEXT_NODE, _IMAGE_NODE = 2, 3
_DEEPEST = 200

# The log.


def replayed(rows: Iterable[dict[str, Any]]) -> Any:
    """The object that a log's lines stand for. A line of another kind, or of a place that is not there, changes
    nothing; None where no line holds the whole."""
    state: Any = None
    for row in rows:
        if row.get("kind") == 0:
            state = row.get("v")
        elif "kind" not in row and "requests" in row:
            state = row  # a file of one object
        else:
            _mutate(state, row)
    return state


def _mutate(state: Any, row: dict[str, Any]) -> None:
    path = entries_of(row, "k")
    holder = state
    for key in path[:-1]:
        holder = _at(holder, key)
    if not path or not isinstance(holder, (dict, list)):
        return
    key = path[-1]
    match row.get("kind"):
        case 1:
            _set(cast("Any", holder), key, row.get("v"))
        case 2:
            before = _at(holder, key)
            if before is None or isinstance(before, list):
                entries, end = cast("list[Any]", [] if before is None else before), row.get("i")
                if type(end) is int and end >= 0:
                    del entries[end:]
                entries += entries_of(row, "v")
                _set(cast("Any", holder), key, entries)
        case 3:
            if isinstance(holder, dict):
                cast("dict[Any, Any]", holder).pop(key if isinstance(key, str) else None, None)
            else:
                _set(cast("Any", holder), key, None)
        case _:
            pass


def _at(holder: Any, key: Any) -> Any:
    if isinstance(holder, dict):
        return cast("dict[Any, Any]", holder).get(key) if isinstance(key, str) else None
    if isinstance(holder, list) and type(key) is int and 0 <= key < len(cast("list[Any]", holder)):
        return cast("list[Any]", holder)[key]
    return None


def _set(holder: dict[Any, Any] | list[Any], key: Any, value: Any) -> None:
    if isinstance(holder, dict):
        if isinstance(key, str):
            holder[key] = value
    elif type(key) is int and 0 <= key < len(holder):
        holder[key] = value
    elif type(key) is int and key == len(holder):
        holder.append(value)


# The session.


def read(data: bytes) -> RecordedSession | None:
    """A session file's bytes; None where they are none."""
    session = as_fields(replayed(rows_in(data))) or {}
    session_id = text_of(session, "sessionId")
    if not session_id:
        return None
    requests = [one for one in map(as_fields, entries_of(session, "requests")) if one is not None]
    told = [_told(request) for request in requests]
    summaries = _summaries(told)
    done: list[Stretch] = []
    messages: list[dict[str, Any]] = []
    for at, request in enumerate(requests):
        asked = _asked(request)
        messages += [{"role": "user", "content": asked}] if asked else []
        rounds = [one for one in map(as_fields, entries_of(told[at], "toolCallRounds")) if one is not None]
        results = as_fields(told[at].get("toolCallResults")) or {}
        for one in rounds:
            messages += _round(one, results)
            if summary := summaries.get(text_of(one, "id")) or text_of(one, "summary"):
                done.append(Stretch(messages=tuple(messages), summary=summary))
                messages = [{"role": "user", "content": summary}]
        if not rounds and (_ended(request) or at + 1 < len(requests)):
            messages += _shown(request)
    models = [text_of(one, "resolvedModel") or _model(request) for one, request in zip(told, requests, strict=True)]
    used = [_used(one) for one in told]
    return RecordedSession(
        session_id=session_id,
        form="openai",
        stretches=(*done, Stretch(messages=tuple(messages))),
        model=next(filter(None, reversed(models)), ""),
        used_tokens=next(filter(None, reversed(used)), None),
    )


def _told(request: dict[str, Any]) -> dict[str, Any]:
    return as_fields((as_fields(request.get("result")) or {}).get("metadata")) or {}


def _summaries(told: Iterable[dict[str, Any]]) -> dict[str, str]:
    """What compactions wrote, by the round that each covers last: a later turn may tell it of an earlier one."""
    found: dict[str, str] = {}
    for one in told:
        for each in entries_of(one, "summaries") or [one.get("summary")]:
            summary = as_fields(each) or {}
            found[text_of(summary, "toolCallRoundId")] = text_of(summary, "text")
    found.pop("", None)
    return found


def _asked(request: dict[str, Any]) -> str:
    message = request.get("message")
    return message if isinstance(message, str) else text_of(as_fields(message) or {}, "text")


def _ended(request: dict[str, Any]) -> bool:
    state = (as_fields(request.get("modelState")) or {}).get("value")
    return request.get("result") is not None or request.get("isCanceled") is True or state not in _PENDING


def _model(request: dict[str, Any]) -> str:
    """`copilot/gpt-5` is gpt-5; `copilot/auto` names none."""
    name = text_of(request, "modelId").rsplit("/", 1)[-1]
    return "" if name == "auto" else name


def _used(told: dict[str, Any]) -> int | None:
    asked, answered = told.get("promptTokens"), told.get("outputTokens")
    if type(asked) is not int or asked <= 0:
        return None
    return asked + (answered if type(answered) is int and answered > 0 else 0)


def _round(one: dict[str, Any], results: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """One answer of the model, and what its calls brought."""
    calls = [call for call in map(as_fields, entries_of(one, "toolCalls")) if call is not None]
    yield from _answer(text_of(one, "response"), [(text_of(call, "id"), call) for call in calls])
    for call in calls:
        name = text_of(call, "id")
        result = as_fields(results.get(name))
        if result is not None:
            yield {"role": "tool", "tool_call_id": name, "content": _content(entries_of(result, "content"))}


def _answer(text: str, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    told = [
        {
            "id": name,
            "type": "function",
            "function": {"name": text_of(call, "name"), "arguments": call.get("arguments", "")},
        }
        for name, call in calls
    ]
    if text or told:
        yield {"role": "assistant", "content": text or None, **({"tool_calls": told} if told else {})}


def _content(parts: list[Any]) -> str | list[dict[str, str]]:
    """The words of a result: one text as it is, of several each as its block."""
    texts = [_words(as_fields(part) or {}) for part in parts]
    return "".join(texts) if len(texts) < 2 else [{"type": "text", "text": text} for text in texts]


def _words(part: dict[str, Any]) -> str:
    """A part's text; of a prompt in the form of a tree, the text that it is rendered to."""
    value = part.get("value")
    if isinstance(value, str):
        return value
    node = as_fields((as_fields(value) or {}).get("node"))
    if node is not None:
        return "".join(_node(node, _DEEPEST))
    return f"[{text_of(part, 'mimeType') or 'a part that is no text'}: not recorded]"


def _node(node: dict[str, Any], deepest: int) -> Iterator[str]:
    if node.get("type") == _TEXT_NODE or "text" in node:
        yield ("\n" if node.get("lineBreakBefore") else "") + text_of(node, "text")
    elif node.get("ctor") == _IMAGE_NODE:
        yield "<image>"
    elif deepest:
        for child in map(as_fields, entries_of(node, "children")):
            if child is not None:
                yield from _node(child, deepest - 1)


def _shown(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A turn of an agent that keeps no rounds, by what the chat shows of it."""
    response = request.get("response")
    parts = cast("list[Any]", response) if isinstance(response, list) else [response]
    said: list[str] = []
    for part in parts:
        fields = as_fields(part) or {"value": part}
        kind = text_of(fields, "kind")
        if kind in _MARKDOWN:
            said.append(_markdown(fields.get("content", fields.get("value"))))
        details = as_fields(fields.get("resultDetails"))
        if kind == "toolInvocationSerialized" and details is not None and details.get("output") is not None:
            name = text_of(fields, "toolCallId")
            call = {"name": text_of(fields, "toolId"), "arguments": text_of(details, "input")}
            yield from _answer("".join(said), [(name, call)])
            failed = {"status": "error"} if details.get("isError") is True else {}
            yield {"role": "tool", "tool_call_id": name, "content": _output(details["output"]), **failed}
            said = []
    yield from _answer("".join(said), [])


def _markdown(value: Any) -> str:
    return value if isinstance(value, str) else text_of(as_fields(value) or {}, "value")


def _output(output: Any) -> str | list[dict[str, str]]:
    if isinstance(output, str):
        return output
    parts = [as_fields(part) or {} for part in (cast("list[Any]", output) if isinstance(output, list) else [])]
    return _content([{**part, "value": None} if part.get("isText") is False else part for part in parts])


# Where they are.


def _folder(environ: Mapping[str, str], home: Path) -> Path:
    """What VS Code's own folders stand in, as its `userDataPath.ts` finds it."""
    named = environ.get("VSCODE_PORTABLE", "") or environ.get("VSCODE_APPDATA", "")
    if named:
        return Path(named)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA", "") or home / "AppData" / "Roaming")
    return Path(environ.get("XDG_CONFIG_HOME", "") or home / ".config")


def _project(file: Path) -> str:
    """The folder that is open in the session's window; empty where its workspace is not on this machine."""
    try:
        told = as_fields(decode((file.parent.parent / "workspace.json").read_bytes())) or {}
        address = urlsplit(text_of(told, "folder") or text_of(told, "workspace"))
    except (OSError, InputError, ValueError):
        return ""
    path = unquote(address.path) if address.scheme == "file" else ""
    path = path[1:] if path[2:3] == ":" else path  # /c:/…
    return path if text_of(told, "folder") else path.rpartition("/")[0]


_ROOTS = ("Code*/User", "VSCodium*/User", "user-data/User")
_PLACES = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
VSCODE = Recorder(
    host="vscode",
    folder=_folder,
    roots=_ROOTS,
    patterns=tuple(f"{root}/{place}/*.{end}" for root in _ROOTS for place in _PLACES for end in ("json", "jsonl")),
    read=read,
    project=_project,
    at_once=True,
    set_by="VSCODE_APPDATA to the folder that `Code` is in",
)

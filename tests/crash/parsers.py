"""Every parser of what comes from outside, as a call of its own, and whole texts of its form to damage."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from palimpsest_mcp.cli.statusline import status_line
from palimpsest_mcp.core.claude_code.events import tool_response
from palimpsest_mcp.core.exchange import Reading
from palimpsest_mcp.digest.readers import PROSE, READERS
from palimpsest_mcp.errors import PalimpsestError
from palimpsest_mcp.experience.document import read_document
from palimpsest_mcp.experience.events import read_line, sighting_of
from palimpsest_mcp.hosts import codex, gemini
from palimpsest_mcp.hosts.detect import parse_value, read_session
from palimpsest_mcp.hosts.hook_call import read_call
from palimpsest_mcp.memory.handoff import markdown as handoffs
from palimpsest_mcp.memory.summary.sections import from_markdown as summary_from_markdown
from palimpsest_mcp.models.events import Event, SessionInfo
from palimpsest_mcp.models.records import OffloadRecord
from palimpsest_mcp.server import transport
from palimpsest_mcp.store.flaws import read_witness
from palimpsest_mcp.store.home import encoded, witness_of
from palimpsest_mcp.store.score import parse as parse_query
from palimpsest_mcp.store.segments import Reader, encode, settled
from palimpsest_mcp.testing.contract_values import S1, info_of, record, seen
from palimpsest_mcp.text.redaction.rules import read_rules
from palimpsest_mcp.text.specifics.registry import DefaultRegistry

_EVENTS: Reader[Event] = Reader(Event)
_RECORDS: Reader[OffloadRecord] = Reader(OffloadRecord)
_INFOS: Reader[SessionInfo] = Reader(SessionInfo)
_REGISTRY = DefaultRegistry()


class Parser(NamedTuple):
    """What reads a form, and texts of it; anything but a value or one of our errors escapes `read`."""

    read: Callable[[str], object]
    samples: tuple[str, ...]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _messages(text: str) -> None:
    with suppress(ValueError, RecursionError):
        value: Any = json.loads(text)
        with suppress(PalimpsestError):
            parse_value(value)


def _file(text: str) -> None:
    with suppress(PalimpsestError):
        read_session(_bytes(text))


def _recorded(text: str) -> None:
    for host in (codex, gemini):
        with suppress(PalimpsestError):
            host.read(_bytes(text))


def _segment(text: str) -> None:
    for line in settled(_bytes(text), 0)[0]:
        for reader in (_EVENTS, _RECORDS, _INFOS):
            with suppress(ValueError):
                reader.decode(line.raw)


def _sealed(line: str) -> bytes:
    """With a checksum that fits, or nothing behind it would be reached."""
    body = _bytes(line.split(',"_c":"')[0].removesuffix("}"))
    return b'%s,"_c":"%08x"}' % (body, zlib.crc32(body))


def _exchange(text: str) -> None:
    reading = Reading("")
    with suppress(PalimpsestError):
        for line in text.split("\n"):
            reading.take(_sealed(line))
        reading.done()


def _witness(text: str) -> None:
    for data in (_bytes(text), _sealed(text) + b"\n"):
        read_witness(data)


def _digest(text: str) -> None:
    """Each reader goes down the text by itself: it reads what it claims, and goes on behind it."""
    lines = text.split("\n")
    for reader in (*READERS, PROSE):
        at = 0
        while at < len(lines):
            end = reader.claims(lines, at)
            if end > at:
                reader.read(lines[at:end])
            at = max(end, at + 1)


def _experience(text: str) -> None:
    for line in text.split("\n"):
        read_line(_bytes(line))
    with suppress(ValueError, RecursionError):
        value: Any = json.loads(text)
        if isinstance(value, dict):
            sighting_of(value)  # pyright: ignore[reportUnknownArgumentType]


def _hook(text: str) -> None:
    tool_response(read_call("PostToolUse", text))
    with suppress(ValueError, RecursionError):
        tool_response(read_call("", json.loads(text)))


def _status_line(text: str) -> None:
    with suppress(ValueError, RecursionError):
        value: Any = json.loads(text)
        if isinstance(value, dict):
            status_line(value, {}, "/nowhere")  # pyright: ignore[reportUnknownArgumentType]


def _learnt(text: str) -> None:
    read_document(text, "search-x", {})


def _request(text: str) -> None:
    transport.read_line(text.replace("\n", " "))


def _summary(text: str) -> None:
    with suppress(ValueError):
        summary_from_markdown(text)


def _handoff(text: str) -> None:
    with suppress(ValueError, PalimpsestError):
        handoffs.from_markdown(text)


def _rules(text: str) -> None:
    with suppress(PalimpsestError):
        read_rules(text.encode("utf-8", "replace").decode(), "rules.toml")


ANTHROPIC = json.dumps(
    [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"c": "ls"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py b.py"}]},
    ]
)
_CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
OPENAI = json.dumps(
    [
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "tool_calls": [_CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
    ]
)
RESPONSES = json.dumps(
    [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Why?"}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
        {"type": "function_call_output", "call_id": "c1", "output": "a.py"},
    ]
)
_ROW = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "isSidechain": False}
TRANSCRIPT = "\n".join(
    json.dumps({**_ROW, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "message": one})
    for n, one in enumerate(json.loads(ANTHROPIC))
)
_TOKENS = {"last_token_usage": {"total_tokens": 7}, "model_context_window": 9}
CODEX = "\n".join(
    json.dumps({"timestamp": "2026-11-23T10:00:00Z", "type": kind, "payload": payload})
    for kind, payload in (
        ("session_meta", {"id": "s", "cwd": "/p"}),
        ("response_item", json.loads(RESPONSES)[1]),
        ("event_msg", {"type": "token_count", "info": _TOKENS}),
        ("compacted", {"message": "so far", "replacement_history": json.loads(RESPONSES)}),
    )
)
_GEMINI: tuple[dict[str, Any], ...] = (
    {"sessionId": "s", "directories": ["/p"]},
    {"id": "m1", "type": "user", "content": "Why?"},
    {"id": "m2", "type": "gemini", "content": "x", "toolCalls": [{"id": "c", "name": "f", "args": {}}]},
    {"$set": {"messages": [{"id": "m1", "type": "user", "content": [{"text": "Why?"}]}]}},
    {"$rewindTo": "m2"},
)
GEMINI = "\n".join(map(json.dumps, _GEMINI))
SEGMENT = (encode(seen(1, "text")) + encode(record("offload_0001")) + encode(info_of(S1))).decode()
_SESSION: dict[str, Any] = {
    "session": json.loads(encode(info_of(S1))),
    "events": 1,
    "records": 1,
    "summary": None,
    "purged": [],
}
EXCHANGE = "\n".join(
    (
        '{"exchange":1,"sessions":1}',
        json.dumps(_SESSION),
        *(encode(seen(1, "text")) + encode(record("offload_0001"))).decode().splitlines(),
        '{"lines":4,"sha256":"0"}',
    )
)
SUMMARY = "# Session Summary\n\n## Session Intent\nMend it.\n\n## Decisions Made\n- keep a\n\n## Next Steps\n1. go\n"
HANDOFF = "# Handoff: x\n\n- Date: 2026-11-23\n- Phase: research\n\n## In Progress\n- it\n\n## Next Steps\n- go\n"
EVENT = json.dumps({"ts": "2026-11-23T10:00:00Z", "outcome": "success", "metrics": {"yield": 3, "relevant": 2}})
LEARNT = (
    "# search-x experience\n\n## Winning patterns\n\n- use the api (success 3, seen=3, last=2026-11-20) <!-- r1 -->\n\n"
    "## Avoid\n- a\n\n## Last compacted\n2026-11-23\n"
)
HOOK = json.dumps({"session_id": "s", "tool_name": "Bash", "tool_input": "{}", "tool_response": '{"stdout": "x"}'})
STATUS = json.dumps(
    {"session_id": "s", "context_window": {"context_window_size": 9, "current_usage": {"input_tokens": 3}}}
)
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "status", "arguments": {}}})
RULES = (
    "[extend]\nuseDefault = true\n[[rules]]\n"
    'id = "x"\nregex = \'a(b+)c\'\nsecretGroup = 1\nkeywords = ["a"]\nentropy = 2.5\n'
)

TEXTS = (
    "code,name,pct\nE42,harbour,3.5%\nE43,quay,7 %\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nERROR x.py:3: no\nkey: v\n",
    '[{"id": 1, "name": "x", "tags": ["a"]},\n {"id": 2, "name": "y", "tags": []}]\n{"a": {"b": null}}\n',
    "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@ def f():\n-old\n+new\n same\n",
    "tests/test_a.py .F.   [100%]\n\n    def test_sum():\n>       assert 3 == 4\nE       assert 3 == 4\n"
    "tests/test_a.py:9: AssertionError\nFAILED tests/test_a.py::test_sum - assert\n== 1 failed, 2 passed in 0.02s ==\n",
    'Traceback (most recent call last):\n  File "/app/a.py", line 9, in f\n    g(1)\nValueError: no\n',
    "src/a.py\n12:x = f(1)\n19-y\nsrc/b.ts:3:let z = 1\n\n1. A title\n   https://x.org/a\n   A snippet of it.\n",
    "total 8\n-rw-r--r-- 1 u g 12 Nov 23 10:00 a.txt\ndrwxr-xr-x 2 u g 40 Nov 23 10:00 b\nsrc/\n├── a.py\n└── b/\n",
    "2026-11-23T10:00:00Z INFO a started in 3 ms\n2026-11-23T10:00:01Z ERROR b failed: code=7\n[W] c: 9%\n",
    "NAME     READY  AGE\nweb-1    1/1    3d\nweb-22   0/1    19h\n\n"
    "+---+---+\n| a | b |\n+---+---+\n| 1 | 2 |\n+---+---+\n",
    "a:\n  - b: 1\n    c: [x, 'y']\n  - b: 2\nd: |\n  text\n[section]\nkey = \"v\"\n; note\n",
    "<html><body><h1>T</h1><table><tr><th>a<th>b<tr><td>1<td>2</table><ul><li>x<li>y</ul><p>Z &amp; q</body>\n",
    '{"cells": [{"cell_type": "code", "source": ["x = 1\\n"], "outputs": [{"text": ["1"]}]}], "nbformat": 4}\n',
    "     1\timport os\n     2\t\n     3\tclass A:\n     4\t    def f(self, x):\n     5\t        return x\n",
    "# Title\n\nIt costs 3.5 EUR, not 4. See https://x.org/a.\n\n- one\n- two\n\n## Next\nWrote 12 files (v1.2.3).\n",
)
"""One or more for each reader of the digest."""

PARSERS: dict[str, Parser] = {
    "anthropic messages": Parser(_messages, (ANTHROPIC,)),
    "openai messages": Parser(_messages, (OPENAI, RESPONSES)),
    "session file": Parser(_file, (ANTHROPIC, OPENAI, RESPONSES)),
    "transcript": Parser(_file, (TRANSCRIPT,)),
    "other hosts' sessions": Parser(_recorded, (CODEX, GEMINI)),
    "segment": Parser(_segment, (SEGMENT,)),
    "witness": Parser(_witness, (encoded(witness_of(b"a line\n")).decode(),)),
    "export": Parser(_exchange, (EXCHANGE,)),
    "experience": Parser(_experience, (EVENT,)),
    "experience digest": Parser(_learnt, (LEARNT,)),
    "hook": Parser(_hook, (HOOK,)),
    "status line": Parser(_status_line, (STATUS,)),
    "requests": Parser(_request, (CALL,)),
    "summary": Parser(_summary, (SUMMARY,)),
    "handoff": Parser(_handoff, (HANDOFF,)),
    "query": Parser(parse_query, ('NEAR(a b) "phrase x" col:y* -z 単語',)),
    "redaction rules": Parser(_rules, (RULES,)),
    "specifics": Parser(_REGISTRY.spans, TEXTS),
    "digest readers": Parser(_digest, TEXTS),
}

"""The shared sessions, where they are at hand: one by one, and put together to a million tokens."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import BUILD, CHECKOUT, Skipped

MILLION = 1_000_000


@dataclass(frozen=True)
class RealSession:
    """One session of a file."""

    file: Path
    line: int
    messages: list[dict[str, Any]]
    system: str
    meta: dict[str, Any]
    """What its source recorded besides: usage, compactions, gold actions."""

    @property
    def name(self) -> str:
        return f"{self.file.name.split('.')[0]}:{self.line}"


def shared_folder() -> Path:
    """Raises Skipped where the sessions are not at hand."""
    folder = Path(os.environ.get("TEST_SHARED", CHECKOUT.parent / "shared"))
    if not (folder / "data" / "converted").is_dir():
        raise Skipped("no shared sessions beside the checkout; TEST_SHARED names their folder")
    return folder


def sessions(only: str = "") -> Iterator[RealSession]:
    """All sessions by file and line; `only` is the beginning of a file's name."""
    for file in sorted((shared_folder() / "data" / "converted").glob(f"{only}*.jsonl.gz")):
        with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
            for number, line in enumerate(lines, start=1):
                value = json.loads(line)
                yield RealSession(file, number, value["messages"], value.get("system") or "", value.get("meta") or {})


def million_token_session() -> Path:
    """Distinct sessions one after the other up to a million o200k tokens, as one message list in a file.

    Call ids get the number of their session, so that they stay unique; nothing is repeated, since repeated text would
    be counted once and make the session cheaper than its size says.
    """
    path = BUILD / "session_1m.json"
    if path.exists():
        return path
    from palimpsest_mcp.text.tokens.count import load_vocabulary

    encode = load_vocabulary().encode
    if encode is None:
        raise Skipped("no vocabulary to count with: see `palimpsest-mcp doctor`")
    messages: list[dict[str, Any]] = []
    tokens = 0
    for number, session in enumerate(sorted(sessions(), key=lambda one: -len(str(one.messages)))):
        messages += [renamed(message, number) for message in session.messages]
        tokens += sum(len(encode(text)) for text in texts(session.messages))
        if tokens > MILLION:
            break
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(messages, ensure_ascii=False), encoding="utf-8", errors="surrogatepass")
    return path


def texts(messages: list[dict[str, Any]]) -> Iterator[str]:
    """What a model reads of a session: texts, results, and the arguments of calls."""
    for message in messages:
        content = message["content"]
        for block in [{"text": content}] if isinstance(content, str) else content:
            inner = block.get("text") or block.get("thinking") or block.get("content") or block.get("input") or ""
            yield inner if isinstance(inner, str) else json.dumps(inner, ensure_ascii=False)


def renamed(message: dict[str, Any], number: int) -> dict[str, Any]:
    """The message with its call ids made unique to the session's number."""
    if isinstance(message["content"], str):
        return message
    blocks: list[dict[str, Any]] = []
    for block in message["content"]:
        changed = dict(block)
        for key in ("id", "tool_use_id"):
            if isinstance(changed.get(key), str):
                changed[key] = f"s{number}_{changed[key]}"
        blocks.append(changed)
    return {**message, "content": blocks}

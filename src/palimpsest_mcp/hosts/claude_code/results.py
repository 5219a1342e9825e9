"""Tool results as hooks of Claude Code hand them over, and as its transcript writes them down afterwards.

Shapes of client 2.1.328: Bash and Read answer with an object of their own, an MCP tool with a string or text blocks.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import Any, Literal, cast

import msgspec

from ...models.items import Content, content_text
from ..hook_call import is_binary, only_text
from ..json_bytes import decode
from ..pieces import as_fields, text_of

Tool = Literal["bash", "read", "mcp"]

_LEADING_BLANK_LINES = re.compile(r"\A(?:[ \t]*\n)+")
_SPILLED = re.compile(
    r"Error: result \([\d,]+ characters(?: across [\d,]+ lines)?\) exceeds maximum allowed tokens\. "
    r"Output has been saved to (\S[^\n]*?\.(?:txt|json))\.?\s*$",
    re.MULTILINE,
)
"""What stands in the place of an MCP result that is too long, with the file that has all of it."""
_BASH_NOTES = ("returnCodeInterpretation", "backgroundTaskId")
"""Keys that say something of their own; the others of Bash's object only speak of its output."""
MOST_BYTES = 1_000_000
"""A longer result is left to the host: its digest would take longer than a hook has."""
_MOST_CHARACTERS = {"bash": 25_000, "read": 45_000, "mcp": 45_000}


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """A textual result of a tool whose shape we know."""

    tool: Tool
    response: Any
    """As the hook gave it."""
    content: Content
    """What the tool gave: Bash's output, the lines that Read read, an MCP tool's string or blocks."""
    spilled_to: str = ""
    """File in which the client put the whole result, where it gave less of it."""
    target: str = ""
    """File that was read."""
    transcript_path: str = ""
    """Of the session; beside it is the folder in which the client puts whole results."""

    @property
    def most_characters(self) -> int:
        """A longer replacement would be put into a file by the client in its turn."""
        return _MOST_CHARACTERS[self.tool]

    @property
    def beside(self) -> str:
        """A line for the model beside a digest of it."""
        if self.tool != "read":
            return ""
        return "Palimpsest: the line numbers before this digest are the digest's own, not those of the file."

    def whole(self) -> Content | None:
        """All of it, from the file that the client put it into if there is one; None where that cannot be had."""
        if not self.spilled_to:
            return self.content
        path = Path(self.spilled_to)
        try:
            # Words of a tool must not make us read another file than one of the client's own.
            folder = Path(spill_folder(self.transcript_path)) if self.transcript_path else None
            if folder is None or path.resolve(strict=True).parent != folder.resolve():
                return None
            if not path.is_file() or path.stat().st_size > MOST_BYTES:
                return None
            data = path.read_bytes()
            text = data.decode("utf-8")
        except (OSError, ValueError):
            return None
        blocks = _blocks(data) if path.suffix == ".json" else None
        return None if is_binary(text) else blocks or text

    @property
    def wire(self) -> str:
        """The text of it as the transcript's row will have it."""
        return self.as_row(content_text(self.content))

    def as_row(self, text: str) -> str:
        """How a text in the place of the content will stand in the transcript's row."""
        if self.tool == "read":
            first = _number(_file(self.response).get("startLine"), 1)
            return "\n".join(f"{number}\t{line}" for number, line in enumerate(text.split("\n"), first))
        if self.tool == "bash":
            said = (_LEADING_BLANK_LINES.sub("", text).rstrip(), text_of(_fields(self.response), "stderr").strip())
            return "\n".join(part for part in said if part)
        return text

    def with_text(self, text: str) -> Any:
        """The response with another text, in the tool's own shape: the client ignores any other without a word."""
        if self.tool == "bash":
            fields = _fields(self.response)
            return {
                "stdout": text,
                "stderr": text_of(fields, "stderr"),
                "interrupted": fields.get("interrupted") is True,
                "isImage": False,
                **{key: fields[key] for key in _BASH_NOTES if fields.get(key)},
            }
        if self.tool == "read":
            lines = text.count("\n") + 1
            return {"type": "text", "file": {**_file(self.response), "content": text, "numLines": lines}}
        return [{"type": "text", "text": text}] if isinstance(self.response, list) else text


def result_of(tool_name: str, response: Any, transcript_path: str = "") -> ToolResult | None:
    """A hook's `tool_response`; None for another tool, an image, an interrupted command, or bytes that are no text.

    Args:
        transcript_path: of the session, where the client may have put the whole of a long result into a file.
    """
    found: ToolResult | None = None
    if tool_name == "Bash":
        found = _bash(response)
    elif tool_name == "Read":
        found = _read(response)
    elif tool_name.startswith("mcp__"):
        found = _mcp(response)
    if found is None or is_binary(content_text(found.content)):
        return None
    return msgspec.structs.replace(found, transcript_path=transcript_path) if transcript_path else found


def spill_folder(transcript_path: str) -> str:
    """The folder beside a transcript in which the client puts whole results."""
    path = PurePath(transcript_path)
    return str(path.with_suffix("") / "tool-results")


def _blocks(data: bytes) -> Content | None:
    """The text blocks that a file of the client's holds."""
    try:
        found = _mcp(decode(data))
    except ValueError:
        return None
    return found.content if found is not None and isinstance(found.content, list) else None


def _bash(response: Any) -> ToolResult | None:
    fields = as_fields(response)
    if fields is None or not isinstance(fields.get("stdout"), str):
        return None
    if fields.get("isImage") is True or fields.get("interrupted") is True:
        return None
    return ToolResult(
        tool="bash",
        response=fields,
        content=text_of(fields, "stdout"),
        spilled_to=text_of(fields, "persistedOutputPath"),
    )


def _read(response: Any) -> ToolResult | None:
    fields = as_fields(response)
    if fields is None or fields.get("type") != "text" or not isinstance(_file(fields).get("content"), str):
        return None
    told = _file(fields)
    return ToolResult(tool="read", response=fields, content=text_of(told, "content"), target=text_of(told, "filePath"))


def _mcp(response: Any) -> ToolResult | None:
    if isinstance(response, str):
        spilled = _SPILLED.search(response[:4_000])
        return ToolResult(
            tool="mcp", response=response, content=response, spilled_to=spilled[1] if spilled is not None else ""
        )
    if not isinstance(response, list) or not response:
        return None
    if not only_text(cast("list[Any]", response)):
        return None  # an image, a resource, a block with annotations: what cannot be given back as it was is left alone
    return ToolResult(tool="mcp", response=response, content=cast("list[Any]", response))


def _file(response: Any) -> dict[str, Any]:
    return as_fields(_fields(response).get("file")) or {}


def _fields(response: Any) -> dict[str, Any]:
    return as_fields(response) or {}


def _number(value: Any, otherwise: int) -> int:
    return value if type(value) is int else otherwise

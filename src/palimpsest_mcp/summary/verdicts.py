"""What an editing tool says came of a call, where the host does not mark it: done, or refused.

The words are those of Claude Code, Anthropic's text editor, OpenHands, SWE-agent, Codex, pi, Gemini CLI, Cline, Copilot
and Aider, as their sessions show them. Tools print pieces of files after their verdict, so only its first lines count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

_VERDICT = 400
"""Characters in which a verdict stands."""
_WRAPPER = re.compile(r"\s*<(?:tool_use_error|error)>", re.IGNORECASE)
_EXIT = re.compile(
    r"^\W*(?:process |command |the command )?(?:exited|finished|completed)?(?: with)?\s*exit(?:ed)?(?: with)?(?: exit)?"
    r"[ _-]?(?:code|status)\W{1,4}(\d{1,5})\b",
    re.IGNORECASE | re.MULTILINE,
)
_UNDONE = re.compile(
    r"\bnot (?:been )?(?:successful|successfully|applied|written|saved|updated|changed|edited|created|made)\b"
    r"|\bun(?:successful|changed)|\bmodified since\b"
    r"|\bno (?:changes?|replacements?|edits?)\b|\bfail(?:ed|ure|s)?\b|\brefus|\breject"
    r"|\b0 (?:edits|replacements|changes|occurrences|files)\b|\bcould ?n[o']t\b|\bcannot\b|\bcan't\b|\bunable to\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"^[^\w\n]{0,8}(?:ok\b|done\b|success|edited\b|updated\b|replaced\b|applied\b|wrote\b|created\b|saved\b|written\b"
    r"|inserted\b|deleted\b|patched\b|modified\b|(?:the )?(?:file|notebook|cell|patch|content)\b.{0,300}?"
    r"\b(?:has been|have been|was|were|created|updated|edited|written|saved|applied|successfully)\b)|\bsuccessfully\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"^\W*(?:<error>|\[?error\b\]?\s*[:(\]-]|fatal:|traceback \(most recent|exception\b"
    r"|(?:\w+\.)*\w*(?:Error|Exception):)"
    r"|\bstring to (?:replace|find) (?:was )?not found|\bno replacement was performed"
    r"|\bno (?:replacement|edit)s? (?:was|were) |\bno match(?:es|ing)?\b"
    r"|\bno changes? (?:(?:was|were) )?(?:made|applied|needed|to make|detected)"
    r"|\b(?:could|did|can|does|do|was|were|is|are|has|have)(?: not|n't)\b.{0,60}"
    r"\b(?:find|found|match|appear|exist|locate|contain|read|unique|appl(?:y|ied)|writ(?:e|ten)|edit|open|access|parse"
    r"|allowed)"
    r"|\bcannot (?:find|edit|write|open|apply|create|read|access|locate|modify|update|overwrite|be)"
    r"|\bunable to (?:find|edit|write|open|apply|create|read|access|locate|modify|update)"
    r"|\bfailed (?:to|with|in|at|because)\b"
    r"|\b(?:patch|edit|write|hunk|verification|replacement|update|search|diff)\b.{0,40} failed"
    r"|\bfound (?:\d+|multiple) (?:matches|occurrences)|\bmultiple (?:matches|occurrences)"
    r"|\bnot unique\b|\bmust be unique|\b(?:are|is) (?:exactly )?(?:the same|identical)\b|\bidentical content"
    r"|\bnot been read\b|\bmodified since\b|\bno such file|\bpermission denied|\bis a directory|\bread-only\b"
    r"|\bpermission to\b.{0,80}\b(?:denied|not)|\balready exists\b|\bran into\b|\berrno\b"
    r"|\bE(?:NOENT|ACCES|ISDIR|ROFS|PERM|EXIST)\b|\btool_use_error\b|\bInputValidationError"
    r"|\binvalid (?:\S{1,40} )?(?:patch|context|params|parameter|argument|input|edit|diff|path|hunk|json)"
    r"|\b(?:malformed|corrupt) (?:patch|diff)|\bdoes not apply\b|\bmissing required\b|\bnot allowed\b"
    r"|\bout of range\b",
    re.IGNORECASE | re.DOTALL,
)
BY_USER = re.compile(
    r"\b(?:user (?:doesn't|does not|didn't|did not) (?:want|allow|approve)"
    r"|user (?:has )?(?:rejected|denied|declined|refused|cancell?ed)"
    r"|(?:rejected|denied|declined|cancell?ed|aborted|interrupted|refused) by (?:the )?user"
    r"|tool use was rejected|request interrupted|operation cancelled|command aborted"
    r"|(?:haven't|hasn't|has not|have not) (?:been )?granted)",
    re.IGNORECASE,
)
"""A person said no."""


def edit_failed(text: str) -> bool:
    """Whether the result of an editing tool says that nothing was changed. What says neither is taken as done: many
    tools answer with the new text, and others with nothing."""
    fields = _fields(text)
    if fields is not None:
        return _says_so(fields)
    if _WRAPPER.match(text):
        return True
    head = text.lstrip()[:_VERDICT]
    if code := _EXIT.match(head):
        return int(code[1]) != 0
    first = head.split("\n", 1)[0]
    if BY_USER.search(head):
        return _DONE.search(first) is None or _UNDONE.search(first) is not None
    if _DONE.search(first) and not _UNDONE.search(first):
        return False
    return _REFUSED.search("\n".join(head.split("\n")[:2])) is not None


def _fields(text: str) -> Mapping[str, Any] | None:
    """The object that a result is, where it is one: Codex and most MCP servers answer so."""
    if not text.lstrip().startswith("{") or len(text) > 1_000_000:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else None


def _says_so(fields: Mapping[str, Any]) -> bool:
    meta = fields.get("metadata")
    inner = cast("dict[str, Any]", meta if isinstance(meta, dict) else {})
    for code in (inner.get("exit_code"), fields.get("exit_code"), fields.get("exitCode"), fields.get("returncode")):
        if isinstance(code, int):
            return code != 0
    for name in ("success", "ok", "applied", "accepted"):
        if isinstance(fields.get(name), bool):
            return not fields[name]
    if fields.get("is_error") is True or fields.get("isError") is True or fields.get("error"):
        return True
    status = fields.get("status")
    if isinstance(status, str) and status.lower() in ("error", "failed", "failure", "rejected", "denied", "declined"):
        return True
    words = (fields.get(key) for key in ("output", "message", "result", "text"))
    said = next((word for word in words if isinstance(word, str)), "")
    return bool(said) and not said.lstrip().startswith("{") and edit_failed(said)


__all__ = ["BY_USER", "edit_failed"]

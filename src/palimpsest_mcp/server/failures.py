"""Failures as a model may read them: `{code, message, next}` in a ToolError, and never a stored word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from ..errors import PalimpsestError, SessionUnknown
from ..models.advice import in_form, tool_call
from ..models.tools import TOOLS

LONGEST_CALL = 400
"""Characters of a call that an error repeats."""


def failure(code: str, message: str, next: str) -> ToolError:
    """The one form of every failure."""
    return ToolError(json.dumps({"code": code, "message": message, "next": next}, ensure_ascii=False))


def known_failure(error: PalimpsestError, tool: str = "", arguments: Mapping[str, Any] | None = None) -> ToolError:
    """One of ours; its next step is a call that the agent can make, or what to ask its user for."""
    next = in_form(error.next, "tool")
    if isinstance(error, SessionUnknown) and error.near and tool:
        next = f"If so: {_again(tool, {**(arguments or {}), 'session_id': error.near[0]})}"
    elif error.for_user:
        next = f"Ask the user: {next}"
    return failure(error.code, error.message, next)


def _again(tool: str, arguments: Mapping[str, Any]) -> str:
    """The same call; where its arguments are long, only that which changed."""
    call = tool_call(tool, arguments)
    if len(call) <= LONGEST_CALL:
        return call
    return f'{tool} again with "session_id": "{arguments["session_id"]}" and the other arguments as they were'


def wrong_arguments(tool: str, error: ValidationError) -> ToolError:
    """Names the arguments, what they should be, and the number that came; a text may hold anything."""
    faults = (
        f"{'.'.join(str(step) for step in fault['loc']) or 'arguments'}: {fault['msg']}{_came(fault)}"
        for fault in error.errors(include_url=False, include_context=False)
    )
    return failure("invalid_argument", "; ".join(faults) + ".", f"A correct call: {tool} {TOOLS[tool].example}")


def _came(fault: Any) -> str:
    value = fault["input"]
    return f", not {json.dumps(value)}" if len(fault["loc"]) == 1 and isinstance(value, (int, float)) else ""


def unknown_arguments(tool: str, unknown: list[str], known: list[str]) -> ToolError:
    """An argument that would be ignored could be the one that mattered (`dryrun`)."""
    return failure(
        "invalid_argument",
        f"{tool} has no argument {', '.join(unknown)}.",
        f"Use only {', '.join(known)}. A correct call: {tool} {TOOLS[tool].example}",
    )


def unexpected_failure(tool: str, error: BaseException) -> ToolError:
    """What nobody foresaw: its kind only, since its text may quote what is stored."""
    return failure(
        "internal_error",
        f"{tool} failed in a way it should not ({type(error).__name__}); nothing that was acknowledged is lost.",
        "Try once more. If it stays, start the server with PALIMPSEST_LOG_LEVEL=debug and report what its stderr says.",
    )

"""What a caller can do next, in the form that this caller can take: a command, a tool call, or a call of the library.

Whoever advises names the step by its tool or method and gives its arguments; `COMMANDS` alone knows how each step is
typed. A step that has no tool is one for the user of an agent, and is told so.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .tools import TOOLS

Face: TypeAlias = Literal["command", "tool", "call"]
"""The command line, the MCP server, the library."""

PROGRAM = "palimpsest-mcp"
COMMANDS: Mapping[str, tuple[str, ...]] = {
    **{tool.name: tool.command for tool in TOOLS.values() if tool.command},
    "restore_all": ("restore", "{session_id}", "--all", "--out {out}"),
    "handoffs": ("handoff", "list", "--project {project}"),
    "clean_handoffs": ("handoff", "clean", "--yes"),
    "experience_status": ("experience", "status"),
    "experience_show": ("experience", "show", "{skill}"),
    "experience_explain": ("experience", "explain", "{rule}"),
    "rewrite_session": ("rewrite", "{session_id}"),
    "undo": ("undo", "{session_id}", "--pass {number}"),
    "summary": ("summary", "{session_id}", "--full"),
    "sessions": ("sessions",),
    "verify": ("verify",),
    "migrate": ("migrate",),
    "repair": ("repair", "{session_id}"),
    "repair_now": ("repair", "{session_id}", "--yes"),
    "record_again": ("compact", "{path}", "--session {session_id}", "--force", "--keep-last", "-1"),
    "doctor": ("doctor",),
}
"""The words of each step's command; a word whose argument is not given is left out."""


@dataclass(frozen=True)
class Step:
    """One step: the name of its tool, or of the library's method, and its arguments by name."""

    name: str
    given: tuple[tuple[str, str | int | bool], ...] = ()

    def worded(self, face: Face, home: str = "") -> str:
        """The step as the face has it; a command between backticks.

        Args:
            home: the store that a command must name, since it is not the one that it would find.
        """
        if face == "tool" and self.name in TOOLS:
            return tool_call(self.name, dict(self.given))
        if face == "call" or self.name not in COMMANDS:
            return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.given)})"
        ask = "ask the user to run " if face == "tool" else ""
        return f"{ask}`{self.command(home)}`"

    def command(self, home: str = "") -> str:
        """The command line, quoted for a shell."""
        given = dict(self.given)
        words: list[str] = []
        for part in COMMANDS[self.name]:
            option, _, name = part.partition("{")
            if not name:
                words.append(part)
            elif (value := given.get(name.rstrip("}"))) not in (None, ""):
                words += [*option.split(), str(value)]
        return command_line(words, home)


@dataclass(frozen=True)
class Either:
    """Words that differ by face, such as the name of an option; each may be an `Advice`."""

    command: str
    tool: str
    call: str = ""

    def worded(self, face: Face, home: str = "") -> str:
        """The face's own words; the library's are the tool's unless it has others."""
        words = self.command if face == "command" else (face == "call" and self.call) or self.tool
        return in_form(words, face, home)


class Advice(str):
    """A next step as a sentence. As a string it is worded for the library; `in_form` words it for another face."""

    template: str
    parts: tuple[Step | Either, ...]

    def __new__(cls, template: str, *parts: Step | Either) -> Advice:
        """`template` has one `{}` a part."""
        self = super().__new__(cls, _filled(template, [part.worded("call") for part in parts]))
        self.template, self.parts = template, parts
        return self


def step(name: str, **given: str | int | bool) -> Step:
    """A step with its arguments."""
    return Step(name, tuple(given.items()))


def in_form(text: str, face: Face, home: str = "") -> str:
    """A next step as a face says it; other text as it is."""
    if not isinstance(text, Advice):
        return text
    return _filled(text.template, [part.worded(face, home) for part in text.parts])


def tool_call(name: str, arguments: Mapping[str, object]) -> str:
    """`restore_batch {"session_id": "s7f3k", "batch_id": "offload_0007"}`: a tool's name and arguments as JSON."""
    return f"{name} {json.dumps(arguments, ensure_ascii=False)}" if arguments else name


def command_line(words: list[str], home: str = "") -> str:
    """A command of this program as it is typed in a shell."""
    return shlex.join([PROGRAM, *(["--home", home] if home else []), *words])


def _filled(template: str, words: list[str]) -> str:
    pieces = template.split("{}")
    if len(pieces) != len(words) + 1:
        raise ValueError(f"{template!r} takes so many steps: {len(pieces) - 1}, not {len(words)}")
    return "".join(text for pair in zip(pieces, [*words, ""], strict=True) for text in pair)

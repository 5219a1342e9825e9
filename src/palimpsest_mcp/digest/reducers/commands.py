"""Lines that say nothing about what a text is: licences, copyright, commands that stand without a prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LEGAL = re.compile(
    r"\W*(?:SPDX-|copyright\b|\(c\) |©|licensed (?:under|to)\b|all rights reserved|permission is hereby granted"
    r"|under the .{0,20}licen[cs]e)",
    re.IGNORECASE,
)
_LICENCE = re.compile(
    r"\b(?:licen[cs]ed? (?:under|to|file)|(?:apache|mit|gnu|bsd) .{0,30}licen[cs]e|copyright)\b", re.IGNORECASE
)
_IN_COMMENT = re.compile(r"\s*+(?:[#*|;]|//|/\*|--|<!--|-->|$)|\s+\S")
LEGAL = -2.0
"""What a licence or copyright line tells: its values may stand in the ledger."""


def legal(text: str) -> bool:
    """A licence or copyright line: it says nothing about what the text is."""
    return _LEGAL.match(text) is not None


def legal_head(texts: Sequence[str]) -> int:
    """How many lines at the beginning are a licence text in a comment; 0 where there is none."""
    end = next((n for n, text in enumerate(texts) if n > 3 and not _IN_COMMENT.match(text)), 0)
    found = [n for n in range(min(end, 60)) if _LICENCE.search(texts[n])]
    if not found:
        return 0
    return next((n for n in range(found[-1], end) if "*/" in texts[n] or "-->" in texts[n]), found[-1]) + 1


# Which lines are commands that stand without a prompt, as install instructions print them.


_PROGRAM = re.compile(
    r"\s*+(?=[a-z.$\u276f])(?:sudo )?(?:"
    r"(?:pip3?|uvx?|pipx|poetry|conda|mamba|npm|yarn|pnpm|bun|deno|cargo|rustup|go|gh|gem|bundle|composer|brew|apt|apt-get"
    r"|dnf|yum|apk|dotnet|mvn|bazel|docker|podman|docker-compose|kubectl|helm|terraform|git|uv (?:pip|tool)"
    r"|python3? -m (?:pip|uv)|go mod|docker compose|npm run)"
    r" (?:install|i|add|remove|uninstall|update|upgrade|sync|lock|run|exec|build|test|bench|check|fmt|clippy|publish"
    r"|start|stop|up|down|ci|create|activate|get|tidy|clone|checkout|commit|push|pull|fetch|merge|rebase|reset|log|diff"
    r"|status|stash|tag|branch|submodule|apply|delete|describe|logs|plan|init|list|search|show|login|pr|issue|ps|images"
    r"|compile|package|restore|new|download|tap|-[A-Za-z-])"
    r"|(?:npx|node|python3?|pytest|tox|make|cmake|ninja|rake|gradle|\./gradlew|curl|wget|ssh|scp|rsync|chmod|mkdir"
    r"|source|cd) (?:-{1,2}[A-Za-z]|[^\s,;]*[./~$@:+][^\s,;])"
    r"|make [a-z][\w-]{1,20}(?=$|[ \t]+[A-Z_]+=)|export [A-Z_]{2,40}="
    r"|[$\u276f] \S)"
)
_PROSE = re.compile(r"[.,:;!?]\s*$|[a-z,][.,;:!?] [A-Za-z]|,? (?:and|or|to|the|is|was|with|which|that) [a-z]")
_LONGEST = 200


def is_command(text: str) -> bool:
    """A program behind which stands what only commands have, in a line that does not read as a sentence."""
    return len(text) <= _LONGEST and _PROGRAM.match(text) is not None and _PROSE.search(text) is None

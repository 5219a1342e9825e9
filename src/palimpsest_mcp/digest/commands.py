"""Which lines are commands that stand without a prompt, as install instructions print them."""

from __future__ import annotations

import re

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


__all__ = ["is_command"]

"""A user whose plugin talks to the probe instead of to our server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .driver import Client

COMMAND = "palimpsest-mcp"


@dataclass(frozen=True)
class Probe:
    """What the client asked of the probe, and what it is answered."""

    folder: Path

    def plan(self, answers: Mapping[str, str] | None = None) -> None:
        """Answers as text, by event or by event and source or tool: `SessionStart compact`, `PostToolUse Bash`."""
        (self.folder / "plan.json").write_text(json.dumps(dict(answers or {})), "utf-8")
        (self.folder / "calls.jsonl").write_bytes(b"")

    def calls(self, event: str = "") -> list[dict[str, Any]]:
        """What was asked, oldest first: `event`, `payload`, `environment`."""
        lines = (self.folder / "calls.jsonl").read_text("utf-8").splitlines()
        return [call for call in map(json.loads, lines) if not event or call["event"] == event]

    def payloads(self, event: str) -> list[dict[str, Any]]:
        return [call["payload"] for call in self.calls(event)]


def probe_of(client: Client) -> Probe:
    """Put the probe where the plugin of this user looks for the command."""
    folder = client.folder / "probe"
    folder.mkdir()
    script = folder / COMMAND
    server = Path(__file__).with_name("probe_server.py")
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{server}" "{folder}" "$@"\n', "utf-8")
    script.chmod(0o755)
    client.environment["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    probe = Probe(folder)
    probe.plan()
    return probe


def hook_output(event: str, **values: Any) -> str:
    """The JSON by which a hook answers."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **values}})

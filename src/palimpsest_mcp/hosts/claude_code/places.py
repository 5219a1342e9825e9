"""Where Claude Code keeps its sessions."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

# Where Claude Code keeps what is its own. Imports next to nothing: a status line has no time for more.


TYPE_CHECKING = False


CONFIG_FOLDER = "CLAUDE_CONFIG_DIR"
_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode",
    "win32": r"C:\Program Files\ClaudeCode",
}


def config_folder(environ: Mapping[str, str], home: str) -> str:
    """The client's folder of settings, transcripts and plugins."""
    return environ.get(CONFIG_FOLDER, "") or os.path.join(home, ".claude")


def global_file(environ: Mapping[str, str], home: str) -> str:
    """The client's own file of state, in which a user's MCP servers stand too."""
    return os.path.join(environ.get(CONFIG_FOLDER, "") or home, ".claude.json")


def settings_files(environ: Mapping[str, str], home: str, project: str) -> list[str]:
    """Files of settings, the weakest first; a project may be empty."""
    found = [os.path.join(config_folder(environ, home), "settings.json")]
    if project:
        found += [os.path.join(project, ".claude", name) for name in ("settings.json", "settings.local.json")]
    return [*found, os.path.join(_MANAGED.get(sys.platform, "/etc/claude-code"), "managed-settings.json")]


_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,127}")


def transcripts_of(session_id: str, environ: Mapping[str, str], home: Path) -> list[Path]:
    """Every transcript of a session's id, in whatever project; the newest first."""
    if not _ID.fullmatch(session_id):
        return []
    found = list((Path(config_folder(environ, str(home))) / "projects").glob(f"*/{session_id}.jsonl"))
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)

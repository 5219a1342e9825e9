"""Where Claude Code keeps what is its own. Imports next to nothing: a status line has no time for more."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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

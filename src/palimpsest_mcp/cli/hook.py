"""`hook EVENT` without the command line's own weight: a client waits for it at every start."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..core.claude_code.answers import end, is_noted, start
from ..errors import PalimpsestError
from ..hosts.claude_code.hooks import HookCall, read_call
from ..settings.places import home_folder, is_automatic
from ..store.host_files import HostFiles

HOST = "claude-code"


PATIENCE_S = 1.0
"""So long the end of a session is waited for. The client takes its hooks down about 1.5 s after its end (2.1.328), so
what takes longer goes on without it."""
APART = "--apart"


def hook_arguments(arguments: Sequence[str]) -> tuple[str, str | None] | None:
    """(event, home) of a plain `hook EVENT [--home FOLDER]`; None for any other, which the command line reads."""
    rest = [argument for argument in arguments if argument not in ("--json", APART)]
    home: str | None = None
    if "--home" in rest[:-1]:
        at = rest.index("--home")
        home = rest[at + 1]
        del rest[at : at + 2]
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest):
        return None
    return (rest[0] if rest else "", home)


def answer_hook(event: str, home: str | None, *, apart: bool = False) -> int:
    """Answer one event from stdin on stdout. Always 0: no failure of ours may break the client.

    Args:
        apart: this is the process that outlives the client.
    """
    folder = home_folder(home)
    try:
        data = sys.stdin.buffer.read()
        call = read_call(event, data.decode("utf-8", "replace"))
        call.fields.setdefault("client_pid", os.environ.get("CLAUDE_PID", ""))
        if call.event == "SessionEnd" and not apart:
            if is_automatic(folder):
                end(call, HostFiles(folder))  # at once: after `/clear` the new session's start asks for it
            _send_apart(call.event, folder, data)
            return 0
        text = _answer(call, folder)
    except PalimpsestError as error:
        HostFiles(folder).note_trouble(event, error.code, error.message)
        text = ""
    except BaseException as error:  # an interrupt too: the client is to go on
        HostFiles(folder).note_trouble(event, "internal_error", type(error).__name__)
        text = ""
    if text:
        sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _send_apart(event: str, folder: Path, data: bytes) -> None:
    """Have another process do it, in a session of its own, so that it lives on when the client takes its hooks down."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-m", "palimpsest_mcp", "hook", event, "--home", str(folder), APART],
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_S)


def _answer(call: HookCall, folder: Path) -> str:
    if call.event == "SessionStart":
        files = HostFiles(folder)
        if not is_automatic(folder):
            return ""
        text = start(call, files)
        session_id = call.session_id
        if not session_id or not files.is_known(session_id) or is_noted(session_id, files):
            return text
    import asyncio

    return asyncio.run(_by_the_store(call, folder))


async def _by_the_store(call: HookCall, folder: Path) -> str:
    from ..core.palimpsest import Palimpsest

    async with Palimpsest.open(folder, attached=HOST) as facade:
        return await facade.host_event(call.event, call.fields)

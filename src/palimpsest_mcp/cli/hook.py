"""`hook EVENT` without the command line's own weight: a client waits for it at every start."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..core.host_seam import CLAUDE_CODE, ROWS, QuickAnswers
from ..errors import PalimpsestError
from ..hosts.hook_call import HookCall
from ..settings.places import home_folder, is_automatic
from ..store.host_files import HostFiles

PATIENCE_S = 1.0
"""So long the end of a session is waited for. The client takes its hooks down about 1.5 s after its end (2.1.328), so
what takes longer goes on without it."""
APART = "--apart"


def hook_arguments(arguments: Sequence[str]) -> tuple[str, str | None, str] | None:
    """(event, home, host) of a plain `hook EVENT [--host HOST] [--home FOLDER]`; None for any other, which the command
    line reads."""
    rest = [argument for argument in arguments if argument not in ("--json", APART)]
    home, host = _taken(rest, "--home"), _taken(rest, "--host") or CLAUDE_CODE
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest) or _quick(host) is None:
        return None
    return (rest[0] if rest else "", home, host)


def _taken(rest: list[str], option: str) -> str | None:
    if option not in rest[:-1]:
        return None
    at = rest.index(option)
    value = rest[at + 1]
    del rest[at : at + 2]
    return value


def _quick(host: str) -> QuickAnswers | None:
    row = ROWS.get(host)
    return row.quick() if row is not None and row.quick is not None else None


def answer_hook(event: str, home: str | None, host: str = CLAUDE_CODE, *, apart: bool = False) -> int:
    """Answer one event from stdin on stdout. Always 0: no failure of ours may break the client.

    Args:
        host: one that `hook_arguments` lets through.
        apart: this is the process that outlives the client.
    """
    folder, quick = home_folder(home), _quick(host)
    if quick is None:
        return 0
    try:
        if sys.stdin.isatty():
            sys.stderr.write("waiting: a host gives its event as JSON on stdin; Ctrl-D ends it\n")
        data = sys.stdin.buffer.read()
        call = quick.read(event, data, os.environ)
        if quick.ends(call) and not apart:
            if is_automatic(folder):
                quick.end(call, HostFiles(folder))
            _send_apart(call.event, folder, data, host)
            return 0
        text = _answer(call, folder, host, quick)
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


def _send_apart(event: str, folder: Path, data: bytes, host: str) -> None:
    """Have another process do it, in a session of its own, so that it lives on when the client takes its hooks down."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        command = [sys.executable, "-m", "palimpsest_mcp", "hook", event, "--home", str(folder), "--host", host, APART]
        process = subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE_S)


def _answer(call: HookCall, folder: Path, host: str, quick: QuickAnswers) -> str:
    if (text := quick.at_once(call, HostFiles(folder), automatic=is_automatic(folder))) is not None:
        return text
    import asyncio

    return asyncio.run(_by_the_store(call, folder, host))


async def _by_the_store(call: HookCall, folder: Path, host: str) -> str:
    from ..core.palimpsest import Palimpsest

    async with Palimpsest.open(folder, attached=host) as facade:
        return await facade.host_event(call.event, call.fields)

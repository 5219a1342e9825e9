"""`demo`: the whole way on two bundled sessions, in a store of its own: compact, search, restore in a new process."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..models.advice import command_line
from ..models.text import counted
from .face import VERBOSE, Face, pass_face, shared_options
from .screen import fill, free_name, said_as_json, say, say_bar, say_fields

if TYPE_CHECKING:
    from ..core.palimpsest import Palimpsest
    from ..models.reports import Report
    from ..models.views import Hit

TARGET = 0.4


class Scene(msgspec.Struct, frozen=True):
    """One bundled session and what somebody later asks about it."""

    name: str
    title: str
    ask: str
    """What stands in an original and in nothing that stays."""


SCENES = (
    Scene("coding_session", "a coding session", "258014770"),
    Scene("research_session", "a research session with evidence", "LSA-2026-004"),
)


class Seen(msgspec.Struct, frozen=True):
    """What one scene showed."""

    scene: Scene
    report: Report
    hit: Hit
    exact: bool
    """The bytes from the new process are the bytes of the session."""
    size: int


@click.command()
@VERBOSE
@shared_options
@pass_face
def demo(face: Face, verbose: bool) -> int:
    """Compact two bundled sessions, find something that was left out, and restore it in a new process.

    Uses a temporary store, which is removed afterwards, unless --home names one.
    """
    start = time.perf_counter()
    with nullcontext(face.home) if face.home else tempfile.TemporaryDirectory(prefix="palimpsest-demo-") as home:
        kept, face.home = face.home, str(home)
        seen = [_play(face, scene, kept=bool(kept), verbose=verbose) for scene in SCENES]
    ok = all(one.exact for one in seen)
    if not said_as_json(face, {"ok": ok, "scenes": [_as_json(one) for one in seen]}):
        say(f"{'all exact' if ok else 'NOT EXACT'}, in {time.perf_counter() - start:.1f} s, without a network", "")
        _say_next(seen, kept)
    return 0 if ok else 1


def _play(face: Face, scene: Scene, *, kept: bool, verbose: bool) -> Seen:
    messages = json.loads((files("palimpsest_mcp") / "demo" / f"{scene.name}.json").read_bytes())
    report, hit = face.ask(lambda facade: _compact_and_search(facade, scene, messages))
    back = _restored_by_a_new_process(str(face.home), hit)
    original = _original(messages, hit.item_id)
    seen = Seen(scene, report, hit, back == original, len(original))
    if not face.as_json:
        _say_scene(face, seen, len(messages), kept=kept, verbose=verbose)
    return seen


def _say_scene(face: Face, seen: Seen, messages: int, *, kept: bool, verbose: bool) -> None:
    from .compact import say_report

    report, hit = seen.report, seen.hit
    say(f"{seen.scene.title}: {counted(messages, 'message')}")
    if verbose:
        say_report(report, face, kept=kept, verbose=True)
    else:
        say_bar("before ", report.before.ratio, fill(report.before), longest=len(fill(report.before)))
        say_bar("after  ", report.after.ratio, fill(report.after), longest=len(fill(report.before)))
        results, digests = sum(one.items for one in report.batches), len(report.batches)
        left = f"{report.specifics.left_out:,} of their {counted(report.specifics.total, 'specific')} left out"
        say_fields([("change ", f"{counted(results, 'tool result')} in {counted(digests, 'digest')}, {left}")])
    say_fields([("search ", f"{seen.scene.ask}, which no digest shows: found in {hit.batch_id} {hit.item_id}")])
    verdict = "equal to the original" if seen.exact else "NOT equal to the original"
    say_fields([("restore", f"by a new process: {counted(seen.size, 'byte')}, {verdict}")])
    say("")


async def _compact_and_search(facade: Palimpsest, scene: Scene, messages: list[Any]) -> tuple[Report, Hit]:
    result = await facade.compact_messages(messages, session_id=f"demo-{scene.name}", target=TARGET, force=True)
    hits = await facade.search_offloaded(scene.ask, session_id=result.report.session_id, limit=1)
    return result.report, hits[0]


def _restored_by_a_new_process(home: str, hit: Hit) -> bytes:
    command = [sys.executable, "-m", "palimpsest_mcp", "--home", home, "restore", hit.handle, hit.batch_id]
    return subprocess.run([*command, "--item", hit.item_id, "--raw"], check=True, capture_output=True).stdout


def _original(messages: list[Any], item_id: str) -> bytes:
    """The result with this call id in the bundled file, read by nothing of ours."""
    blocks = (block for message in messages if isinstance(message["content"], list) for block in message["content"])
    content = next(block["content"] for block in blocks if block.get("tool_use_id") == item_id)
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    return text.encode()


def _as_json(seen: Seen) -> dict[str, Any]:
    return {
        "scene": seen.scene.name,
        "report": seen.report.to_json(),
        "hit": seen.hit,
        "restored_bytes": seen.size,
        "exact": seen.exact,
    }


def _say_next(seen: list[Seen], kept: str | None) -> None:
    session = str(files("palimpsest_mcp.demo") / f"{SCENES[0].name}.json")
    say("next, with this session or a file of your own:")
    say("  what would leave, and what stays:", f"      {command_line(['compact', session, '--force', '--dry-run'])}")
    out = ["--out", free_name(SCENES[0].name)]
    say("  the shorter session:", f"      {command_line(['compact', session, '--force', *out])}")
    say("  the tools in Claude Code:", "      palimpsest-mcp install claude-code")
    if kept:
        handle, batch = seen[0].report.handle, seen[0].report.batches[0].batch_id
        say("  an original beside its digest:", f"      {command_line(['diff', handle, batch], kept)}")
        say("  all of it in a browser:", f"      {command_line(['view'], kept)}")
    else:
        say("The store of this demo is gone; --home keeps one to look around in:", f"      {_keeper()}")


def _keeper() -> str:
    names = itertools.chain(["palimpsest-demo"], (f"palimpsest-demo-{number}" for number in itertools.count(2)))
    return command_line(["demo"], next(name for name in names if not os.path.lexists(name)))

"""Five long recorded sessions through every adapter, request by request, as a fake model would see them.

    python benchmarks/adapters.py MODULE [POINTS]   what one adapter's replays came to, as JSON

The seams are those of the adapters' tests. Adapters are asked in the environments that `make frameworks` leaves: at
some requests of a long session, or with `TEST_REPLAY_POINTS=1000000` at every request, which takes three minutes of
processor time each: what that came to is kept in `.build/adapters`, and taken again until a source changes.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, table
from real_sessions import shared_folder

Replay = dict[str, Any]
"""The fields of `tests.integrations.replay.Counted`, lists as their lengths."""
SESSIONS = 5
EVERY = 1_000_000
"""Requests of a session: all of them."""
LONG, A_FOURTH = 300_000, 117
"""Tokens of a session of which not every request is asked, and how many are then."""
SHORT, SOME = 40, min(EVERY, int(os.environ.get("TEST_REPLAY_POINTS", "12")))
"""Adapters are asked at every request of a session of so many, and at so many of a longer one, evenly spread."""
FEW = "claude-agent-sdk"
"""Its store writes a session anew at each request, 300 MB in one of 437: never asked at more than twelve."""
TESTS = CHECKOUT / "tests" / "integrations"
PAGE = CHECKOUT / "docs" / "frameworks.md"
KEPT = CHECKOUT / ".build" / "adapters"
SOURCES = ("src/**/*.py", "src/**/*.toml", "tests/integrations/*.py")
ASIDE = ("memory", "experience", "text/languages/feedback.toml", "cli", "server", "web", "host_plugins", "testing")
"""What no replay goes through, or what changes no list."""
MARKERS = '<!-- replays: written by `make bench ARGS="--only adapters"` -->', "<!-- end of replays -->"
HEAD = (
    *("requests", "beyond the window as they came", "passes", "largest, of the window", "at or above 0.70"),
    *("invalid", "changed without a pass", "restored", "billed", "doing nothing", "passes cost"),
    *("most above it within the window", "in all", "dearest pass"),
)
ON_THE_PAGE = (0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13)
"""Columns of `HEAD` in docs/frameworks.md."""
READING = f"""\
Windows have 0.6 of their session's tokens; policy `research`, trigger 0.70, target 0.40. Tokens are the window's own
count, of what is sent: the lists of OpenAI Agents and LiteLLM take 1 % more than the same session does in Anthropic's
form (arguments as JSON in a text), and are beyond the window that much sooner. Where requests are at or above the
trigger, "held" counts those of which what no pass may touch (talk, calls, the newest three results, what is under 100
tokens) is above it alone. A request at which a pass ran or was due, and the last, is sent twice, and "changed" counts
those that were other bytes the second time, too. Bills are in input tokens: 0.1 for one that the cache has, 1.25 for
one that is written into it, nothing for answers. A pass costs 1.15 for each token that the cache had of the request
before and that is written again. "Most above it": what the session was billed so far, less the bill of doing nothing,
where that was most: within the window while the whole list still fits it, and in all, also where a model would refuse
what doing nothing sends ("beyond the window as they came"). The first should never be above the dearest pass until then
(where it was, "beyond" counts the requests). The first table asks every request; of a session above {LONG:,} tokens a
fourth. The second asks each adapter in the same way, or, where it says so, at every request of the sessions that have
at most {SHORT} and at a few of longer ones, evenly spread, so that a pass has few to pay back in: all adapters share
one window (`AgentWindow`), which the first table asks, and differ in how they read and write their framework's
messages."""


def adapters(_repeats: int) -> str:
    """Guards against adapters that save on paper only: no invalid request, no prefix changed between passes, all
    restored, and nothing billed above doing nothing but the one pass that did not pay back yet."""
    shared_folder()
    began = sum(os.times()[:4])
    own = replays("test_window", EVERY)
    rows = [[name, *_row([one])] for name, one in own.items()]
    rows.append(["**all**", *_row(own.values())])
    every = table(("session, every request", *HEAD), rows)
    by_adapter: dict[str, dict[str, Replay]] = {
        "(no framework)": own if SOME == EVERY else replays("test_window", SOME)
    }
    frameworks: dict[str, dict[str, Any]] = tomllib.loads((TESTS / "environments.toml").read_text("utf-8"))
    missing = list[str]()
    for name, told in frameworks.items():
        module = f"test_{name.replace('-', '_')}"
        if not (CHECKOUT / "src" / "palimpsest_mcp" / "integrations" / f"{module.removeprefix('test_')}.py").exists():
            continue  # a neighbour, not an adapter
        python = CHECKOUT / ".build" / "frameworks" / f"{name}-newest" / "bin" / "python"
        if not python.exists():
            missing.append(name)
            continue
        print(f"adapters: {name}", file=sys.stderr, flush=True)
        few = " (at 12 requests of a long session)" if name == FEW and SOME > 12 else ""
        found = _elsewhere(python, module, min(SOME, 12) if few else SOME)
        by_adapter[told["newest"][0].replace("==", " ") + few] = found
    each = [[name, session, *_row([one])] for name, found in by_adapter.items() for session, one in found.items()]
    sums = [[f"**{name}**", *_row(found.values())] for name, found in by_adapter.items()]
    if not missing:
        _write(rows, sums)
    said = f"\n\nNot installed here (`make frameworks`): {', '.join(missing)}." if missing else ""
    tables = f"{every}\n\n{table((f'adapter, {_asked()}', 'session', *HEAD), each)}"
    tables = f"{tables}\n\n{table(('adapter, all', *HEAD), sums)}"
    took = f"{sum(os.times()[:4]) - began:,.0f} s of CPU."
    return f"{tables}{said}\n\n{missed([*own.items(), *_named(by_adapter)])} {took}\n\n{READING}"


def _asked() -> str:
    return "every request" if SOME == EVERY else f"{SOME} requests of a long session"


def _named(by_adapter: dict[str, dict[str, Replay]]) -> list[tuple[str, Replay]]:
    return [(f"{name}: {session}", one) for name, found in by_adapter.items() for session, one in found.items()]


def missed(replays: Sequence[tuple[str, Replay]]) -> str:
    """Which replays were not as they should be, by name."""
    counts = ("above_trigger", "invalid", "changed_prefixes", "changed_again", "beyond_a_pass")
    found = [name for name, one in replays if any(one[count] for count in counts) or not one["restored"]]
    if not found:
        return f"Every goal met in all {len(replays)} replays (that of the bill: while the list fits the window)."
    return f"Not met in {len(found)} of {len(replays)} replays: {'; '.join(found)}."


def _write(sessions: Iterable[list[str]], sums: Iterable[list[str]]) -> None:
    """Into docs/frameworks.md, between its markers."""
    short = [HEAD[at] for at in ON_THE_PAGE]
    made = [
        table((title, *short), [[one[0], *(one[at + 1] for at in ON_THE_PAGE)] for one in rows])
        for title, rows in (("session, every request", sessions), (f"adapter, {_asked()}", sums))
    ]
    text = PAGE.read_text("utf-8")
    begin, end = MARKERS
    head, rest = text[: text.index(begin) + len(begin)], text[text.index(end) :]
    when = f"Replayed on {datetime.now(UTC):%Y-%m-%d}:"
    PAGE.write_text("\n\n".join([head, when, *made, rest]), encoding="utf-8")


def replays(module: str, points: int) -> dict[str, Replay]:
    """Session -> what its replay through the seam of one test module came to."""
    sys.path.insert(0, str(CHECKOUT))
    seam = importlib.import_module(f"tests.integrations.{module}").SEAM
    return asyncio.run(_replays(seam, points))


async def _replays(seam: Any, points: int) -> dict[str, Replay]:
    from tests.integrations import replay

    from palimpsest_mcp.integrations.window import AgentWindow

    found: dict[str, Replay] = {}
    for name, raw in replay.sessions(SESSIONS):
        messages = replay.whole_turns(raw)
        size = replay.window_of(messages)
        with (
            tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder,
            AgentWindow(home=Path(folder) / "home", window_tokens=size, model="gpt-5") as window,
        ):
            most = min(points, A_FOURTH) if replay.tokens_of(messages) > LONG else points
            if sum(one["role"] == "user" for one in messages) <= SHORT:
                most = EVERY
            one = asdict(await replay.replayed(name, messages, window, size, seam, points=most))
        found[name] = {key: told if isinstance(told, (int, float)) else len(told) for key, told in one.items()}
    return found


def _elsewhere(python: Path, module: str, points: int) -> dict[str, Replay]:
    """The same in another environment, with the sources of this tree."""
    kept = KEPT / f"{module}-{_sources()}.json"
    if points == EVERY and kept.exists():
        return json.loads(kept.read_text("utf-8"))
    command = [python, __file__, module, str(points)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "TEST_SHARED": str(shared_folder())}
    done = subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{module}: {done.stderr[-2000:]}")
    found = done.stdout.splitlines()[-1]
    if points == EVERY:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_text(found, "utf-8")
    return json.loads(found)


def _sources() -> str:
    """Changes with what replays go through."""
    away = [CHECKOUT / "src" / "palimpsest_mcp" / room for room in ASIDE]
    files = sorted({file for pattern in SOURCES for file in CHECKOUT.glob(pattern)})
    files = [file for file in files if not any(file.is_relative_to(room) for room in away)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _row(several: Iterable[Replay]) -> list[str]:
    """Cells below `HEAD`: sums, and of shares and of what may not be exceeded the largest."""
    these = list(several)

    def total(*names: str) -> int:
        return round(sum(one[name] for one in these for name in names))

    def most(name: str) -> float:
        return max(one[name] for one in these)

    beyond, above = total("beyond_a_pass"), total("above_trigger")
    return [
        str(total("requests")),
        str(total("impossible")),
        str(total("passes")),
        f"{most('largest'):.2f}",
        f"{above} (held: {total('beyond_reach')})" if above else "0",
        str(total("invalid")),
        str(total("changed_prefixes", "changed_again")),
        f"{total('restored')} of {len(these)}",
        f"{total('billed'):,}",
        f"{total('nothing'):,}",
        f"{total('passes_cost'):,}",
        f"{most('most_above_within'):,.0f}" + (f" (beyond: {beyond})" if beyond else ""),
        f"{most('most_above'):,.0f}",
        f"{most('costliest_pass'):,.0f}",
    ]


if __name__ == "__main__":
    print(json.dumps(replays(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SOME)))

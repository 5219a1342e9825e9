"""Five long recorded sessions through every adapter, request by request, as a fake model would see them.

    python benchmarks/adapters.py MODULE [POINTS]   what one adapter's replays came to, as JSON

The seams are those of the adapters' tests. Adapters are asked in the environments that `make frameworks` leaves.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, table
from real_sessions import shared_folder

Replay = dict[str, Any]
"""The fields of `tests.integrations.replay.Counted`, lists as their lengths."""
SESSIONS = 5
EVERY, SOME = 1_000_000, 6
"""Requests of a session: all of them, or so many, evenly spread."""
LONG, A_FOURTH = 300_000, 117
"""Tokens of a session of which not every request is asked, and how many are then."""
TESTS = CHECKOUT / "tests" / "integrations"
HEAD = (
    *("requests", "beyond the window as they came", "passes", "largest, of the window", "at or above 0.70"),
    *("invalid", "changed without a pass", "billed", "doing nothing", "passes cost"),
    *("most above it within the window", "in all", "dearest pass", "restored"),
)
READING = f"""\
Windows have 0.6 of their session's tokens; policy `research`, trigger 0.70, target 0.40. Tokens are the window's own
count. Where requests are at or above the trigger, "held" counts those of which what no pass may touch (talk, calls, the
newest three results, what is under 100 tokens) is above it alone. Each request is sent twice, and "changed" counts
those that were other bytes the second time, too. Bills are in input tokens: 0.1 for one that the cache has, 1.25 for
one that is written into it, nothing for answers. A pass costs 1.15 for each token that the cache had of the request
before and that is written again. "Most above it": what the session was billed so far, less the bill of doing nothing,
where that was most: within the window while the whole list still fits it, and in all, also where a model would refuse
what doing nothing sends ("beyond the window as they came"). The first should never be above the dearest pass until then
(where it was, "beyond" counts the requests). Adapters are asked at {SOME} requests a session, so that a pass has few to
pay back in; their rows are sums over all five. Of a session above {LONG:,} tokens a fourth of the requests is asked."""


def adapters(_repeats: int) -> str:
    """Guards against adapters that save on paper only: no invalid request, no prefix changed between passes, all
    restored, and nothing billed above doing nothing but the one pass that did not pay back yet."""
    shared_folder()
    own = replays("test_window", EVERY)
    rows = [[name, *_row([one])] for name, one in own.items()]
    every = table(("session, every request", *HEAD), [*rows, ["**all**", *_row(own.values())]])
    frameworks: dict[str, dict[str, Any]] = tomllib.loads((TESTS / "environments.toml").read_text("utf-8"))
    rows, missing = [["(no framework)", *_row(replays("test_window", SOME).values())]], list[str]()
    for name, told in frameworks.items():
        module = f"test_{name.replace('-', '_')}"
        if not (CHECKOUT / "src" / "palimpsest_mcp" / "integrations" / f"{module.removeprefix('test_')}.py").exists():
            continue  # a neighbour, not an adapter
        python = CHECKOUT / ".build" / "frameworks" / f"{name}-newest" / "bin" / "python"
        if not python.exists():
            missing.append(name)
            continue
        rows.append([told["newest"][0], *_row(_elsewhere(python, module).values())])
    said = f"\n\nNot installed here (`make frameworks`): {', '.join(missing)}." if missing else ""
    return f"{every}\n\n{table(('adapter', *HEAD), rows)}{said}\n\n{READING}"


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
            one = asdict(await replay.replayed(name, messages, window, size, seam, points=most))
        found[name] = {key: told if isinstance(told, (int, float)) else len(told) for key, told in one.items()}
    return found


def _elsewhere(python: Path, module: str) -> dict[str, Replay]:
    """The same in another environment, with the sources of this tree."""
    command = [python, __file__, module, str(SOME)]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT / "src"), "TEST_SHARED": str(shared_folder())}
    done = subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{module}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


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
        f"{total('billed'):,}",
        f"{total('nothing'):,}",
        f"{total('passes_cost'):,}",
        f"{most('most_above_within'):,.0f}" + (f" (beyond: {beyond})" if beyond else ""),
        f"{most('most_above'):,.0f}",
        f"{most('costliest_pass'):,.0f}",
        f"{total('restored')} of {len(these)}",
    ]


if __name__ == "__main__":
    print(json.dumps(replays(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SOME)))

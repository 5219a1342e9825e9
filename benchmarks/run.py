"""Measures what the README promises, and writes benchmarks/results.md.

    python benchmarks/run.py [--only SECTION] [--repeats 5] [--out FILE]

A section whose input is missing says so. With `--only` the other sections of the page stay as they are; each says when
it was measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from adapters import adapters
from artifact_trail import artifact_trail
from busy import busy
from empty_server import beside_an_empty_server
from gateway import gateway
from growth import cold, growth
from hook_costs import hook_costs
from measuring import CHECKOUT, Run, Skipped, compare_figures, note_figure, quantile, run_process, spread, table
from peer_runs import peers
from quality.run import quality
from real_sessions import million_token_session, shared_folder
from stdio_client import NEW, OLD, StdioServer, timed
from token_error import token_error
from warm_pass import warm_pass

RESULTS = CHECKOUT / "benchmarks" / "results.md"
FIGURES = CHECKOUT / "benchmarks" / "figures.json"
RED, PLAIN = "\x1b[31m", "\x1b[0m"
COLD = ("-m", "palimpsest_mcp", "compact")
CALLS = 2_000
WINDOW = {"used_tokens": 1_300_000, "window_tokens": 8_000_000}
READING = """\
Every figure stands beside a baseline that was measured in turn with it, in the same run: ratios can be compared between
machines, seconds cannot. `a / b / c` is minimum, median, maximum.\
"""


def compaction(repeats: int) -> str:
    """Guards against a pass that a person would notice: under 2 s for 403k o200k tokens, under 5 s for a million; of
    that under 1 s for probes and summary.

    The column counts as the report does: for a current Claude model, 1.55 to one of o200k.
    """
    longest = shared_folder() / "data" / "converted" / "pi-mono.jsonl.gz"
    cases = [("longest shared session", longest, "1"), ("a million tokens", million_token_session(), "")]
    rows: list[list[str]] = []
    for name, file, line in cases:
        warm: list[dict[str, Any]] = []
        peaks: list[float] = []
        cold: list[Run] = []
        plain: list[float] = []
        for _ in range(repeats):
            run = run_process([sys.executable, "benchmarks/compact_once.py", file, *([line] if line else [])])
            warm.append(json.loads(run.output))
            peaks.append(run.peak_mb)
            plain.append(run_process([sys.executable, "-c", "import json, gzip, asyncio"]).seconds)
            cold.append(cold_command(file, line))
        first = warm[0]
        loops = min(run["compact_loops"] for run in warm)
        note_figure(f"pass: {name}", loops)
        rows.append(
            [
                name,
                f"{first['before']:,} → {first['after']:,} ({first['status']})",
                spread(run["compact_s"] for run in warm),
                f"{loops:.0f}",
                spread(run["beside_s"] for run in warm),
                spread((run["compact_s"] / run["json_s"] for run in warm), 1),
                spread(run["json_s"] for run in warm),
                spread(run["truncate_s"] * 1e3 for run in warm) + " ms",
                f"{max(peaks):.0f}",
                spread(run.seconds for run in cold),
                spread((run.seconds / base for run, base in zip(cold, plain, strict=True)), 0),
                f"{max(run.peak_mb for run in cold):.0f}",
            ]
        )
    head = (
        "session",
        "tokens",
        "call, s",
        "its CPU in plain loops",
        "of it probes and summary, s",
        "call : JSON",
        "JSON round trip, s",
        "head+tail truncation",
        "peak MB",
    )
    head += ("cold command, s", "cold : bare Python", "its peak MB")
    return table(head, rows)


def cold_command(file: Path, line: str) -> Run:
    """The whole command: start, vocabulary, reading the file, the pass, writing the shorter session."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        options = ["--home", f"{folder}/home", "--force", "--target", "0.3", "--out", f"{folder}/out.json"]
        return run_process([sys.executable, *COLD, file, *(["--line", line] if line else []), *options])


def ratio_call(_repeats: int) -> str:
    """Guards against a fold at every call: under 5 ms at p99 with a million tokens recorded."""
    from palimpsest_mcp.core.palimpsest import Palimpsest

    messages = json.loads(million_token_session().read_bytes())

    async def recorded(home: str) -> str:
        async with Palimpsest.open(home) as palimpsest:
            result = await palimpsest.compact_messages(messages, session_id="big", window_tokens=8_000_000)
            return result.report.handle

    rows: list[list[str]] = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home:
        handle = asyncio.run(recorded(home))
        cases = [(era, plain, told) for era, plain in ((OLD, "ping"), (NEW, "tools/list")) for told in ({}, WINDOW)]
        for era, plain, told in cases:
            with StdioServer(Path(home), era) as server:
                check = partial(server.tool, "check_context_ratio", session_id=handle, **told)
                first = timed(check)
                ours: list[float] = []
                base: list[float] = []
                for _ in range(CALLS):
                    ours.append(timed(check))
                    base.append(timed(partial(server.call, plain)))
                rows.append(
                    [
                        f"{era}, {'window given' if told else 'nothing given'}",
                        f"{first * 1e3:.0f}",
                        *(f"{quantile(ours, share) * 1e3:.2f}" for share in (0.5, 0.99, 1.0)),
                        *(f"{quantile(base, share) * 1e3:.2f}" for share in (0.5, 0.99)),
                        f"{quantile(ours, 0.5) / quantile(base, 0.5):.1f}",
                        f"{server.memory_mb():.0f}",
                    ]
                )
    head = (
        "era and arguments",
        "first call, ms",
        "p50, ms",
        "p99, ms",
        "max, ms",
        "baseline p50, ms",
        "baseline p99, ms",
    )
    note = f"\n\n{CALLS:,} calls a row, each followed by its baseline: `ping` (2025), `tools/list` (2026)."
    return table((*head, "p50 : baseline", "peak MB"), rows) + note


def first_reply(repeats: int) -> str:
    """Guards against imports that creep in: under 0.7 s from start to the first reply."""
    times: dict[str, list[float]] = {OLD: [], NEW: []}
    bare: list[float] = []
    memory = 0.0
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        home = Path(folder) / "home"
        for _ in range(2 * repeats):
            bare.append(run_process([sys.executable, "-c", "from mcp.server import MCPServer"]).seconds)
            for era, found in times.items():
                with StdioServer(home, era) as server:
                    found.append(server.first_reply_s)
                    memory = max(memory, server.memory_mb())
        trace = Path(folder) / "imports"
        with StdioServer(home, trace_imports=trace) as server:
            server.call("tools/list")
            server.tool("check_context_ratio", session_id="new", used_tokens=1_000, window_tokens=10_000)
        modules = [line.rsplit("|", 1)[-1].strip() for line in trace.read_text("utf-8").splitlines() if "|" in line]
    foreign = [name for name in modules if name.split(".")[0] == "anthropic"]
    rows = [
        [era, spread(found), spread(t / b for t, b in zip(found, bare, strict=True))] for era, found in times.items()
    ]
    note = (
        f"\n\nBaseline: a Python that only imports the server class of `mcp`, {spread(bare)} s. "
        f"Peak memory at the first reply {memory:.0f} MB.\n\nOf {len(modules)} modules that were imported up to "
        f"and including a first `check_context_ratio`, {len(foreign)} belong to `anthropic`."
    )
    return table(("era", "start to first reply, s", "reply : baseline"), rows) + note


def tool_list(_repeats: int) -> str:
    """Guards against tools that grow: at most 1,300 tokens for all."""
    from palimpsest_mcp.text.tokens.count import load_vocabulary

    encode = load_vocabulary().encode
    if encode is None:
        raise Skipped("no vocabulary to count with: see `palimpsest-mcp doctor`")
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home, StdioServer(Path(home)) as server:
        tools: list[dict[str, Any]] = server.call("tools/list")["tools"]
        instructions = server.first.get("instructions") or ""

    def tokens(value: object) -> int:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return len(encode(text))

    shown = [{"name": t["name"], "description": t["description"], "input_schema": t["inputSchema"]} for t in tools]
    rows = [[one["name"], str(tokens(one))] for one in shown]
    rows += [["**all tools**", f"**{sum(map(tokens, shown))}**"], ["instructions", str(tokens(instructions))]]
    return table(("name, description and input schema of", "o200k tokens"), rows)


def artifacts(_repeats: int) -> str:
    """Guards against sessions whose files and commands cannot be told any more: 99 % where 80 % was saved.

    Expected values come from the raw inputs of the calls; each has a near one that must not be found.
    """
    return artifact_trail()


SECTIONS: dict[str, tuple[str, Callable[[int], str]]] = {
    "compaction": ("Compaction, target 0.3 of the session's own size", compaction),
    "ratio": ("`check_context_ratio` over stdio, a million tokens recorded", ratio_call),
    "stdio": ("One call over stdio, beside an empty server's", beside_an_empty_server),
    "busy": ("One call beside a pass over a million tokens on another session", busy),
    "warm_pass": ("A pass over a million recorded tokens, by what was read ahead of it", warm_pass),
    "growth": ("One call, in a session of a thousand items and of a hundred thousand", growth),
    "cold": ("Commands from a cold start", cold),
    "tokens": ("Counts beside what providers reported", token_error),
    "start": ("First reply of the server", first_reply),
    "tools": ("Standing cost of the tool list", tool_list),
    "hooks": ("Hooks of Claude Code: what they add", hook_costs),
    "adapters": ("Long sessions through every adapter, request by request", adapters),
    "gateway": ("The thin gateway: what it adds to a request", gateway),
    "peers": ("Beside other programs, on the same sessions", peers),
    "artifacts": ("The artifact trail: files and commands that can still be told", artifacts),
    "quality": ("Are digests of use?", quality),
}


def sections_of(page: Path) -> dict[str, str]:
    """The text of each section of a page that was written before, by its title."""
    if not page.exists():
        return {}
    _, *found = page.read_text("utf-8").split("\n## ")
    return {title: text.strip() for title, _, text in (one.partition("\n") for one in found)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure, and write benchmarks/results.md.")
    parser.add_argument("--only", action="append", choices=sorted(SECTIONS), help="only this section (repeatable)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each measurement")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the page goes")
    options = parser.parse_args()
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    known = sections_of(options.out) if options.only else {}
    failed = 0
    for name, (title, section) in SECTIONS.items():
        if options.only and name not in options.only:
            continue
        print(f"{name}: {title}", flush=True)
        load, when = os.getloadavg()[0], datetime.now(UTC)
        try:
            text = section(options.repeats)
        except Skipped as reason:
            text = f"Skipped: {reason}"
        except Exception as error:
            failed += 1
            text = f"Failed: {type(error).__name__}: {error}"
        print(text, end="\n\n", flush=True)
        guards = " ".join((section.__doc__ or "").split())
        measured = f"Measured on {when:%Y-%m-%d %H:%M} UTC, load {load:.1f} before, {os.getloadavg()[0]:.1f} after."
        known[title] = f"{guards}\n\n{text}\n\n{measured}"
    page = [f"# Results\n\nWritten by `make bench`: {machine}.\n\n{READING}"]
    page += [f"## {title}\n\n{known[title]}" for title, _ in SECTIONS.values() if title in known]
    options.out.write_text("\n\n".join(page) + "\n", encoding="utf-8")
    print(f"written: {options.out}")
    for line in compare_figures(FIGURES):
        print(f"{RED}{line}{PLAIN}" if sys.stdout.isatty() else line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

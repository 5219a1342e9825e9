"""What Palimpsest adds to a session of Claude Code: each hook alone, and each tool call in the real client."""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, Skipped, quantile, run_process, table
from stdio_client import StdioServer

CALLS = 300
"""Tool calls of the session whose hooks are timed one by one."""
CLIENT_CALLS = 40
"""Tool calls of each session in the real client."""
OUTPUT_CHARACTERS = 4_000
SID = "0f3c5a9e-0000-4000-8000-00000000be7c"
PROGRAM = "palimpsest-mcp"
ADDED_P99_MS = 15.0
COMMAND_P99_MS = 150.0


def hook_costs(repeats: int) -> str:
    """Guards against hooks that a person feels: a hook answered by the server adds at most 15 ms at p99 beyond the
    machine's own flush, a command hook takes at most 150 ms, a status line 50.

    Seconds depend on the machine and its load; the baselines beside them were measured in turn with them.
    """
    return "\n\n".join((single_hooks(), commands(repeats), in_the_client(repeats)))


# Each hook alone


def single_hooks() -> str:
    """Every event over the server's pipes, in a session that grows; beside each an empty request and a flush."""
    times: dict[str, list[float]] = {}
    first: dict[str, list[float]] = {}
    plain: list[float] = []
    flushes: list[float] = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as folder:
        session = Session(Path(folder))
        with StdioServer(Path(folder) / "home", options=("--host", "claude-code")) as server:

            def event(name: str, **fields: Any) -> None:
                payload = {"session_id": SID, "transcript_path": str(session.file), "cwd": "/p", **fields}
                seconds = timed(lambda: server.tool("host_event", event=name, payload=payload))
                (times.setdefault(name, []) if name in first else first.setdefault(name, [])).append(seconds)

            event("UserPromptSubmit", prompt="go")
            session.add("user", "go")
            for n in range(CALLS):
                call, output = session.call(n)
                about = {"tool_name": "Bash", "tool_input": json.dumps({"command": f"step {n}"}), "tool_use_id": call}
                shown = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
                event("PreToolUse", tool_name="mcp__palimpsest__list_offloaded", tool_input="{}", tool_use_id=call)
                event("PostToolUse", **about, tool_response=json.dumps(shown))
                session.result(call, output)
                if n % 10 == 9:
                    event("Stop")
                    event("UserPromptSubmit", prompt="and on")
                plain.append(timed(lambda: server.call("ping")))
                flushes.append(timed(lambda: flush(Path(folder) / "flushed")))
    flush_p99 = quantile(flushes, 0.99) * 1e3
    limit = ADDED_P99_MS + flush_p99
    rows = [
        [
            name,
            str(len(found)),
            f"{first[name][0] * 1e3:.0f}",
            *(f"{quantile(found, share) * 1e3:.1f}" for share in (0.5, 0.99)),
            f"{(quantile(found, 0.99) - quantile(plain, 0.99)) * 1e3:.1f}",
            "yes" if (quantile(found, 0.99) - quantile(plain, 0.99)) * 1e3 <= limit else "**no**",
        ]
        for name, found in times.items()
    ]
    base = [f"{quantile(plain, share) * 1e3:.1f}" for share in (0.5, 0.99)]
    rows.append(["`ping` (baseline)", str(len(plain)), "", *base, "", ""])
    rows.append(
        [
            "flush of 4 KB (this disk)",
            str(len(flushes)),
            "",
            f"{quantile(flushes, 0.5) * 1e3:.1f}",
            f"{flush_p99:.1f}",
            "",
            "",
        ]
    )
    head = (
        "hook, by the server",
        "calls",
        "the first, ms",
        "median, ms",
        "p99, ms",
        "added at p99, ms",
        f"≤ {ADDED_P99_MS:.0f} + flush",
    )
    note = f"\n\nA session of {CALLS} calls with {OUTPUT_CHARACTERS:,} characters each, one event after the other."
    note += " The first of each loads what the later ones have; it is not among them."
    return table(head, rows) + note


class Session:
    """A transcript that grows as the client writes it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "projects" / "-p" / f"{SID}.jsonl"
        self.file.parent.mkdir(parents=True)
        self._last: str | None = None
        self._rows = 0

    def add(self, role: str, content: Any, **more: Any) -> None:
        row = {"type": role, "uuid": f"u{self._rows}", "parentUuid": self._last, "sessionId": SID, "cwd": "/p"}
        row |= {"isSidechain": False, "message": {"role": role, "content": content, **more}}
        self._last = str(row["uuid"])
        self._rows += 1
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def call(self, n: int) -> tuple[str, str]:
        """An answer with one call, and what the call will give."""
        usage = {"input_tokens": 10, "cache_read_input_tokens": 1_500 * n, "output_tokens": 20}
        block = {"type": "tool_use", "id": f"toolu_{n}", "name": "Bash", "input": {"command": f"step {n}"}}
        self.add("assistant", [block], id=f"msg_{n}", model="claude-opus-5-5", usage=usage)
        lines = (f"{n:04d}-{line:03d} wrote /data/{n}/{line}.csv in {line}.{n % 10} ms" for line in range(100))
        return f"toolu_{n}", "\n".join(lines)[:OUTPUT_CHARACTERS]

    def result(self, call: str, output: str) -> None:
        self.add("user", [{"type": "tool_result", "tool_use_id": call, "content": output}])


# Programs that the client starts


def commands(repeats: int) -> str:
    """Whole processes, each in turn with a bare Python."""
    program = Path(sys.executable).with_name(PROGRAM)
    if not program.exists():
        raise Skipped(f"{PROGRAM} is not installed beside this Python: make setup")
    start = {"session_id": SID, "transcript_path": "/nowhere.jsonl", "cwd": "/p", "source": "startup"}
    line = {"session_id": SID, "model": {"id": "claude-opus-5-5"}, "context_window": {"context_window_size": 1_000_000}}
    cases = {
        "`hook SessionStart`": (["hook", "SessionStart"], {**start, "hook_event_name": "SessionStart"}, COMMAND_P99_MS),
        "`hook SessionEnd`": (
            ["hook", "SessionEnd"],
            {**start, "hook_event_name": "SessionEnd", "reason": "other"},
            None,
        ),
        "`statusline`": (["statusline"], line, 50.0),
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    bare: list[float] = []
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home:
        Path(home, "store").mkdir(mode=0o700)
        given = Path(home) / "stdin"
        for _ in range(max(30, 10 * repeats)):
            bare.append(run_process([sys.executable, "-c", "pass"]).seconds)
            for name, (arguments, value, _) in cases.items():
                given.write_text(json.dumps(value), "utf-8")
                shell = ["sh", "-c", f'exec "$0" "$@" < {given}', program, *arguments]
                times[name].append(run_process(shell, {"PALIMPSEST_HOME": f"{home}/store"}).seconds)
    rows = [
        [
            name,
            *(f"{quantile(found, share) * 1e3:.0f}" for share in (0.5, 0.99)),
            "" if (most := cases[name][2]) is None else f"≤ {most:.0f}",
        ]
        for name, found in times.items()
    ]
    rows.append(["bare Python (baseline)", *(f"{quantile(bare, share) * 1e3:.0f}" for share in (0.5, 0.99)), ""])
    note = f"\n\n{len(bare)} runs each, from the start of the process to its end; SessionEnd runs when nobody waits."
    return table(("program", "median, ms", "p99, ms", "goal at p99"), rows) + note


# The real client


def in_the_client(repeats: int) -> str:
    """From the model's answer with a call to the client's next request, with and without the plugin, in turn."""
    folder = os.environ.get("TEST_CLAUDE_CODE") or str(CHECKOUT / ".build" / "claude-code")
    found = sorted((Path(folder) / "node_modules" / "@anthropic-ai").glob("claude-code-*/claude"))
    if not found:
        return "In the real client: skipped, since it is not installed; `make e2e` gets it from the npm registry."
    sys.path.insert(0, str(CHECKOUT / "tests" / "e2e"))
    driver: Any = importlib.import_module("claude_code.driver")
    fake: Any = importlib.import_module("claude_code.fake_messages")

    def one_session(work: Path, plugin: bool) -> list[float]:
        api = fake.FakeMessages()
        stop = api.start()
        seconds: list[float] = []
        answered = [0.0]

        def turn(n: int) -> Callable[[Any], Any]:
            def reply(_request: Any) -> Any:
                now = time.perf_counter()
                if answered[0]:
                    seconds.append(now - answered[0])
                made = fake.bash(f"echo {n}") if n < CLIENT_CALLS else fake.say("end")
                answered[0] = time.perf_counter()
                return made

            return reply

        try:
            client = driver.Client(found[0], work, api)
            client.plugin = client.plugin if plugin else None
            client.run("go", turns=[turn(n) for n in range(CLIENT_CALLS + 1)])
        finally:
            stop()
        return seconds[1:]

    times: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as work:
        for run in range(max(2, repeats)):
            for plugin in (False, True):
                place = Path(work) / f"{run}-{plugin}"
                place.mkdir()
                times[plugin] += one_session(place, plugin)
    rows = [
        [
            "with the plugin" if plugin else "without it",
            str(len(several)),
            *(f"{quantile(several, share) * 1e3:.1f}" for share in (0.5, 0.99)),
        ]
        for plugin, several in times.items()
    ]
    added = [(quantile(times[True], share) - quantile(times[False], share)) * 1e3 for share in (0.5, 0.99)]
    rows.append(["added", "", *(f"{value:.1f}" for value in added)])
    note = f"\n\nA `Bash` call of `echo`, {CLIENT_CALLS} a session; it has PostToolUse behind it."
    return table(("a tool call in the real client", "calls", "median, ms", "p99, ms"), rows) + note


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def flush(path: Path) -> None:
    """4 KB at the end of a file, on the disk."""
    with path.open("ab", buffering=0) as file:
        file.write(b"x" * 4_096)
        os.fsync(file.fileno())

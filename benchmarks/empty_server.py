"""One call of each reading tool beside a call of an empty server's, in turn: both on the same `mcp`, over stdio.

The empty server is this file run by itself: one tool, which answers with a member and does nothing. With a port it
serves HTTP there.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from measuring import note_figure, quantile, table
from stdio_client import NEW, OLD, StdioServer, timed

CALLS = 1_000
GOAL = 2.0
ROWS = 60


def beside_an_empty_server(_repeats: int) -> str:
    """Guards against work that every call pays: p99 at most twice that of an empty server in the same run."""
    rows: list[list[str]] = []
    for era in (OLD, NEW):
        with (
            tempfile.TemporaryDirectory(prefix="palimpsest-bench-") as home,
            StdioServer(Path(home), era) as ours,
            StdioServer(Path(home), era, server=(sys.executable, __file__)) as empty,
        ):
            nothing = partial(empty.tool, "nothing")
            for name, call in calls(ours).items():
                rows.append([era, name, *_row(call, nothing, ours, empty, f"stdio call, {name}, {era}")])
    head = (
        "era",
        "tool",
        "p50, ms",
        "p99, ms",
        "empty's p50",
        "empty's p99",
        "p50 : empty's",
        "p99 : empty's",
        "CPU : empty's",
    )
    note = f"{CALLS:,} calls a row, each followed by one of the empty server's, in a session of {ROWS} results that a "
    note += "pass has gone over. CPU is of the whole server process. `restore_batch` notes what it gave."
    return f"{table(head, rows)}\n\n{note}"


def calls(server: StdioServer) -> dict[str, Callable[[], Any]]:
    """What is measured, on a session of its own that a pass has gone over."""
    items = [
        {"role": "tool", "tool_use_id": f"c{n}", "content": f"row {n} of worker-{n % 7}\n" * 200} for n in range(ROWS)
    ]
    session = server.tool("record_items", session_id="new", items=items)["session"]
    told = {"session_id": session, "used_tokens": 90_000, "window_tokens": 100_000}
    server.tool("compact_session", **told, force=True, target=0.5)
    found = {
        "check_context_ratio": partial(server.tool, "check_context_ratio", session_id=session),
        "list_offloaded": partial(server.tool, "list_offloaded", session_id=session),
        "restore_batch": partial(
            server.tool, "restore_batch", session_id=session, batch_id="offload_0001", max_tokens=500
        ),
        "search_offloaded": partial(server.tool, "search_offloaded", session_id=session, query="worker-3"),
    }
    for call in found.values():
        call()  # the first loads what the later ones have
    return found


def _row(
    call: Callable[[], Any], nothing: Callable[[], Any], ours: StdioServer, empty: StdioServer, figure: str
) -> list[str]:
    mine: list[float] = []
    base: list[float] = []
    before = ours.cpu_s(), empty.cpu_s()
    for _ in range(CALLS):
        mine.append(timed(call))
        base.append(timed(nothing))
    cpu = (ours.cpu_s() - before[0]) / max(empty.cpu_s() - before[1], 0.01)
    at = [quantile(times, share) * 1e3 for times in (mine, base) for share in (0.5, 0.99)]
    note_figure(figure, at[0] / at[2])
    ratio = at[1] / at[3]
    shown = f"{ratio:.1f}" if ratio <= GOAL else f"**{ratio:.1f}**"
    return [*(f"{value:.2f}" for value in at), f"{at[0] / at[2]:.1f}", shown, f"{cpu:.1f}"]


def main() -> None:
    server = MCPServer("empty")

    @server.tool()
    def nothing() -> dict[str, bool]:  # pyright: ignore[reportUnusedFunction]
        """Does nothing."""
        return {"ok": True}

    if len(sys.argv) > 1:
        import uvicorn

        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]), log_level="error", access_log=False)
    else:
        server.run()


if __name__ == "__main__":
    main()

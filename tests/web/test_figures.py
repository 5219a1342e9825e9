"""Every figure of the page is the one that the command line prints, whatever happened to the store."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from palimpsest_mcp.cli.main import run
from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.web.answers import Answers, at


def printed(home: Path, *arguments: str) -> Any:
    def no_server(*_asked: object) -> int:
        raise AssertionError("nothing here may serve")

    out = io.StringIO()
    with redirect_stdout(out):
        assert run(["--home", str(home), *arguments, "--json"], serve=no_server) == 0
    return json.loads(out.getvalue())


def messages(sizes: list[int]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": "What did the jobs write?"}]
    for number, size in enumerate(sizes):
        text = "\n".join(f"part-{number}-{row} wrote {number * 977 + row * 31} bytes" for row in range(size))
        use = {"type": "tool_use", "id": f"toolu_{number}", "name": "read_log", "input": {"job": number}}
        made.append({"role": "assistant", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text or "(nothing)"}
        made.append({"role": "user", "content": [result]})
    return made


async def made(home: Path, sizes: list[int], window: int | None, restores: int, undo: bool) -> None:
    async with Palimpsest.open(home) as p:
        await p.compact_messages(
            messages(sizes), session_id="s", window_tokens=window, force=True, target=0.3, keep_last=3
        )
        batches = await p.list_offloaded("s")
        for batch in batches[:restores]:
            await p.restore_batch("s", batch.batch_id)
        if undo and any(batch.state == "replaced" for batch in batches):
            await p.undo("s")
        await p.record_items("other", [{"role": "user", "content": "hello"}], host="test-host")


async def told(home: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    async with Palimpsest.open(home, make=False) as p:
        answers = Answers(p)
        found = await answers.store({}), await answers.session({"session": "s"})
        return json.loads(json.dumps(found))


@settings(max_examples=5, phases=[Phase.generate])  # an example runs four commands: none is made smaller
@given(
    sizes=st.lists(st.integers(0, 60), min_size=4, max_size=7),
    window=st.sampled_from([None, 20_000, 200_000]),
    restores=st.integers(0, 2),
    undo=st.booleans(),
)
def test_every_figure_is_what_the_command_prints(
    sizes: list[int], window: int | None, restores: int, undo: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        asyncio.run(made(home, sizes, window, restores, undo))
        store, session = asyncio.run(told(home))
        answers = {
            "status": printed(home, "status"),
            "list": printed(home, "list", "s"),
            "show": printed(home, "show", "s"),
        }
        for one in (*store["figures"], *session["figures"]):
            assert one["value"] == at(answers[one["command"]], one["path"]), one
            assert one["source"] and one["scope"]
        for figures in (store["figures"], session["figures"]):
            sign = {"+": 1, "-": -1}
            parts = sum(sign[one["sign"]] * (one["value"] or 0) for one in figures if one["sign"] in sign)
            assert parts == next(one["value"] for one in figures if one["sign"] == "=")
        assert store["sessions"] == printed(home, "sessions")["sessions"]
        assert session["by_kind"] == answers["show"]["by_kind"]
        assert sum(one["tokens"] for one in session["by_kind"]) == answers["show"]["usage"]["used"]["value"]
        assert [one["state"] for one in session["batches"]] == [one["state"] for one in answers["list"]["batches"]]

"""What `hostile_cases.jsonl` means: how an input is built, and what is done with it."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from palimpsest_mcp.core.palimpsest import Palimpsest
from palimpsest_mcp.settings.settings import Settings

ITEM = {"id": "i1", "kind": "tool_result", "role": "user", "content": "four words of text"}


def built(value: Any) -> Any:
    """An input from its description: `{"$repeat": [text, n]}`, `{"$nest": [open, n, close]}`, `{"$join": [parts]}`,
    `{"$bytes": hex}`, `{"$gzip": value}`, `{"$float": "nan"}`, `{"$chars": [code points]}`, `{"$many": [value, n]}`;
    anything else is itself.
    """
    if isinstance(value, list):
        return [built(one) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    fields = cast("dict[str, Any]", value)
    if len(fields) != 1 or not next(iter(fields)).startswith("$"):
        return {key: built(one) for key, one in fields.items()}
    ((how, given),) = fields.items()
    if how == "$repeat":
        return given[0] * given[1]
    if how == "$nest":
        return given[0] * given[1] + given[2] * given[1]
    if how == "$join":
        return "".join(built(one) for one in given)
    if how == "$bytes":
        return bytes.fromhex(given)
    if how == "$gzip":
        return gzip.compress(as_bytes(built(given)), 6)
    if how == "$float":
        return float(given)
    if how == "$chars":
        return "".join(map(chr, given))
    if how == "$many":
        return [built(given[0])] * given[1]
    raise ValueError(how)


def as_bytes(value: Any) -> bytes:
    """A file's bytes."""
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode("utf-8", "surrogatepass")


async def name(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_items(given, [ITEM])


async def unknown(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.show_context(given)


async def items(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_items("hostile", given)
    await p.show_context("hostile")


async def messages(p: Palimpsest, given: Any, folder: Path) -> None:
    done = await p.compact_messages(given, session_id="hostile", target=0.3, force=True)
    assert await p.expand_messages(done.messages, session_id="hostile") == given


async def options(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.compact_messages([{"role": "user", "content": "x"}], session_id="hostile", **given)


async def file(p: Palimpsest, given: Any, folder: Path) -> None:
    path = folder / "given.json"
    path.write_bytes(as_bytes(given))
    await p.compact_file(path, force=True)


async def named(p: Palimpsest, given: Any, folder: Path) -> None:
    """A file as a caller of the library may name it: by its text, or by nothing of the kind."""
    (folder / "given.json").write_text('[{"role": "user", "content": "x"}]')
    given = given.format(folder=folder) if isinstance(given, str) else given
    await p.compact_file(given, force=True)
    await p.rewrite_session(given)


async def exchange(p: Palimpsest, given: Any, folder: Path) -> None:
    path = folder / "given.gz"
    path.write_bytes(as_bytes(given))
    await p.import_sessions(path)


async def path(p: Palimpsest, given: Any, folder: Path) -> None:
    """`{use, kind}`: a thing of that kind stands where a file is named."""
    at = folder / "thing"
    made: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(at),
        "folder": lambda: at.mkdir(),
        "device": lambda: at.symlink_to("/dev/zero"),
        "loop": lambda: at.symlink_to(at),
        "nowhere": lambda: at.symlink_to(folder / "none"),
        "missing": lambda: None,
        "closed": lambda: at.touch(mode=0o000),
        "socket": lambda: os.mknod(at, 0o140600),
    }
    made[given["kind"]]()
    uses: dict[str, Callable[[], Awaitable[object]]] = {
        "compact": lambda: p.compact_file(at, force=True),
        "import": lambda: p.import_sessions(at),
        "backup": lambda: p.backup(at),
        "ratio": lambda: p.check_context_ratio("hostile", transcript_path=str(at), window_tokens=9_000),
        "settings": lambda: _settings(at),
        "rules": lambda: _rules(at, folder),
    }
    await uses[given["use"]]()


async def _settings(at: Path) -> None:
    os.environ["PALIMPSEST_CONFIG"] = str(at)
    try:
        Settings.load()
    finally:
        del os.environ["PALIMPSEST_CONFIG"]


async def _rules(at: Path, folder: Path) -> None:
    async with Palimpsest.open(settings=Settings.load(home=folder / "other", redaction_rule_files=[at])):
        pass


async def query(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_items("hostile", [ITEM])
    await p.search_offloaded(given)


async def limit(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.search_offloaded("words", limit=given)


async def batch(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_items("hostile", [ITEM])
    await p.restore("hostile", *given)


async def summary(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.update_summary("hostile", given)
    await p.summary_markdown("hostile")


async def handoff(p: Palimpsest, given: Any, folder: Path) -> None:
    fields = {"in_progress": ["it"], "next_steps": ["go"], "key_context": ["all"]}
    await p.record_items("hostile", [ITEM])
    await p.write_handoff("hostile", given, fields=fields)


async def load(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.load_handoff(given)


async def event(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_experience("hostile-skill", given)


async def skill(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_experience(given, {"outcome": "success"})


async def hook(p: Palimpsest, given: Any, folder: Path) -> None:
    said = await p.host_event(given[0], given[1])
    assert "internal_error" not in said, said


async def purge(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.record_items("hostile", [ITEM])
    await p.purge(**given)


async def ratio(p: Palimpsest, given: Any, folder: Path) -> None:
    await p.check_context_ratio("hostile", **given)


async def settings(p: Palimpsest, given: Any, folder: Path) -> None:
    Settings.load(**given)


USES: dict[str, Callable[[Palimpsest, Any, Path], Awaitable[None]]] = {
    one.__name__: one
    for one in (
        *(
            name,
            unknown,
            items,
            messages,
            options,
            file,
            named,
            exchange,
            path,
            query,
            limit,
            batch,
            summary,
            handoff,
            load,
        ),
        *(event, skill, hook, purge, ratio, settings),
    )
}

"""`docs/format.md` and `docs/schemas/` say what the store does."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from palimpsest_mcp.models.events import Event, Replaced, SessionInfo, SessionKey
from palimpsest_mcp.models.records import OffloadRecord
from palimpsest_mcp.store import DiskStore
from palimpsest_mcp.store.archive import flaw
from palimpsest_mcp.store.home import folder_name
from palimpsest_mcp.store.segments import Reader, encode, is_whole, settled
from palimpsest_mcp.testing import schemas
from palimpsest_mcp.testing.contract_values import HARD_CONTENTS, S1, info_of, pinned, record, seen

from ..conftest import first_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
TYPES: dict[str, Any] = {"Events": Event, "Records": OffloadRecord, "session.json": SessionInfo}
SCHEMAS = {"Events": "event", "Records": "record", "session.json": "session"}


def examples(heading: str) -> bytes:
    """The lines that a section shows."""
    section = (DOCS / "format.md").read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "".join(re.findall(r"```jsonl\n(.*?)```", section, re.DOTALL)).encode()


@cache
def schema_of(name: str) -> Any:
    """Made once: checking a schema takes longer than checking a line by it."""
    schema = json.loads((DOCS / "schemas" / f"{name}.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def check_schema(name: str, line: bytes) -> None:
    schema_of(name).validate(json.loads(line))


@pytest.mark.parametrize("name", sorted(schemas.TYPES))
def test_the_schemas_are_those_of_the_models(name: str) -> None:
    written = (DOCS / "schemas" / f"{name}.schema.json").read_text("utf-8")
    assert written == schemas.schema(name), "run: python -m palimpsest_mcp.testing.schemas docs/schemas"


@pytest.mark.parametrize("heading", sorted(TYPES))
def test_every_line_of_the_page_is_whole_and_is_what_we_would_write(heading: str) -> None:
    lines, end = settled(examples(heading), 0)
    assert lines and end == len(examples(heading))
    reader: Reader[Any] = Reader(TYPES[heading])
    for line in lines:
        assert line.whole
        assert encode(reader.decode(line.raw), more=b'"_m":1,"_c"' in line.raw) == line.raw + b"\n"
        check_schema(SCHEMAS[heading], line.raw)


def test_the_examples_of_the_page_fit_together() -> None:
    records: Reader[OffloadRecord] = Reader(OffloadRecord)
    events: Reader[Event] = Reader(Event)
    first, second = (records.decode(line.raw) for line in settled(examples("Records"), 0)[0])
    assert not flaw(first, SessionKey("s1")) and not flaw(second, SessionKey("s1"))
    replaced = [events.decode(line.raw) for line in settled(examples("Events"), 0)[0]][-1]
    assert isinstance(replaced, Replaced)
    assert replaced.batches[0].items[0].part_sha256 == first.items[0].digest_sha256 == first.digest_sha256
    assert first.part(first.items[0]) == first.digest_replacing_inline


@pytest.mark.parametrize("content", first_of([(one,) for one in HARD_CONTENTS], kept=4), ids=range(len(HARD_CONTENTS)))
def test_what_we_write_fits_the_schemas(content: Any) -> None:
    for name, value in (("event", seen(1, content)), ("event", pinned(1)), ("record", record("offload_0001", content))):
        line = encode(value)
        assert is_whole(line[:-1])
        check_schema(name, line)
    check_schema("session", encode(info_of(S1)))


def test_a_record_and_a_session_say_their_version() -> None:
    assert encode(record("offload_0001")).startswith(b'{"schema":1,')
    assert encode(info_of(S1)).startswith(b'{"schema":1,')
    assert encode(record("offload_0001", "null \ud83d")).startswith(b'{"schema":1,')


def everything_under(folder: Path) -> list[Path]:
    return list(folder.rglob("*"))


@pytest.mark.anyio
async def test_the_files_on_the_page_are_those_of_a_store(tmp_path: Path) -> None:
    store = DiskStore(tmp_path)
    await store.ledger.create(S1, info_of(S1))
    await store.archive.append(S1, [record("offload_0001")])
    async with store.ledger.pass_lock(S1):
        await store.secret()
        await store.search.indexed("", "s1")
    page = (DOCS / "format.md").read_text("utf-8")
    for path in everything_under(tmp_path):
        name = re.sub(r"^\d+T\d+Z-\d+-[0-9a-f]+", "<time>-<writer>", path.name)
        stem = name.removesuffix("-wal").removesuffix("-shm")
        assert name == folder_name(S1) or stem in page or name.endswith(".lock"), f"{name} is not on the page"
    await store.aclose()


def test_the_page_s_rule_for_folders_is_the_one_we_follow() -> None:
    key = SessionKey("Ünsafe/id", "änn")
    text = b"%d:" % len("änn".encode()) + "änn".encode() + "Ünsafe/id".encode()
    assert folder_name(key) == "h-" + base64.b32encode(hashlib.sha256(text).digest()).decode().lower()[:32]
